"""How good a model turned out, from a run's scores.json: each part that is there and makes sense."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from seqloom.lens.alignment import Alignment, alignment
from seqloom.lens.report_thumbnail import pixels, thumbnail
from seqloom.lens.tolerant import finite, items, number, table, whole, words
from seqloom.spec.errors import SeqloomError
from seqloom.views.numbers import short
from seqloom.views.text import one_line

LABELS, CLASSES, WORST, BINS, WORDS, TEXT = 50, 200, 20, 100, 120, 600
EXAMPLES, TOKENS, SOURCE = 60, 60, 200
WEIGHTS = 1_000_000  # that attention may have over regions: 60 tokens over those of 1,024 pixels, in blocks of 8


@dataclass(frozen=True)
class Score:
    """A figure of merit on validation and test data."""

    name: str
    valid: float | None
    test: float | None


@dataclass(frozen=True)
class Confusion:
    """How often each label (a row) was taken for each (a column)."""

    labels: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]

    def mistakes(self, most: int) -> list[tuple[str, str, float]]:
        """The most frequent confusions: gold, predicted, count.

        >>> Confusion(("a", "b"), ((5.0, 1.0), (3.0, 7.0))).mistakes(1)
        [('b', 'a', 3.0)]
        """
        wrong = [
            (gold, predicted, self.counts[row][column])
            for row, gold in enumerate(self.labels)
            for column, predicted in enumerate(self.labels)
            if row != column and self.counts[row][column] > 0
        ]
        return sorted(wrong, key=lambda mistake: -mistake[2])[:most]


@dataclass(frozen=True)
class Class:
    """How well one label was recognised."""

    label: str
    precision: float | None
    recall: float | None
    f1: float | None
    support: int | None


@dataclass(frozen=True)
class Wrong:
    """An example the model was sure of and wrong about: one gold and one predicted label, or one a word."""

    words: tuple[str, ...]
    gold: tuple[str, ...]
    predicted: tuple[str, ...]
    probability: float | None
    place: str


@dataclass(frozen=True)
class Bin:
    """Predictions of about one confidence, and the share of them that was right."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Baseline:
    """The simplest answer, always the same label, and how often it would be right."""

    says: str
    accuracy: float

    def sentence(self) -> str:
        """
        >>> Baseline("neg", 0.5125).sentence()
        'always saying neg would give accuracy 0.5125'
        """
        return f"always saying {one_line(self.says)} would give accuracy {short(self.accuracy)}"


@dataclass(frozen=True)
class Length:
    """How well sources of about one length, in tokens, were translated."""

    low: float
    high: float
    sentences: int
    scores: Mapping[str, float]


@dataclass(frozen=True)
class Translated:
    """What was written for a source, beside what would have been right; `picture` is a data URI."""

    source: str
    references: tuple[str, ...]
    written: str
    place: str
    right: bool  # one of the references, word for word
    picture: str = ""


@dataclass(frozen=True)
class Outcome:
    """All that scores.json says."""

    chosen_by: str = ""
    best_step: int | None = None
    averaged: tuple[int, ...] = ()  # the steps whose weights' mean was kept; none if it was not
    scores: tuple[Score, ...] = ()
    baseline: Baseline | None = None
    confusion: Confusion | None = None
    per_class: tuple[Class, ...] = ()
    worst: tuple[Wrong, ...] = ()
    calibration: tuple[Bin, ...] = ()
    ece: float | None = None
    signatures: Mapping[str, str] = field(default_factory=dict)
    by_length: tuple[Length, ...] = ()
    examples: tuple[Translated, ...] = ()
    attention: Alignment | None = None
    cost: Mapping[str, float] = field(default_factory=dict)


def outcome(written: Mapping[str, Any]) -> Outcome:
    """The outcome that scores.json describes.

    >>> outcome({"valid": {"accuracy": 0.9}, "details": {"confusion": "?"}}).scores
    (Score(name='accuracy', valid=0.9, test=None),)
    """
    valid, test, details = (table(written.get(key)) for key in ("valid", "test", "details"))
    names = dict.fromkeys([*valid, *test])
    cost = {key: value for key, one in table(written.get("cost")).items() if (value := finite(one)) is not None}
    return Outcome(
        chosen_by=words(written.get("chosen_by"), 60),
        best_step=whole(written.get("best_step")),
        averaged=_averaged(table(written.get("averaged"))),
        scores=tuple(_scores(list(names)[:40], valid, test)),
        baseline=baseline(details),
        confusion=_confusion(details),
        per_class=tuple(
            _class(label, table(one)) for label, one in list(table(details.get("per_class")).items())[:CLASSES]
        ),
        worst=tuple(_wrong(table(one)) for one in items(details.get("worst"), WORST) if table(one)),
        calibration=tuple(bin for one in items(details.get("calibration"), BINS) if (bin := _bin(table(one)))),
        ece=finite(details.get("ece")),
        signatures=_signatures(details),
        by_length=tuple(one for written in items(details.get("by_length"), BINS) if (one := _length(table(written)))),
        examples=tuple(_translated(table(one)) for one in items(details.get("examples"), EXAMPLES) if table(one)),
        attention=_attention(table(details.get("attention"))),
        cost=cost,
    )


