"""The report of tasks that predict labels: confusions, scores by class, the hardest examples, calibration."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import sqrt
from typing import ClassVar, NamedTuple

from rich.text import Text

from seqloom.core.problem import KeyName
from seqloom.tasks.metrics.registry import score_info
from seqloom.tasks.task_report import Remark, TaskReport, TerminalItem
from seqloom.views.figure import Bars, Curves, Grid, Series, Table
from seqloom.views.format import one_line, rounded
from seqloom.views.html import AnnotatedWord, Block, Collapsible, Example, PageSection, Paragraph, SideBySide
from seqloom.views.lenient import finite, integer, items, mapping, number, string

LABELS, CLASSES, EXAMPLES, BINS, WORDS, TEXT = 50, 200, 20, 100, 120, 600  # the most that is read of each
SHOWN_CLASSES, SHOWN_EXAMPLES = 30, 8  # on a page, unfolded
TERMINAL_CLASSES = 40  # all of them are in --json


class Class(NamedTuple):
    label: str
    precision: float | None
    recall: float | None
    f1: float | None
    support: int | None


class HardExample(NamedTuple):
    """A wrong prediction that the model was sure of: one gold and one predicted label, or one per word."""

    words: tuple[str, ...]
    gold: tuple[str, ...]
    predicted: tuple[str, ...]
    probability: float | None
    location: str


class ConfidenceBin(NamedTuple):
    """Predictions of similar confidence, and the share of them that is correct."""

    low: float
    high: float
    predictions: int
    confidence: float
    accuracy: float


class Confusion(NamedTuple):
    """How often each label (a row) was predicted as each label (a column)."""

    labels: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]

    @property
    def figure(self) -> Grid:
        """A cell is as dark as the root of its share of the row, so that rare errors are visible."""
        return Grid(
            "Confusion matrix",
            self.labels,
            self.labels,
            self.counts,
            row_axis="gold",
            column_axis="predicted",
            shades=tuple(tuple(sqrt(max(cell, 0.0) / (sum(row) or 1.0)) for cell in row) for row in self.counts),
            diagonal="special",
            caption="counts; a darker cell is a larger share of its row",
        )

    def errors(self, most: int) -> list[tuple[str, str, float]]:
        """The most frequent errors: gold, predicted, count.

        >>> Confusion(("a", "b"), ((5.0, 1.0), (3.0, 7.0))).errors(1)
        [('b', 'a', 3.0)]
        """
        errors = [
            (gold, predicted, count)
            for gold, row in zip(self.labels, self.counts, strict=True)
            for predicted, count in zip(self.labels, row, strict=True)
            if gold != predicted and count > 0
        ]
        return sorted(errors, key=lambda error: -error[2])[:most]


class Baseline(NamedTuple):
    """The label that the baseline always predicts, and its accuracy."""

    label: str
    accuracy: float

    def sentence(self) -> str:
        """
        >>> Baseline("neg", 0.5125).sentence()
        'always predicting neg has an accuracy of 0.5125'
        """
        return f"always predicting {one_line(self.label)} has an accuracy of {rounded(self.accuracy)}"


class LabelReport(TaskReport):
    label: ClassVar[str] = "label"  # what a class is called in a table

    # Data ------------------------------------------------------------------------------------------------------

    @cached_property
    def baseline(self) -> Baseline | None:
        """None for several labels per text."""
        baseline = mapping(self.details.get("baseline"))
        label, accuracy = string(baseline.get("says"), 60), finite(baseline.get("accuracy"))
        return Baseline(label, accuracy) if label and accuracy is not None else None

    @cached_property
    def confusion(self) -> Confusion | None:
        labels = tuple(string(label, 60) for label in items(self.details.get("labels"), LABELS))
        rows = [[finite(cell) for cell in items(row, LABELS)] for row in items(self.details.get("confusion"), LABELS)]
        counts = tuple(tuple(cell for cell in row if cell is not None) for row in rows)
        if not labels or len(counts) != len(labels) or any(len(row) != len(labels) for row in counts):
            return None
        return Confusion(labels, counts)

    @cached_property
    def per_class(self) -> tuple[Class, ...]:
        return _classes(mapping(self.details.get("per_class")), CLASSES)

    @cached_property
    def worst(self) -> tuple[HardExample, ...]:
        entries = map(mapping, items(self.details.get("worst"), EXAMPLES))
        return tuple(_hard_example(entry) for entry in entries if entry)

    @cached_property
    def calibration(self) -> tuple[ConfidenceBin, ...]:
        bins = []
        for entry in map(mapping, items(self.details.get("calibration"), BINS)):
            low, high, confidence, accuracy = (
                finite(entry.get(key)) for key in ("low", "high", "confidence", "accuracy")
            )
            count = integer(entry.get("count"))
            if low is not None and high is not None and accuracy is not None and count:
                bins.append(
                    ConfidenceBin(low, high, count, (low + high) / 2 if confidence is None else confidence, accuracy)
                )
        return tuple(bins)

    # The page --------------------------------------------------------------------------------------------------

    def score_notes(self) -> tuple[Block, ...]:
        return (Paragraph(f"On validation data, {self.baseline.sentence()}."),) if self.baseline else ()

    def sections(self) -> tuple[PageSection, ...]:
        return (
            PageSection("Classes", self._class_blocks()),
            PageSection("Worst examples", self._example_blocks()),
            PageSection("Calibration", self._calibration_blocks()),
        )

    def _class_blocks(self) -> tuple[Block, ...]:
        """Matrix, table and most frequent errors; two of them in a row if they are small."""
        rows = self.per_class
        classes = Table("By class", ("class", "precision", "recall", "F1", "support"), rows) if rows else None
        blocks: list[Block] = []
        errors: Table | None = None
        if self.confusion is not None:
            grid = self.confusion.figure
            if classes is not None and len(grid.rows) <= 5:
                blocks.append(SideBySide((grid, classes)))
                classes = None
            else:
                blocks.append(grid)
            # In a small matrix the errors are easily found.
            frequent = tuple(self.confusion.errors(10)) if len(grid.rows) >= 4 else ()
            if frequent:
                errors = Table("Most frequent confusions", ("gold", "predicted", "count"), frequent)
        few = classes is not None and len(rows) <= SHOWN_CLASSES
        if errors is not None and classes is not None and few:
            return (*blocks, SideBySide((classes, errors)))
        if errors is not None:
            blocks.append(errors)
        if classes is not None:
            blocks.append(classes if few else Collapsible(f"{len(rows)} classes", (classes,)))
        return tuple(blocks)

    def _example_blocks(self) -> tuple[Block, ...]:
        blocks = tuple(map(_example_block, self.worst))
        if not blocks:
            return ()
        more = blocks[SHOWN_EXAMPLES:]
        collapsible = (Collapsible(f"{len(more)} more", more),) if more else ()
        return (Paragraph("The wrong predictions with the highest confidence."), *blocks[:SHOWN_EXAMPLES], *collapsible)

    def _calibration_blocks(self) -> tuple[Block, ...]:
        """Accuracy by confidence, and how many predictions that is computed from."""
        if not self.calibration:
            return ()
        points = tuple((b.confidence, b.accuracy) for b in self.calibration)
        counts = tuple((f"{rounded(b.low)} to {rounded(b.high)}", float(b.predictions)) for b in self.calibration)
        ece, accuracy = finite(self.details.get("ece")), score_info("accuracy")
        curves = Curves(
            "Calibration",
            (Series("perfectly calibrated", ((0.0, 0.0), (1.0, 1.0)), "reference"), Series("model", points)),
            x="confidence",
            y=accuracy.name,
            limits=accuracy.range,
            caption=f"expected calibration error {rounded(ece)}" if ece is not None else "",
        )
        unit = "number of predictions per range of confidence"
        return (SideBySide((curves, Bars("Confidence of predictions", counts, unit=unit))),)

    # The terminal ----------------------------------------------------------------------------------------------

    def remarks(self) -> Iterator[Remark]:
        """The accuracy of the baseline, and a warning if the model's is not higher."""
        accuracy = number(self.scores.get("accuracy"))
        if self.baseline is None or accuracy is None:
            return
        yield Remark("baseline", self.baseline.sentence())
        if not accuracy > self.baseline.accuracy:
            advice = f"More steps, another {KeyName('train.lr')} or more data may help"
            yield Remark("warning", f"this model is no better than the baseline. {advice}", "bold yellow")

    def evaluation_lines(self) -> Iterator[TerminalItem]:
        name, key = ("span", "per_span") if "per_span" in self.details else (self.label, "per_class")
        classes = mapping(self.details.get(key))
        if rows := _classes(classes, TERMINAL_CLASSES):
            yield Table("", (name, "precision", "recall", "F1", "support"), rows)
        if len(classes) > TERMINAL_CLASSES:
            yield Text(f"and {len(classes) - TERMINAL_CLASSES:,} more, with --json", "dim")
        yield from self.remarks()


