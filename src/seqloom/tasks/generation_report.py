"""The report of tasks that generate a text from a source: quality by length, examples, attention."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from math import prod
from typing import ClassVar, NamedTuple

from rich.text import Text

from seqloom.core.problem import SeqloomError
from seqloom.core.run_format import ATTENTION
from seqloom.tasks.metrics.registry import readable, score_info
from seqloom.tasks.task_report import Answer, Remark, TaskReport, TerminalItem, fit_line
from seqloom.views.alignment import Alignment, alignment
from seqloom.views.figure import Bars, Curves, Drawing, Series, Table
from seqloom.views.format import one_line, rounded
from seqloom.views.html import AnnotatedWord, Block, Collapsible, Comparison, PageSection, Paragraph, SideBySide
from seqloom.views.lenient import finite, integer, items, mapping, number, string
from seqloom.views.picture import thumbnail_pixels, valid_thumbnail

BINS, EXAMPLES, TEXT, TOKENS, SOURCE = 100, 60, 600, 60, 200  # the most that is read of each
WEIGHTS = 1_000_000  # over regions, at most: of 60 tokens, for an image of 1,024 pixels a side in patches of 8
SHOWN_EXAMPLES, REFERENCES = 8, 5  # on a page, unfolded

SHOWN, SHORT_TEXT, ROWS = 5, 200, 40  # at the end of training: examples, characters of a text, tokens of a map
ARROW = "→"
SCORES = ("bleu", "bleu_4", "chrf", "exact_match")  # by length
WHY_CUT = {
    "length": "--max-length allows more tokens",
    "positions": "the model can generate at most {:,} tokens; train with a larger --data.max-length",
    "rules": "the options leave no token to generate",
}


class LengthBin(NamedTuple):
    """The scores of sources of similar length, in tokens."""

    low: float
    high: float
    sentences: int
    scores: Mapping[str, float]

    @property
    def range(self) -> str:
        """
        >>> LengthBin(3, 7, 10, {}).range, LengthBin(3, 3, 10, {}).range
        ('3 to 7', '3')
        """
        return rounded(self.low) if self.high <= self.low else f"{rounded(self.low)} to {rounded(self.high)}"


class GeneratedText(NamedTuple):
    """A generated text with its source and references; `picture` is a data URI."""

    source: str
    references: tuple[str, ...]
    text: str
    location: str
    exact: bool  # equal to a reference
    picture: str = ""


class GenerationReport(TaskReport):
    """Texts generated from sources.

    source_key, answer_key: of an answer and of an example
    source_name: on a page
    """

    source_key: ClassVar[str]
    answer_key: ClassVar[str]
    source_name: ClassVar[str] = "source"

    # Data ------------------------------------------------------------------------------------------------------

    @cached_property
    def signatures(self) -> dict[str, str]:
        """How sacreBLEU computed its scores: what others need to compare theirs with."""
        entries = list(mapping(self.details.get("signatures")).items())[:10]
        return {string(name, 60): signature for name, text in entries if (signature := string(text, 300))}

    @cached_property
    def by_length(self) -> tuple[LengthBin, ...]:
        bins = []
        for entry in map(mapping, items(self.details.get("by_length"), BINS)):
            low, high, sentences = finite(entry.get("from")), finite(entry.get("to")), integer(entry.get("sentences"))
            if low is not None and sentences:
                scores = {name: score for name in SCORES if (score := finite(entry.get(name))) is not None}
                bins.append(LengthBin(low, low if high is None else max(low, high), sentences, scores))
        return tuple(bins)

    def examples(self, limit: int = TEXT) -> tuple[GeneratedText, ...]:
        """Some generated texts, with at most about so many characters of each text."""
        entries = map(mapping, items(self.details.get("examples"), EXAMPLES))
        return tuple(self._example(entry, limit) for entry in entries if entry)

    def _example(self, entry: Mapping[str, object], limit: int) -> GeneratedText:
        source, text = string(entry.get(self.source_key), limit), string(entry.get(self.answer_key), limit)
        references = tuple(string(reference, limit) for reference in items(entry.get("references"), 10))
        exact = entry.get("right")
        if not isinstance(exact, bool):  # older runs do not have it
            exact = text.strip() in {reference.strip() for reference in references}
        location, picture = string(entry.get("place"), 200), valid_thumbnail(entry.get("thumbnail"))
        return GeneratedText(source, references, text, location, exact, picture)

    @cached_property
    def attention(self) -> Alignment | None:
        """The attention weights of one of the examples, if they fit its tokens."""
        entry = mapping(self.details.get("attention"))
        values: dict[str, object] = {}
        across, down = SOURCE, TOKENS
        if isinstance(entry.get("regions"), list):
            values["regions"] = sides = [max(integer(side) or 0, 0) for side in items(entry["regions"], 3)]
            across = prod(sides) + 1  # one more, to see that there are too many
            down = min(TOKENS, WEIGHTS // across)
        else:
            values["source_tokens"] = [string(token, 60) for token in items(entry.get("source_tokens"), SOURCE)]
        weights = [[finite(cell) for cell in items(row, across)] for row in items(entry.get("attention"), down)]
        if not weights or any(cell is None or cell < 0 for row in weights for cell in row):
            return None
        values |= {"attention": weights, "tokens": [string(token, 60) for token in items(entry.get("tokens"), down)]}
        try:
            return alignment(values, thumbnail_pixels(valid_thumbnail(entry.get("thumbnail"))))
        except (SeqloomError, ValueError):  # weights of another shape than the tokens
            return None

    # The page --------------------------------------------------------------------------------------------------

    def score_notes(self) -> tuple[Block, ...]:
        rows = tuple((readable(name), signature) for name, signature in self.signatures.items())
        return (Table("Signatures", ("score", "sacreBLEU"), rows),) if rows else ()

    def sections(self) -> tuple[PageSection, ...]:
        return (
            PageSection("By length", self._length_blocks()),
            PageSection("Examples", self._example_blocks()),
            PageSection("Attention", () if self.attention is None else (self.attention.figure,)),
        )

    def drawings(self) -> dict[str, Drawing]:
        return {} if self.attention is None else {ATTENTION: self.attention.figure}

    def _length_blocks(self) -> tuple[Block, ...]:
        bins = self.by_length
        if len(bins) < 2:
            return ()
        curves = (
            _curves("Quality by length", bins, ("bleu", "bleu_4", "chrf")),
            _curves("Exact match by length", bins, ("exact_match",)),
        )
        counts = Bars("Sentences", tuple((b.range, float(b.sentences)) for b in bins), unit="by source tokens")
        return (SideBySide((*(curve for curve in curves if curve is not None), counts)),)

    def _example_blocks(self) -> tuple[Block, ...]:
        """Texts with their sources and references, those that differ from every reference first."""
        examples = sorted(self.examples(), key=lambda example: example.exact)
        if not examples:
            return ()
        wrong = sum(not example.exact for example in examples)
        differ = f"{wrong} of these {len(examples)} differ{'s' * (wrong == 1)} from"
        blocks = tuple(map(self._comparison, examples))
        more = blocks[SHOWN_EXAMPLES:]
        collapsible = (Collapsible(f"{len(more)} more", more),) if more else ()
        heading = Paragraph(f"{differ if wrong else 'Each equals'} the reference.")
        return (heading, *blocks[:SHOWN_EXAMPLES], *collapsible)

    def _comparison(self, example: GeneratedText) -> Comparison:
        nearest = max(example.references, key=lambda reference: _match(reference, example.text).ratio(), default="")
        texts = [] if example.picture else [(self.source_name, (AnnotatedWord(example.source),))]
        texts += [("reference", (AnnotatedWord(reference),)) for reference in example.references[:REFERENCES]]
        words = (AnnotatedWord(example.text),) if example.exact else _mark_differences(nearest, example.text)
        facts = [example.source, example.location] if example.picture else [example.location]
        caption = " · ".join(fact for fact in facts if fact)
        return Comparison((*texts, (self.answer_key, words)), caption, example.picture)

    # The terminal ----------------------------------------------------------------------------------------------

    def example_lines(self) -> Iterator[TerminalItem]:
        """Some sources with their generated texts, and the attention of one of them."""
        for i, example in enumerate(self.examples(SHORT_TEXT)[:SHOWN]):
            text = Text(f"{one_line(example.source)} {ARROW} ")
            text.append(one_line(example.text) or "(nothing)", "bold green" if example.exact else "bold yellow")
            if not example.exact and example.references:
                text.append(f" (expected: {one_line(example.references[0])})", "dim")
            yield Remark("examples" if i == 0 else "", text)
        if self.attention is not None and len(items(mapping(self.details["attention"]).get("tokens"), SOURCE)) <= ROWS:
            form = "rows are output tokens, columns are source tokens"
            if self.attention.regions is not None:
                form = "one map of the image for each output token"
            yield Remark("figure", f"attention weights of one of these examples: {form}")
            yield self.attention.figure

    def evaluation_lines(self) -> Iterator[TerminalItem]:
        if unfinished := integer(self.details.get("cut")):
            answers = f"{unfinished:,} answer{'s' * (unfinished != 1)}"
            message = f"{answers} not ended: the maximum length was reached (--max-length, or the limit of the model)"
            yield Remark("cut", message, "yellow")
        bleu, exact = number(self.scores.get("bleu")), number(self.scores.get("exact_match"))
        if bleu == 0 < (exact or 0):
            message = "BLEU needs four words in a row, and no correct text has that many"
            yield Remark("note", message, "yellow")
        for name, signature in self.signatures.items():
            yield Remark(readable(name), signature)
        if self.by_length:
            names = [name for name in SCORES if name in self.by_length[0].scores]
            rows = tuple((b.range, b.sentences, *map(b.scores.get, names)) for b in self.by_length)
            yield Table("", ("source tokens", "sentences", *map(readable, names)), rows)

    @classmethod
    def answer_lines(cls, answer: Answer, width: int | None) -> Iterator[Text]:
        """An answer above its source; or several hypotheses with their scores, below the source."""
        hypotheses = answer.get("n_best", [answer])
        several = len(hypotheses) > 1
        if several:
            yield Text(fit_line(answer[cls.source_key], width, 0), "dim")
        for rank, hypothesis in enumerate(hypotheses, 1):
            line = Text(f"{rank}. ", "dim") if several else Text()
            line.append(one_line(hypothesis[cls.answer_key]) or "(nothing)", "bold green")
            yield line.append(f"  {hypothesis['score']:.2f}" if several else "", "dim")
            if not hypothesis["ended"]:
                reason = WHY_CUT[hypothesis["cut_by"]].format(len(hypothesis["tokens"]))
                yield Text(f"    not ended: {reason}", "yellow")
        if not several:
            yield Text(f"    {fit_line(answer[cls.source_key], width, 4)}", "dim")


def _curves(title: str, bins: Sequence[LengthBin], keys: Sequence[str]) -> Curves | None:
    """Scores of one range, by length."""
    points = {key: tuple(((b.low + b.high) / 2, b.scores[key]) for b in bins if key in b.scores) for key in keys}
    lines = tuple(Series(readable(key), points[key]) for key in keys if points[key])
    y = ", ".join(line.name for line in lines)
    return Curves(title, lines, x="source tokens", y=y, bounds=score_info(keys[0]).range) if lines else None


def _match(reference: str, text: str) -> SequenceMatcher[str]:
    return SequenceMatcher(None, reference.split(), text.split(), autojunk=False)


def _mark_differences(reference: str, text: str) -> tuple[AnnotatedWord, ...]:
    """The words of a text, marked as wrong if the reference lacks them in that position.

    >>> [word.text for word in _mark_differences("deux cent trente", "deux cents trente") if word.wrong]
    ['cents']
    """
    blocks = _match(reference, text).get_matching_blocks()
    equal = {i for block in blocks for i in range(block.b, block.b + block.size)}
    words = tuple(AnnotatedWord(word, wrong=i not in equal) for i, word in enumerate(text.split()))
    return words or (AnnotatedWord("–", wrong=True),)
