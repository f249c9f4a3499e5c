"""What people see of tasks that give labels: which are confused, how good each is, the worst mistakes, calibration."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import ClassVar

from rich.text import Text

from seqloom.core.problem import KeyName
from seqloom.tasks.report import Remark, Shown, TaskReport
from seqloom.views.figure import Bars, Curves, Grid, Series, Table
from seqloom.views.format import one_line, short
from seqloom.views.html import Block, Collapsible, Example, Paragraph, Row, Section, Word
from seqloom.views.lenient import finite, integer, items, mapping, number, string

LABELS, CLASSES, WORST, BINS, WORDS, TEXT = 50, 200, 20, 100, 120, 600  # the most that is read of each
SHOWN_CLASSES, SHOWN_WORST = 30, 8  # on a page, unfolded
LISTED = 40  # classes in the terminal; all of them are in --json


@dataclass(frozen=True)
class Confusion:
    """How often each label (a row) was taken for each (a column)."""

    labels: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]

    @property
    def figure(self) -> Grid:
        """A cell is as dark as the root of its share of the row, so that rare mistakes show."""
        return Grid(
            "Confusion matrix",
            self.labels,
            self.labels,
            self.counts,
            row_axis="gold",
            column_axis="predicted",
            shades=tuple(tuple(sqrt(max(cell, 0.0) / (sum(row) or 1.0)) for cell in row) for row in self.counts),
            diagonal="special",
            caption="counts; the darker, the larger its share of the row",
        )

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

    @property
    def cells(self) -> tuple[str | float | None, ...]:
        """A row of a table."""
        return (self.label, self.precision, self.recall, self.f1, self.support)


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


class LabelReport(TaskReport):
    """Labels of texts, or of each word of a text."""

    label: ClassVar[str] = "label"  # what a class is called in a table

    # Data ------------------------------------------------------------------------------------------------------

    @cached_property
    def baseline(self) -> Baseline | None:
        """The simplest answer; None where there is no such thing, as with several labels."""
        told = mapping(self.details.get("baseline"))
        says, accuracy = string(told.get("says"), 60), finite(told.get("accuracy"))
        return Baseline(says, accuracy) if says and accuracy is not None else None

    @cached_property
    def confusion(self) -> Confusion | None:
        """Which labels were taken for which."""
        labels = [string(label, 60) for label in items(self.details.get("labels"), LABELS)]
        rows = [[finite(cell) for cell in items(row, LABELS)] for row in items(self.details.get("confusion"), LABELS)]
        counts = tuple(tuple(cell for cell in row if cell is not None) for row in rows)
        if not labels or len(counts) != len(labels) or any(len(row) != len(labels) for row in counts):
            return None
        return Confusion(tuple(labels), counts)

    @cached_property
    def per_class(self) -> tuple[Class, ...]:
        """Precision, recall and F1 of each label."""
        return _classes(mapping(self.details.get("per_class")), CLASSES)

    @cached_property
    def worst(self) -> tuple[Wrong, ...]:
        """What the model was most sure of, and wrong about."""
        return tuple(_wrong(mapping(one)) for one in items(self.details.get("worst"), WORST) if mapping(one))

    @cached_property
    def calibration(self) -> tuple[Bin, ...]:
        """How often it was right, by how sure it was."""
        return tuple(bin for one in items(self.details.get("calibration"), BINS) if (bin := _bin(mapping(one))))

    @property
    def ece(self) -> float | None:
        """The expected calibration error."""
        return finite(self.details.get("ece"))

    # The page --------------------------------------------------------------------------------------------------

    def score_notes(self) -> tuple[Block, ...]:
        return (Paragraph(f"On validation data, {self.baseline.sentence()}."),) if self.baseline else ()

    def sections(self) -> tuple[Section, ...]:
        return (
            Section("Classes", self._classes_blocks()),
            Section("Worst examples", self._worst_blocks()),
            Section("Calibration", self._calibration_blocks()),
        )

    def _classes_blocks(self) -> tuple[Block, ...]:
        grid = self.confusion.figure if self.confusion is not None else None
        mistakes, classes = self._mistakes(), self._class_table()
        blocks: list[Block] = []
        if grid is not None and classes is not None and len(grid.rows) <= 5:
            blocks.append(Row((grid, classes)))
            classes = None
        elif grid is not None:
            blocks.append(grid)
        if mistakes is not None and classes is not None and len(classes.rows) <= SHOWN_CLASSES:
            return (*blocks, Row((classes, mistakes)))
        if mistakes is not None:
            blocks.append(mistakes)
        if classes is not None:
            many = len(classes.rows) > SHOWN_CLASSES
            blocks.append(Collapsible(f"{len(classes.rows)} classes", (classes,)) if many else classes)
        return tuple(blocks)

    def _mistakes(self) -> Table | None:
        """The most frequent confusions, where the matrix is too large to find them."""
        if self.confusion is None or len(self.confusion.labels) < 4:
            return None
        rows = tuple(self.confusion.mistakes(10))
        return Table("Most frequent confusions", ("gold", "predicted", "count"), rows) if rows else None

    def _class_table(self) -> Table | None:
        rows = tuple(one.cells for one in self.per_class)
        return Table("By class", ("class", "precision", "recall", "F1", "support"), rows) if rows else None

    def _worst_blocks(self) -> tuple[Block, ...]:
        if not self.worst:
            return ()
        shown = tuple(map(_example, self.worst))
        first = Paragraph("Where the model was most sure, and wrong.")
        rest = shown[SHOWN_WORST:]
        return (first, *shown[:SHOWN_WORST], *([Collapsible(f"{len(rest)} more", rest)] if rest else []))

    def _calibration_blocks(self) -> tuple[Block, ...]:
        """How often the model was right, by how sure it was; and how many predictions that rests on."""
        if not self.calibration:
            return ()
        points = tuple((one.confidence, one.accuracy) for one in self.calibration)
        curve = Curves(
            "Calibration",
            (Series("as sure as right", ((0.0, 0.0), (1.0, 1.0)), "reference"), Series("model", points)),
            x="confidence",
            y="accuracy",
            limits=(0.0, 1.0),
            caption=f"expected calibration error {short(self.ece)}" if self.ece is not None else "",
        )
        counts = tuple((f"{short(one.low)} to {short(one.high)}", float(one.count)) for one in self.calibration)
        return (Row((curve, Bars("How sure it was", counts, unit="predictions, by confidence"))),)

    # The terminal ----------------------------------------------------------------------------------------------

    def remarks(self) -> Iterator[Remark]:
        """What always giving the same label would score; and a warning if that is as good."""
        accuracy = number(self.scores.get("accuracy"))
        if self.baseline is None or accuracy is None:
            return
        yield Remark("baseline", self.baseline.sentence())
        if not accuracy > self.baseline.accuracy:
            message = (
                f"this model is no better than that. More steps, another {KeyName('train.lr')} or more data may help"
            )
            yield Remark("warning", message, "bold yellow")

    def evaluation(self) -> Iterator[Shown]:
        name, key = ("span", "per_span") if "per_span" in self.details else (self.label, "per_class")
        listed = mapping(self.details.get(key))
        rows = tuple(one.cells for one in _classes(listed, LISTED))
        if rows:
            yield Table("", (name, "precision", "recall", "F1", "support"), rows)
        if len(listed) > LISTED:
            yield Text(f"and {len(listed) - LISTED:,} more, with --json", "dim")
        yield from self.remarks()


def _classes(written: Mapping[str, object], most: int) -> tuple[Class, ...]:
    return tuple(_class(label, mapping(one)) for label, one in list(written.items())[:most])


def _class(label: str, one: Mapping[str, object]) -> Class:
    precision, recall, f1 = (number(one.get(key)) for key in ("precision", "recall", "f1"))
    return Class(string(label, 60), precision, recall, f1, integer(one.get("support")))


def _wrong(one: Mapping[str, object]) -> Wrong:
    gold, predicted = (_labels(one.get(key)) for key in ("gold", "predicted"))
    shown = _labels(one.get("text")) if isinstance(one.get("text"), list) else (string(one.get("text"), TEXT),)
    if isinstance(one.get("gold"), list) and len(shown) == 1:
        apart = tuple(shown[0].split())[:WORDS]
        shown = apart if len(apart) == len(gold) else shown
    return Wrong(shown, gold, predicted, finite(one.get("probability")), string(one.get("place"), 200))


def _labels(value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(string(one, 100) for one in value[:WORDS])
    return (string(value, 100),)


def _bin(one: Mapping[str, object]) -> Bin | None:
    low, high, confidence, accuracy = (finite(one.get(key)) for key in ("low", "high", "confidence", "accuracy"))
    count = integer(one.get("count"))
    if low is None or high is None or not count:
        return None
    middle = (low + high) / 2
    return None if accuracy is None else Bin(low, high, count, middle if confidence is None else confidence, accuracy)


def _example(wrong: Wrong) -> Example:
    right = f"the right answer had probability {short(wrong.probability)}" if wrong.probability is not None else ""
    if len(wrong.words) == len(wrong.gold) == len(wrong.predicted) and len(wrong.words) > 1:
        pairs = zip(wrong.words, wrong.gold, wrong.predicted, strict=True)
        text = tuple(
            Word(word, gold if gold == predicted else f"{gold}, not {predicted}", gold != predicted)
            for word, gold, predicted in pairs
        )
        facts: tuple[str, ...] = (right, wrong.place)
    else:
        text = tuple(Word(word) for word in wrong.words)
        facts = (f"gold {' '.join(wrong.gold)}", f"predicted {' '.join(wrong.predicted)}", right, wrong.place)
    return Example(text, " · ".join(fact for fact in facts if fact))
