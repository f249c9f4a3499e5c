"""The figures of a run's report. Each is None, or no part of a list, where the run does not tell enough."""

from collections.abc import Iterator, Mapping

from seqloom.lens.report import Report
from seqloom.tasks.metrics.registry import readable
from seqloom.views.figure import Curves, Mark, Points, Series
from seqloom.views.format import short

TRAINING, VALIDATION = 1, 2  # colors
LOG_FROM = 30  # largest over smallest: from here on a linear scale hides the end


def loss(report: Report) -> Curves | None:
    """Training and validation loss, with the best step, resumptions and skipped steps marked."""
    named = (("training", "loss", TRAINING), ("validation", "valid.loss", VALIDATION))
    found = [one for one in named if one[1] in report.curves]
    series = tuple(Series(name, report.curves[key], color=color) for name, key, color in found)
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
    line = Series("validation", points, color=VALIDATION)
    return Curves(title, (line,), x="step", y=name, log=_spans(points), caption="validation")


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
