"""The figures of a run's report. Each is None, or no part of a list, where the run does not tell enough."""

import re
from collections.abc import Iterator, Mapping
from math import sqrt

from seqloom.lens.report import Report
from seqloom.views.figure import Bars, Curves, Grid, Mark, Points, Series, Table
from seqloom.views.numbers import short

NAMES = {
    "loss": "loss",
    "accuracy": "accuracy",
    "perplexity": "perplexity",
    "bits_per_character": "bits a character",
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "span_f1": "span F1",
    "bleu": "BLEU",
    "chrf": "chrF",
}
BLEU_ORDER = re.compile(r"bleu[_-]?(\d)")
TRAINING, VALIDATION = 1, 2  # colours
LOG_FROM = 30  # largest over smallest: from here on a linear scale hides the end


def readable(score: str) -> str:
    """A score's name for a person.

    >>> readable("macro_f1"), readable("tag_accuracy"), readable("bleu_4")
    ('macro F1', 'tag accuracy', 'BLEU-4')
    """
    order = BLEU_ORDER.fullmatch(score)
    return f"BLEU-{order[1]}" if order else NAMES.get(score, score.replace("_", " "))


def loss(report: Report) -> Curves | None:
    """Training and validation loss, with the best step, resumptions and skipped steps marked."""
    named = (("training", "loss", TRAINING), ("validation", "valid.loss", VALIDATION))
    found = [one for one in named if one[1] in report.curves]
    series = tuple(Series(name, report.curves[key], colour=colour) for name, key, colour in found)
    if not series:
        return None
    marks = [Mark(float(step), "resumed") for step in report.history.resumes]
    if report.best_step is not None:
        marks.append(Mark(float(report.best_step), f"best, step {report.best_step:,}"))
    return Curves(
        "Loss",
        series,
        x="step",
        y="loss",
        log=_spans(*(one.points for one in series)),
        marks=(*marks, *skip_marks(report)),
        caption="; ".join(_asides(report)),
    )


def _asides(report: Report) -> Iterator[str]:
    """What one should know to read the curves."""
    if report.skipped:
        yield "▲ a step that was skipped"
    train = report.settings.get("train")
    smoothing = train.get("label_smoothing") if isinstance(train, Mapping) else None
    if isinstance(smoothing, float) and smoothing > 0:
        yield f"in training labels are smoothed by {short(smoothing)}, so its loss stays above that of validation"


def skip_marks(report: Report) -> tuple[Mark, ...]:
    """A sign at each skipped step."""
    return tuple(
        Mark(float(skip.step), f"step {skip.step:,} skipped: {skip.what} was {skip.value}", "warning")
        for skip in report.skipped
    )


def training(report: Report) -> list[Curves]:
    """What else was measured in each step: learning rate, gradient norm, share of clipped steps."""
    figures = []
    if points := report.curves.get("lr"):
        figures.append(Curves("Learning rate", (Series("learning rate", points),), x="step", y="learning rate"))
    if points := report.curves.get("gradient"):
        figures.append(
            Curves(
                "Gradient norm",
                (Series("gradient norm", points),),
                x="step",
                y="norm",
                log=_spans(points),
                marks=skip_marks(report),
                caption="before clipping",
            )
        )
    if points := report.curves.get("clipped"):
        share = Series("clipped", points)
        figures.append(
            Curves("Clipped steps", (share,), x="step", y="share", limits=(0.0, 1.0), caption="share of the steps")
        )
    return figures


def validation(report: Report, most: int = 8) -> list[Curves]:
    """A curve a score, the loss aside."""
    names = [key.removeprefix("valid.") for key, points in report.curves.items() if len(points) > 1]
    names = [name for name in names if name != "loss" and f"valid.{name}" in report.curves][:most]
    return [_over_steps(readable(name), report.curves[f"valid.{name}"]) for name in names]


def _over_steps(name: str, points: Points) -> Curves:
    title = name[:1].upper() + name[1:] if name.split()[0].islower() else name
    line = Series("validation", points, colour=VALIDATION)
    return Curves(title, (line,), x="step", y=name, log=_spans(points), caption="validation")


def confusion(report: Report) -> Grid | None:
    """Which label was taken for which; a cell is as dark as the root of its share, so that rare mistakes show."""
    if report.confusion is None:
        return None
    labels, counts = report.confusion.labels, report.confusion.counts
    return Grid(
        "Confusion matrix",
        labels,
        labels,
        counts,
        row_axis="gold",
        column_axis="predicted",
        shades=tuple(tuple(sqrt(max(cell, 0.0) / (sum(row) or 1.0)) for cell in row) for row in counts),
        diagonal="special",
        caption="counts; the darker, the larger its share of the row",
    )


def mistakes(report: Report) -> Table | None:
    """The most frequent confusions, where the matrix is too large to find them."""
    if report.confusion is None or len(report.confusion.labels) < 4:
        return None
    rows = tuple(report.confusion.mistakes(10))
    return Table("Most frequent confusions", ("gold", "predicted", "count"), rows) if rows else None


def per_class(report: Report) -> Table | None:
    """Precision, recall and F1 of each label."""
    rows = tuple((one.label, one.precision, one.recall, one.f1, one.support) for one in report.per_class)
    return Table("By class", ("class", "precision", "recall", "F1", "support"), rows) if rows else None


def calibration(report: Report) -> tuple[Curves, Bars] | None:
    """How often the model was right, by how sure it was; and how many predictions that rests on."""
    if not report.calibration:
        return None
    points = tuple((one.confidence, one.accuracy) for one in report.calibration)
    ece = report.outcome.ece
    curve = Curves(
        "Calibration",
        (Series("as sure as right", ((0.0, 0.0), (1.0, 1.0)), "reference"), Series("model", points)),
        x="confidence",
        y="accuracy",
        limits=(0.0, 1.0),
        caption=f"expected calibration error {short(ece)}" if ece is not None else "",
    )
    counts = tuple((f"{short(one.low)} to {short(one.high)}", float(one.count)) for one in report.calibration)
    return curve, Bars("How sure it was", counts, unit="predictions, by confidence")


def speed(report: Report) -> Curves | None:
    """Tokens a second over the run."""
    points: Points = report.curves.get("tokens_per_second", ())
    if len(points) < 2:
        return None
    most = max(y for _, y in points)
    series = (Series("speed", points),)
    return Curves("Speed", series, x="step", y="tokens a second", limits=(0.0, most * 1.05))


def _spans(*curves: Points) -> bool:
    """Whether values are positive and lie so far apart that only a log scale shows them all."""
    values = [y for points in curves for _, y in points]
    return bool(values) and min(values) > 0 and max(values) / min(values) > LOG_FROM