def _classes(classes: Mapping[str, object], most: int) -> tuple[Class, ...]:
    rows = []
    for label, entry in list(classes.items())[:most]:
        scores = mapping(entry)
        precision, recall, f1 = (number(scores.get(key)) for key in ("precision", "recall", "f1"))
        rows.append(Class(string(label, 60), precision, recall, f1, integer(scores.get("support"))))
    return tuple(rows)


def _hard_example(entry: Mapping[str, object]) -> HardExample:
    gold, predicted, text = _strings(entry.get("gold")), _strings(entry.get("predicted")), entry.get("text")
    words = _strings(text) if isinstance(text, list) else (string(text, TEXT),)
    if isinstance(entry.get("gold"), list) and len(words) == 1:
        split = tuple(words[0].split())[:WORDS]
        words = split if len(split) == len(gold) else words
    return HardExample(words, gold, predicted, finite(entry.get("probability")), string(entry.get("place"), 200))


def _example_block(example: HardExample) -> Example:
    """A text with its gold and its predicted label, or words with theirs."""
    words, gold, predicted, probability, location = example
    facts = [f"probability of the gold answer {rounded(probability)}" if probability is not None else "", location]
    if len(words) == len(gold) == len(predicted) and len(words) > 1:
        labeled = tuple(
            AnnotatedWord(word, right if right == guess else f"{right}, not {guess}", right != guess)
            for word, right, guess in zip(words, gold, predicted, strict=True)
        )
    else:
        labeled = tuple(map(AnnotatedWord, words))
        facts = [f"gold {' '.join(gold)}", f"predicted {' '.join(predicted)}", *facts]
    return Example(labeled, " · ".join(fact for fact in facts if fact))


def _strings(value: object) -> tuple[str, ...]:
    return tuple(string(item, 100) for item in (items(value, WORDS) if isinstance(value, list) else [value]))
