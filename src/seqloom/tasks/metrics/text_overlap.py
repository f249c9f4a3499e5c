"""How close generated texts are to their references: BLEU and chrF by sacreBLEU, and exact match."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int64
from numpy import ndarray

from seqloom.core.problem import ArgumentError
from seqloom.tasks.metrics.counts import ratio

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

BINS = 6  # of source lengths, at most

Metrics = dict[str, "Metric"]
Statistics = Int64[ndarray, " counts"]  # what sacreBLEU counts of a text, such as matching n-grams; texts are summed


@dataclass(frozen=True)
class Tally:
    """Counts of some texts: how many, how many match exactly, and the statistics of each metric."""

    texts: int = 0
    exact: int = 0
    statistics: dict[str, Statistics] = field(default_factory=dict)

    def __add__(self, other: "Tally") -> "Tally":
        statistics = {name: self.statistics.get(name, 0) + counts for name, counts in other.statistics.items()}
        return Tally(self.texts + other.texts, self.exact + other.exact, statistics)


class TextOverlap:
    """BLEU (Papineni et al. 2002) and chrF (Popović 2015), both up to 100, and the share of exact matches.

    A text has one reference or several. The statistics of sacreBLEU are kept, summed over texts of one source length:
    sacreBLEU's own corpus score holds the n-grams of all references, 50 kB per sentence.

    >>> texts = TextOverlap()
    >>> texts.add("the cat sat on the mat", ["the cat sat on the mat"], source_length=6)
    True
    >>> texts.add("a dog ran in the park", ["the dog ran in a park"], source_length=5)
    False
    >>> {name: round(score, 1) for name, score in texts.scores().items()}
    {'bleu': 68.4, 'chrf': 80.1, 'exact_match': 0.5}
    >>> texts.signatures()["bleu"]
    'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:...'
    """

    def __init__(self, *, lowercase: bool = False, normalize: Callable[[str], str] = str) -> None:
        """
        lowercase: whether case is ignored, as for a model that generates lower case only
        normalize: gives a text the spaces that the tokenizer decodes, before texts are compared for an exact match
        """
        self.lowercase, self.normalize = lowercase, normalize
        self.metrics = self.build_metrics()
        self.tallies: dict[int, Tally] = {}  # by source length
        self.reference_counts: set[int] = set()  # how many references the texts have

    def build_metrics(self) -> Metrics:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF

        return {"bleu": BLEU(self.lowercase), "chrf": CHRF(lowercase=self.lowercase)}

    def add(self, generated: str, references: Sequence[str], source_length: int = 0) -> bool:
        """Add a text with its references; return whether it equals one of them."""
        if isinstance(references, str) or not references:
            received = "one text" if references else "none"
            raise ArgumentError(type(self).__name__, "references", received, "a list of one or more")
        statistics = {}
        for name, metric in self.metrics.items():
            (counts,) = metric._extract_corpus_statistics([generated], [[reference] for reference in references])
            statistics[name] = np.array(counts, dtype=np.int64)
        exact = self._comparable(generated) in map(self._comparable, references)
        self.tallies[source_length] = self.tallies.get(source_length, Tally()) + Tally(1, exact, statistics)
        self.reference_counts.add(len(references))
        return exact

    def _comparable(self, text: str) -> str:
        text = self.normalize(text).strip()
        return text.lower() if self.lowercase else text

    def scores(self) -> dict[str, float]:
        """`bleu`, `chrf`, `exact_match`; nothing if nothing was added."""
        return self._corpus_scores(self.tallies.values()) if self.tallies else {}

    def _corpus_scores(self, tallies: Iterable[Tally]) -> dict[str, float]:
        total = reduce(Tally.__add__, tallies)
        scores = {
            name: float(metric._compute_score_from_stats(total.statistics[name].tolist()).score)
            for name, metric in self.metrics.items()
        }
        return {**scores, "exact_match": ratio(total.exact, total.texts)}

    def signatures(self) -> dict[str, str]:
        """What must be equal for scores to be comparable: sacreBLEU's tokenizer, smoothing, version, references."""
        signatures: dict[str, str] = {}
        for name, metric in self.build_metrics().items():
            # sacreBLEU learns the number of references, which may vary, from a corpus: here a text for each number.
            numbers = sorted(self.reference_counts) or [1]
            references: Any = [["a" if i < number else None for number in numbers] for i in range(numbers[-1])]
            metric.corpus_score(["a"] * len(numbers), references)
            signatures[name.partition("_")[0]] = str(metric.get_signature())  # one for all orders of BLEU
        return signatures

    def by_length(self) -> list[dict[str, float]]:
        """Scores by source length, in a few bins with about as many sentences each; `from` and `to` are in tokens.

        sacreBLEU gives 0 where no text has four words: chrF and exact match say more there.
        """
        total = sum(tally.texts for tally in self.tallies.values())
        shorter, binned = 0, []
        for length, tally in sorted(self.tallies.items()):
            binned.append((BINS * shorter // total, length, tally))
            shorter += tally.texts
        rows = []
        for _, group in groupby(binned, key=lambda item: item[0]):
            _, lengths, tallies = zip(*group, strict=True)
            sentences = sum(tally.texts for tally in tallies)
            rows.append({"from": lengths[0], "to": lengths[-1], "sentences": sentences, **self._corpus_scores(tallies)})
        return rows


class CaptionOverlap(TextOverlap):
    """BLEU-1 to BLEU-4, the usual scores of captions, by n-grams of up to so many words; also chrF and exact match.

    If no caption has n words, BLEU-n uses the shorter n-grams (sacreBLEU's effective order), so that a correct caption
    of three words counts as correct.

    >>> texts = CaptionOverlap()
    >>> texts.add("a red box below a blue disc", ["a red box under a blue disc", "a blue disc above a red box"])
    False
    >>> {name: round(score, 1) for name, score in texts.scores().items()}
    {'bleu_1': 85.7, 'bleu_2': 75.6, 'bleu_3': 61.1, 'bleu_4': 41.1, 'chrf': 60.6, 'exact_match': 0.0}
    """

    def build_metrics(self) -> Metrics:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF

        orders = {f"bleu_{n}": BLEU(self.lowercase, max_ngram_order=n, effective_order=True) for n in (1, 2, 3, 4)}
        return {**orders, "chrf": CHRF(lowercase=self.lowercase)}
