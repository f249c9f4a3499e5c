"""How near written texts are to those that people wrote: sacreBLEU's figures, and texts that are the same."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int64
from numpy import ndarray

from seqloom.core.problem import ArgumentError
from seqloom.tasks.metrics.counts import share

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

BINS = 6  # of source lengths, at most

Metrics = dict[str, "Metric"]
Statistics = Int64[ndarray, " counts"]  # n-grams of one order said, right, ...: of a corpus, the sum over its texts


@dataclass(frozen=True)
class Tally:
    """What was counted of some texts."""

    texts: int = 0
    exact: int = 0
    statistics: dict[str, Statistics] = field(default_factory=dict)  # by metric

    def __add__(self, other: "Tally") -> "Tally":
        both = {name: self.statistics.get(name, 0) + counted for name, counted in other.statistics.items()}
        return Tally(self.texts + other.texts, self.exact + other.exact, both)


class Translations:
    """BLEU (Papineni et al. 2002) and chrF (Popović 2015), both up to 100, and the share that is exactly right.

    Each text is judged by one reference or several. What sacreBLEU counts is kept, summed over texts of one source
    length: its own way over a whole corpus holds the n-grams of all references, 50 kB for each sentence.

    >>> texts = Translations()
    >>> texts.add("the cat sat on the mat", ["the cat sat on the mat"], source_length=6)
    True
    >>> texts.add("a dog ran in the park", ["the dog ran in a park"], source_length=5)
    False
    >>> {name: round(score, 1) for name, score in texts.scores().items()}
    {'bleu': 68.4, 'chrf': 80.1, 'exact_match': 0.5}
    >>> texts.signatures()["bleu"]
    'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:...'
    """

    def __init__(self, *, lowercase: bool = False, spaced: Callable[[str], str] = str) -> None:
        """
        lowercase: whether capitals don't count, as where none can be written
        spaced: a text with the spaces that the writer can put; to be exactly right, others don't count
        """
        self.lowercase, self.spaced = lowercase, spaced
        self.metrics = self.made()
        self.tallies: dict[int, Tally] = {}  # by source length
        self.references: set[int] = set()  # how many there were for a text

    def made(self) -> Metrics:
        """What is measured, by name."""
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF

        return {"bleu": BLEU(self.lowercase), "chrf": CHRF(lowercase=self.lowercase)}

    def add(self, said: str, references: Sequence[str], source_length: int = 0) -> bool:
        """One text, and what people wrote in its place; whether it is exactly right."""
        if isinstance(references, str) or not references:
            came = "one text" if references else "none"
            raise ArgumentError(type(self).__name__, "references", came, "a list of one or more")
        statistics = {name: counted(metric, said, references) for name, metric in self.metrics.items()}
        exact = self.bare(said) in map(self.bare, references)
        self.tallies[source_length] = self.tallies.get(source_length, Tally()) + Tally(1, exact, statistics)
        self.references.add(len(references))
        return exact

    def bare(self, text: str) -> str:
        """What counts of a text."""
        bare = self.spaced(text).strip()
        return bare.lower() if self.lowercase else bare

    def scores(self) -> dict[str, float]:
        """bleu, chrf, exact_match; nothing if nothing was added."""
        return self.scored(self.tallies.values()) if self.tallies else {}

    def scored(self, tallies: Iterable[Tally]) -> dict[str, float]:
        """The same of some tallies, as one corpus."""
        whole = reduce(Tally.__add__, tallies)
        told = {name: score(metric, whole.statistics[name]) for name, metric in self.metrics.items()}
        return {**told, "exact_match": share(whole.exact, whole.texts)}

    def signatures(self) -> dict[str, str]:
        """What a figure must stand beside to be comparable: sacreBLEU's tokeniser, smoothing, version, references."""
        told: dict[str, str] = {}
        for name, metric in self.made().items():
            # The number of references is learned from a corpus, and may vary in it: so one text for each number.
            numbers = sorted(self.references) or [1]
            like = [["a" if i < number else None for number in numbers] for i in range(numbers[-1])]
            metric.corpus_score(["a"] * len(numbers), like)  # type: ignore[arg-type]  # None: fewer, as documented
            told[name.partition("_")[0]] = str(metric.get_signature())  # one for all orders of BLEU
        return told

    def by_length(self) -> list[dict[str, float]]:
        """Scores of texts `from` so many source tokens `to` so many, in a few bins of about as many sentences each.

        sacreBLEU gives 0 where no text has four words: there chrF and exact match say more.
        """
        whole = sum(tally.texts for tally in self.tallies.values())
        shorter, binned = 0, []
        for length, tally in sorted(self.tallies.items()):
            binned.append((BINS * shorter // whole, length, tally))
            shorter += tally.texts
        told = []
        for _, some in groupby(binned, key=lambda each: each[0]):
            _, lengths, tallies = zip(*some, strict=True)
            sentences = sum(tally.texts for tally in tallies)
            told.append({"from": lengths[0], "to": lengths[-1], "sentences": sentences, **self.scored(tallies)})
        return told


class Captions(Translations):
    """BLEU-1 to BLEU-4, as captions are compared: by n-grams of up to so many words; beside them chrF and exact match.

    Where no caption has n words, BLEU-n goes by the shorter n-grams that there are (sacreBLEU's effective order), so
    that three words that are right count as right.

    >>> texts = Captions()
    >>> texts.add("a red box below a blue disc", ["a red box under a blue disc", "a blue disc above a red box"])
    False
    >>> {name: round(score, 1) for name, score in texts.scores().items()}
    {'bleu_1': 85.7, 'bleu_2': 75.6, 'bleu_3': 61.1, 'bleu_4': 41.1, 'chrf': 60.6, 'exact_match': 0.0}
    """

    def made(self) -> Metrics:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF

        orders = {f"bleu_{n}": BLEU(self.lowercase, max_ngram_order=n, effective_order=True) for n in (1, 2, 3, 4)}
        return {**orders, "chrf": CHRF(lowercase=self.lowercase)}


def counted(metric: "Metric", said: str, references: Sequence[str]) -> Statistics:
    """What a metric counts of one text: for a score of a corpus the sums are enough."""
    (statistics,) = metric._extract_corpus_statistics([said], [[reference] for reference in references])
    return np.array(statistics, dtype=np.int64)


def score(metric: "Metric", statistics: Statistics) -> float:
    """The score of a corpus of which these are the sums."""
    return float(metric._compute_score_from_stats(statistics.tolist()).score)
