"""The figures of a run's report. A figure for which the run has no data is None, or is left out of the list."""

from collections.abc import Mapping

from seqloom.lens.report import Report
from seqloom.tasks.metrics.registry import score_info
from seqloom.views.figure import Curves, Mark, Points, Series
from seqloom.views.format import rounded

TRAINING, VALIDATION = 1, 2  # colors
LOG_RATIO = 30  # a log scale is used if the largest value is more than this times the smallest


def loss_figure(report: Report) -> Curves | None:
    """Training and validation loss, with marks at the best step, at resumptions and at skipped steps."""
    curves = report.history.curves
    names = (("training", "loss", TRAINING), ("validation", "valid.loss", VALIDATION))
    series = tuple(Series(name, curves[key], color=color) for name, key, color in names if key in curves)
    if not series:
        return None
    marks = [Mark(float(step), "resumed") for step in report.history.resumes]
    if report.best_step is not None:
        marks.append(Mark(float(report.best_step), f"best, step {report.best_step:,}"))
    notes = ["▲ skipped step"] if report.history.skipped else []
    train = report.settings.get("train")
    smoothing = train.get("label_smoothing") if isinstance(train, Mapping) else None
    if isinstance(smoothing, float) and smoothing > 0:
        without = "the validation loss is without it"
        notes.append(f"label smoothing of {rounded(smoothing)} raises the training loss; {without}")
    log, marks = _needs_log(*(line.points for line in series)), [*marks, *skipped_step_marks(report)]
    loss, caption = score_info("loss"), "; ".join(notes)
    return Curves(
        "Loss", series, x="step", y=loss.name, log=log, bounds=loss.range, marks=tuple(marks), caption=caption
    )


def skipped_step_marks(report: Report) -> tuple[Mark, ...]:
    """A warning at each skipped step."""
    return tuple(
        Mark(float(skip.step), f"step {skip.step:,} skipped: {skip.what} was {skip.value}", "warning")
        for skip in report.history.skipped
    )


def training_figures(report: Report) -> list[Curves]:
    """Learning rate, gradient norm and share of clipped steps."""
    curves = report.history.curves
    figures = []
    if points := curves.get("lr"):
        figures.append(Curves("Learning rate", (Series("learning rate", points),), x="step", y="learning rate"))
    if points := curves.get("gradient"):
        line, log, marks = (Series("gradient norm", points),), _needs_log(points), skipped_step_marks(report)
        figures.append(
            Curves("Gradient norm", line, x="step", y="norm", log=log, marks=marks, caption="before clipping")
        )
    if points := curves.get("clipped"):
        line, limits = (Series("clipped", points),), (0.0, 1.0)
        figures.append(
            Curves(
                "Clipped steps",
                line,
                x="step",
                y="share",
                limits=limits,
                caption="share of steps whose gradient was clipped by norm",
            )
        )
    return figures


def validation_figures(report: Report, limit: int = 8) -> list[Curves]:
    """One curve per score, except the loss. Scores with a highest value have a linear scale."""
    history = report.history.curves
    curves = {key.removeprefix("valid."): history[key] for key in history if key.startswith("valid.")}
    figures = []
    for key in [key for key, points in curves.items() if key != "loss" and len(points) > 1][:limit]:
        score, points = score_info(key), curves[key]
        title = score.name[:1].upper() + score.name[1:] if score.name.split()[0].islower() else score.name
        line, log = (Series("validation", points, color=VALIDATION),), not score.bounded and _needs_log(points)
        figures.append(Curves(title, line, x="step", y=score.name, log=log, bounds=score.range, caption="validation"))
    return figures


def speed_figure(report: Report) -> Curves | None:
    """Tokens per second over the run."""
    points: Points = report.history.curves.get("tokens_per_second", ())
    if len(points) < 2:
        return None
    limits = (0.0, max(y for _, y in points) * 1.05)
    return Curves("Speed", (Series("speed", points),), x="step", y="tokens per second", limits=limits)


def _needs_log(*curves: Points) -> bool:
    """Whether all values are positive and their range is too large for a linear scale."""
    values = [y for points in curves for _, y in points]
    return bool(values) and min(values) > 0 and max(values) / min(values) > LOG_RATIO
