"""What a report says of a model that translates, or describes pictures: quality by length, examples, attention."""

from difflib import SequenceMatcher

from seqloom.lens.outcome import Length, Translated
from seqloom.lens.report import Report
from seqloom.lens.report_figures import readable
from seqloom.views.figure import Bars, Curves, Series, Table
from seqloom.views.numbers import short
from seqloom.views.page import Block, Compared, Folded, Paragraph, Row, Word

SHOWN = 8  # examples that need not be unfolded
REFERENCES = 5


def signatures(report: Report) -> tuple[Block, ...]:
    """How sacreBLEU computed its scores: what others need to compare theirs with."""
    rows = tuple((readable(name), signature) for name, signature in report.outcome.signatures.items())
    return (Table("Signatures", ("score", "sacreBLEU"), rows),) if rows else ()


def by_length(report: Report) -> tuple[Block, ...]:
    """Scores by the length of the source, and how many sentences that rests on."""
    bins = report.outcome.by_length
    if len(bins) < 2:
        return ()
    figures = (
        _curve("Quality by length", bins, ("bleu", "chrf"), 100.0),
        _curve("Exact match by length", bins, ("exact_match",), 1.0),
    )
    counts = Bars("Sentences", tuple((_span(one), float(one.sentences)) for one in bins), unit="by source tokens")
    return (Row((*(figure for figure in figures if figure is not None), counts)),)


def _curve(title: str, bins: tuple[Length, ...], names: tuple[str, ...], most: float) -> Curves | None:
    lines = [
        Series(readable(name), points)
        for name in names
        if (points := tuple(((one.low + one.high) / 2, one.scores[name]) for one in bins if name in one.scores))
    ]
    y = lines[0].name if len(lines) == 1 else "score"
    return Curves(title, tuple(lines), x="source tokens", y=y, limits=(0.0, most)) if lines else None


def _span(one: Length) -> str:
    return short(one.low) if one.high <= one.low else f"{short(one.low)} to {short(one.high)}"


def examples(report: Report) -> tuple[Block, ...]:
    """Sources, references and what was written: first those that are not word for word a reference."""
    told = sorted(report.outcome.examples, key=lambda one: one.right)
    if not told:
        return ()
    wrong = sum(not one.right for one in told)
    count = f"{wrong} of these {len(told)} differ{'s' * (wrong == 1)} from" if wrong else "Each is word for word"
    shown = tuple(_example(one, report.task) for one in told)
    more = (Folded(f"{len(shown) - SHOWN} more", shown[SHOWN:]),) if len(shown) > SHOWN else ()
    return (Paragraph(f"{count} the reference."), *shown[:SHOWN], *more)


def _example(one: Translated, task: str) -> Compared:
    source, written = ("image", "caption") if task == "caption" else ("source", "translation")
    nearest = max(one.references, key=lambda reference: _likeness(reference, one.written), default="")
    texts = [] if one.picture else [(source, _plain(one.source))]
    texts += [("reference", _plain(reference)) for reference in one.references[:REFERENCES]]
    texts.append((written, _plain(one.written) if one.right else _marked(nearest, one.written)))
    place = [one.source, one.place] if one.picture else [one.place]
    return Compared(tuple(texts), " · ".join(part for part in place if part), one.picture)


def _plain(text: str) -> tuple[Word, ...]:
    return (Word(text),)


def _likeness(reference: str, written: str) -> float:
    return SequenceMatcher(None, reference.split(), written.split(), autojunk=False).ratio()


def _marked(reference: str, written: str) -> tuple[Word, ...]:
    """The written words, those that the reference lacks (there) as wrong ones.

    >>> [word.text for word in _marked("deux cent trente", "deux cents trente") if word.wrong]
    ['cents']
    """
    words = written.split()
    same = SequenceMatcher(None, reference.split(), words, autojunk=False).get_matching_blocks()
    right = {place for block in same for place in range(block.b, block.b + block.size)}
    return tuple(Word(word, wrong=place not in right) for place, word in enumerate(words)) or (Word("–", wrong=True),)


def attention(report: Report) -> tuple[Block, ...]:
    """Where the model looked while it wrote one example."""
    seen = report.outcome.attention
    return () if seen is None else (seen.figure,)