def _averaged(told: Mapping[str, Any]) -> tuple[int, ...]:
    steps = (whole(step) for step in items(told.get("steps"), BINS))
    return tuple(step for step in steps if step is not None) if told.get("kept") is True else ()


def _scores(names: list[str], valid: Mapping[str, Any], test: Mapping[str, Any]) -> list[Score]:
    scores = [Score(words(name, 60), number(valid.get(name)), number(test.get(name))) for name in names]
    return [score for score in scores if score.valid is not None or score.test is not None]


def baseline(details: Mapping[str, Any]) -> Baseline | None:
    """What the details of an evaluation say of the simplest answer; None where a task has no such thing."""
    told = table(details.get("baseline"))
    says, accuracy = words(told.get("says"), 60), finite(told.get("accuracy"))
    return Baseline(says, accuracy) if says and accuracy is not None else None


def _confusion(details: Mapping[str, Any]) -> Confusion | None:
    labels = [words(label, 60) for label in items(details.get("labels"), LABELS)]
    rows = [[finite(cell) for cell in items(row, LABELS)] for row in items(details.get("confusion"), LABELS)]
    counts = tuple(tuple(cell for cell in row if cell is not None) for row in rows)
    if not labels or len(counts) != len(labels) or any(len(row) != len(labels) for row in counts):
        return None
    return Confusion(tuple(labels), counts)


def _class(label: str, one: Mapping[str, Any]) -> Class:
    precision, recall, f1 = (number(one.get(key)) for key in ("precision", "recall", "f1"))
    return Class(words(label, 60), precision, recall, f1, whole(one.get("support")))


def _wrong(one: Mapping[str, Any]) -> Wrong:
    gold, predicted = (_labels(one.get(key)) for key in ("gold", "predicted"))
    shown = _labels(one.get("text")) if isinstance(one.get("text"), list) else (words(one.get("text"), TEXT),)
    if isinstance(one.get("gold"), list) and len(shown) == 1:
        apart = tuple(shown[0].split())[:WORDS]
        shown = apart if len(apart) == len(gold) else shown
    return Wrong(shown, gold, predicted, finite(one.get("probability")), words(one.get("place"), 200))


def _labels(value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(words(one, 100) for one in value[:WORDS])
    return (words(value, 100),)


def _bin(one: Mapping[str, Any]) -> Bin | None:
    low, high, confidence, accuracy = (finite(one.get(key)) for key in ("low", "high", "confidence", "accuracy"))
    count = whole(one.get("count"))
    if low is None or high is None or not count:
        return None
    middle = (low + high) / 2
    return None if accuracy is None else Bin(low, high, count, middle if confidence is None else confidence, accuracy)


def _signatures(details: Mapping[str, Any]) -> dict[str, str]:
    told = list(table(details.get("signatures")).items())[:10]
    return {words(name, 60): signature for name, written in told if (signature := words(written, 300))}


def _length(one: Mapping[str, Any]) -> Length | None:
    low, high, sentences = finite(one.get("from")), finite(one.get("to")), whole(one.get("sentences"))
    if low is None or not sentences:
        return None
    told = {name: finite(one.get(name)) for name in ("bleu", "chrf", "exact_match")}
    scores = {name: value for name, value in told.items() if value is not None}
    return Length(low, low if high is None else max(low, high), sentences, scores)


def _translated(one: Mapping[str, Any]) -> Translated:
    source, written = (
        next((text for key in keys if (text := words(one.get(key), TEXT))), "")
        for keys in (("text", "image"), ("translation", "caption"))
    )
    references = tuple(words(text, TEXT) for text in items(one.get("references"), 10))
    place, picture, right = words(one.get("place"), 200), thumbnail(one.get("thumbnail")), one.get("right")
    if not isinstance(right, bool):  # runs of old don't say
        right = written.strip() in {reference.strip() for reference in references}
    return Translated(source, references, written, place, right, picture)


def _attention(one: Mapping[str, Any]) -> Alignment | None:
    """An example's attention, if tokens and weights fit each other."""
    read: dict[str, object] = {}
    across, down = SOURCE, TOKENS
    if isinstance(one.get("regions"), list):
        read["regions"] = sides = [max(whole(side) or 0, 0) for side in items(one["regions"], 3)]
        across = prod(sides) + 1  # one more, to see that there are too many
        down = min(TOKENS, WEIGHTS // across)
    else:
        read["source_tokens"] = [words(token, 60) for token in items(one.get("source_tokens"), SOURCE)]
    weights = [[finite(cell) for cell in items(row, across)] for row in items(one.get("attention"), down)]
    if not weights or any(cell is None or cell < 0 for row in weights for cell in row):
        return None
    read |= {"attention": weights, "tokens": [words(token, 60) for token in items(one.get("tokens"), down)]}
    try:
        return alignment(read, pixels(thumbnail(one.get("thumbnail"))))
    except (SeqloomError, ValueError):  # weights of another shape than the tokens
        return None
