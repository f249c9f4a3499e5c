"""What people see of tasks that generate a text about a source: quality by length, examples, where the model looked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from math import prod
from typing import ClassVar

from rich.text import Text

from seqloom.core.problem import SeqloomError
from seqloom.core.run_format import ATTENTION
from seqloom.tasks.metrics.registry import readable
from seqloom.tasks.report import Answer, Remark, Shown, TaskReport, clipped
from seqloom.views.alignment import Alignment, alignment
from seqloom.views.figure import Bars, Curves, Drawing, Series, Table
from seqloom.views.format import one_line, short
from seqloom.views.html import Block, Collapsible, Comparison, Paragraph, Row, Section, Word
from seqloom.views.lenient import finite, integer, items, mapping, number, string
from seqloom.views.picture import pixels, thumbnail

BINS, EXAMPLES, TEXT, TOKENS, SOURCE = 100, 60, 600, 60, 200  # the most that is read of each
WEIGHTS = 1_000_000  # that attention may have over regions: 60 tokens over those of 1,024 pixels, in blocks of 8
SHOWN_EXAMPLES, REFERENCES = 8, 5  # on a page, unfolded

SHOWN, SHORT_TEXT, ROWS = 5, 200, 40  # at the end of training: examples, characters of a text, tokens of a map
ARROW = "→"
SCORES = ("bleu", "bleu_4", "chrf", "exact_match")  # by length
WHY_CUT = {
    "length": "--max-length allows more tokens",
    "positions": "the model's positions allow {:,} tokens; train with a larger --data.max-length",
    "rules": "the options leave no token to write",
}


@dataclass(frozen=True)
class Length:
    """How good answers to sources of about one length, in tokens, were."""

    low: float
    high: float
    sentences: int
    scores: Mapping[str, float]

    @property
    def span(self) -> str:
        """
        >>> Length(3, 7, 10, {}).span, Length(3, 3, 10, {}).span
        ('3 to 7', '3')
        """
        return short(self.low) if self.high <= self.low else f"{short(self.low)} to {short(self.high)}"


@dataclass(frozen=True)
class Generated:
    """What was generated for a source, beside what would have been right; `picture` is a data URI."""

    source: str
    references: tuple[str, ...]
    written: str
    place: str
    right: bool  # one of the references, word for word
    picture: str = ""


class GenerationReport(TaskReport):
    """Texts about sources."""

    source_key: ClassVar[str]  # of an answer and of an example
    answer_key: ClassVar[str]
    source_name: ClassVar[str]  # on a page

    # Data ------------------------------------------------------------------------------------------------------

    @cached_property
    def signatures(self) -> dict[str, str]:
        """How sacreBLEU computed its scores: what others need to compare theirs with."""
        written = list(mapping(self.details.get("signatures")).items())[:10]
        return {string(name, 60): signature for name, text in written if (signature := string(text, 300))}

    @cached_property
    def by_length(self) -> tuple[Length, ...]:
        """Scores by the length of the source."""
        bins = items(self.details.get("by_length"), BINS)
        return tuple(length for written in bins if (length := _length(mapping(written))) is not None)

    @cached_property
    def examples(self) -> tuple[Generated, ...]:
        """Some sources, and what was generated for them."""
        return self.examples_cut(TEXT)

    def examples_cut(self, limit: int) -> tuple[Generated, ...]:
        """The same, with at most about so many characters of a text."""
        return tuple(
            self._example(mapping(one), limit) for one in items(self.details.get("examples"), EXAMPLES) if mapping(one)
        )

    def _example(self, one: Mapping[str, object], limit: int) -> Generated:
        source, written = string(one.get(self.source_key), limit), string(one.get(self.answer_key), limit)
        references = tuple(string(text, limit) for text in items(one.get("references"), 10))
        place, picture, right = string(one.get("place"), 200), thumbnail(one.get("thumbnail")), one.get("right")
        if not isinstance(right, bool):  # runs of old don't say
            right = written.strip() in {reference.strip() for reference in references}
        return Generated(source, references, written, place, right, picture)

    @cached_property
    def attention(self) -> Alignment | None:
        """Where the model looked while it wrote one of the answers."""
        return _attention(mapping(self.details.get("attention")))

    # The page --------------------------------------------------------------------------------------------------

    def score_notes(self) -> tuple[Block, ...]:
        rows = tuple((readable(name), signature) for name, signature in self.signatures.items())
        return (Table("Signatures", ("score", "sacreBLEU"), rows),) if rows else ()

    def sections(self) -> tuple[Section, ...]:
        return (
            Section("By length", self._length_blocks()),
            Section("Examples", self._example_blocks()),
            Section("Attention", () if self.attention is None else (self.attention.figure,)),
        )

    def drawings(self) -> dict[str, Drawing]:
        return {} if self.attention is None else {ATTENTION: self.attention.figure}

    def _length_blocks(self) -> tuple[Block, ...]:
        """Scores by the length of the source, and how many sentences that rests on."""
        bins = self.by_length
        if len(bins) < 2:
            return ()
        curves = (
            _curve("Quality by length", bins, ("bleu", "chrf"), 100.0),
            _curve("Exact match by length", bins, ("exact_match",), 1.0),
        )
        counts = Bars("Sentences", tuple((one.span, float(one.sentences)) for one in bins), unit="by source tokens")
        return (Row((*(curve for curve in curves if curve is not None), counts)),)

    def _example_blocks(self) -> tuple[Block, ...]:
        """Sources, references and what was written: first those that are not word for word a reference."""
        examples = sorted(self.examples, key=lambda one: one.right)
        if not examples:
            return ()
        wrong = sum(not one.right for one in examples)
        count = (
            f"{wrong} of these {len(examples)} differ{'s' * (wrong == 1)} from" if wrong else "Each is word for word"
        )
        shown = tuple(map(self._compared, examples))
        rest = shown[SHOWN_EXAMPLES:]
        more = (Collapsible(f"{len(rest)} more", rest),) if rest else ()
        return (Paragraph(f"{count} the reference."), *shown[:SHOWN_EXAMPLES], *more)

    def _compared(self, one: Generated) -> Comparison:
        nearest = max(one.references, key=lambda reference: _likeness(reference, one.written), default="")
        texts = [] if one.picture else [(self.source_name, _plain(one.source))]
        texts += [("reference", _plain(reference)) for reference in one.references[:REFERENCES]]
        texts.append((self.answer_key, _plain(one.written) if one.right else _marked(nearest, one.written)))
        facts = [one.source, one.place] if one.picture else [one.place]
        return Comparison(tuple(texts), " · ".join(fact for fact in facts if fact), one.picture)

    # The terminal ----------------------------------------------------------------------------------------------

    def examples_shown(self) -> Iterator[Shown]:
        """Some of what was written, beside what was read, and where the model looked for one of them."""
        for number_, one in enumerate(self.examples_cut(SHORT_TEXT)[:SHOWN]):
            text = Text(f"{one_line(one.source)} {ARROW} ")
            text.append(one_line(one.written) or "(nothing)", "bold green" if one.right else "bold yellow")
            if not one.right and one.references:
                text.append(f" (expected: {one_line(one.references[0])})", "dim")
            yield Remark("examples" if number_ == 0 else "", text)
        if self.attention is not None and len(items(mapping(self.details["attention"]).get("tokens"), SOURCE)) <= ROWS:
            form = "a picture" if self.attention.regions is not None else "a row"
            yield Remark("looked", f"where it looked for one of them: {form} for each token that it wrote")
            yield self.attention.figure

    def evaluation(self) -> Iterator[Shown]:
        if unfinished := integer(self.details.get("cut")):
            answers = f"{unfinished:,} answer{'s' * (unfinished != 1)}"
            message = f"{answers} did not end: --length, or the model, allows no more tokens"
            yield Remark("cut", message, "yellow")
        bleu, exact = number(self.scores.get("bleu")), number(self.scores.get("exact_match"))
        if bleu == 0 < (exact or 0):
            message = "BLEU counts four words in a row, and no text that is right has as many"
            yield Remark("note", message, "yellow")
        for name, signature in self.signatures.items():
            yield Remark(name, signature)
        if self.by_length:
            kinds = [kind for kind in SCORES if kind in self.by_length[0].scores]
            rows = tuple((one.span, one.sentences, *map(one.scores.get, kinds)) for one in self.by_length)
            yield Table("", ("source tokens", "sentences", *map(readable, kinds)), rows)

    @classmethod
    def answer_lines(cls, answer: Answer, width: int | None) -> Iterator[Text]:
        """An answer, what it is about, and what else it might be."""
        several = answer.get("n_best", [answer])
        for rank, each in enumerate(several, 1):
            line = Text(f"{rank}. ", "dim") if len(several) > 1 else Text()
            line.append(one_line(each[cls.answer_key]) or "(nothing)", "bold green")
            yield line.append(f"  {each['score']:.2f}" if len(several) > 1 else "", "dim")
            if not each["ended"]:
                yield Text(f"    not ended: {WHY_CUT[each['cut_by']].format(len(each['tokens']))}", "yellow")
        yield Text(f"    {clipped(answer[cls.source_key], width, 4)}", "dim")


def _length(one: Mapping[str, object]) -> Length | None:
    low, high, sentences = finite(one.get("from")), finite(one.get("to")), integer(one.get("sentences"))
    if low is None or not sentences:
        return None
    scores = {name: score for name in SCORES if (score := finite(one.get(name))) is not None}
    return Length(low, low if high is None else max(low, high), sentences, scores)


def _attention(one: Mapping[str, object]) -> Alignment | None:
    """An example's attention, if tokens and weights fit each other."""
    read: dict[str, object] = {}
    across, down = SOURCE, TOKENS
    if isinstance(one.get("regions"), list):
        read["regions"] = sides = [max(integer(side) or 0, 0) for side in items(one["regions"], 3)]
        across = prod(sides) + 1  # one more, to see that there are too many
        down = min(TOKENS, WEIGHTS // across)
    else:
        read["source_tokens"] = [string(token, 60) for token in items(one.get("source_tokens"), SOURCE)]
    weights = [[finite(cell) for cell in items(row, across)] for row in items(one.get("attention"), down)]
    if not weights or any(cell is None or cell < 0 for row in weights for cell in row):
        return None
    read |= {"attention": weights, "tokens": [string(token, 60) for token in items(one.get("tokens"), down)]}
    try:
        return alignment(read, pixels(thumbnail(one.get("thumbnail"))))
    except (SeqloomError, ValueError):  # weights of another shape than the tokens
        return None


def _curve(title: str, bins: tuple[Length, ...], names: tuple[str, ...], most: float) -> Curves | None:
    lines = [
        Series(readable(name), points)
        for name in names
        if (points := tuple(((one.low + one.high) / 2, one.scores[name]) for one in bins if name in one.scores))
    ]
    y = lines[0].name if len(lines) == 1 else "score"
    return Curves(title, tuple(lines), x="source tokens", y=y, limits=(0.0, most)) if lines else None


def _plain(text: str) -> tuple[Word, ...]:
    return (Word(text),)


def _likeness(reference: str, written: str) -> float:
    return SequenceMatcher(None, reference.split(), written.split(), autojunk=False).ratio()


def _marked(reference: str, written: str) -> tuple[Word, ...]:
    """The written words, those that the reference lacks (there) as wrong ones.

    >>> [word.text for word in _marked("deux cent trente", "deux cents trente") if word.wrong]
    ['cents']
    """
    written_words = written.split()
    same = SequenceMatcher(None, reference.split(), written_words, autojunk=False).get_matching_blocks()
    right = {place for block in same for place in range(block.b, block.b + block.size)}
    return tuple(Word(word, wrong=place not in right) for place, word in enumerate(written_words)) or (
        Word("–", wrong=True),
    )
