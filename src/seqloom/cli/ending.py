"""How a run went: what it generates, its scores, where it is, and what to do next."""

from typing import Any

from rich.console import Console
from rich.text import Text

from seqloom.cli.console import block, command, is_live, say, say_exactly, show
from seqloom.cli.progress import Progress, place_in_words, scores_in_words
from seqloom.lens.report import Report, report
from seqloom.lens.report_figures import loss
from seqloom.models.family import Use
from seqloom.runs.run import Run
from seqloom.spec.folder import REPORT
from seqloom.tasks.report import Remark, TaskReport
from seqloom.training.session import Sitting
from seqloom.views import terminal
from seqloom.views.numbers import duration
from seqloom.views.text import cut, visible

CURVE_LINES = 7  # with its title, legend and foot: a dozen at most
NARROW = 60  # columns: below this a curve says little
SAMPLE = 600  # characters


def show_ending(console: Console, run: Run, sitting: Sitting, progress: Progress) -> None:
    """The lines after the last step."""
    found = report(run.folder)
    show_curve(console, found)
    for sample in progress.samples:
        text = cut(visible(sample.prompt + sample.text), SAMPLE)
        say(console, "sample", "")
        block(console, Text(text.strip("\n"), "bold"))
    show_examples(console, found.details)
    scores = run.scores
    say(console, "best", best_words(run, progress))
    for remark in found.details.remarks():
        say(console, *remark)
    if "test" in scores:
        say(console, "test", scores_in_words(scores["test"]))
    if progress.skipped:
        message = f"{progress.skipped:,} step{'s' * (progress.skipped > 1)} left out, not finite (see the report)"
        say(console, "skipped", message, "bold yellow")
    say(console, "took", cost_words(scores.get("cost", {})))
    files = [REPORT, *found.details.drawings(), str(run.manifest.model)]
    say_exactly(console, "wrote", f"{run.folder}   ({', '.join(files)})")
    verb = ("generate", "--prompt") if run.experiment.use is Use.GENERATE else ("predict",)
    say_exactly(console, "next", command(verb[0], run.folder, *verb[1:], sitting.task.example_input(run.folder)))


def show_curve(console: Console, found: Report) -> None:
    """The loss, small, where there is a terminal to see it on."""
    figure = loss(found)
    if figure is None or not is_live(console) or console.width < NARROW or len(figure.series[0].points) < 3:
        return
    using = terminal.characters(console.encoding)
    for line in terminal.draw(figure, min(console.width, 100), CURVE_LINES, using)[1:]:  # the legend names it already
        console.print(Text(line, "dim"), soft_wrap=True)


def show_examples(console: Console, details: TaskReport) -> None:
    """What the model does, where its task has examples of that; a figure has room below it."""
    for shown in details.examples_shown():
        show(console, shown)
        if not isinstance(shown, Remark | Text):
            console.print()


def best_words(run: Run, progress: Progress) -> str:
    """Which weights were kept, and how good they are on the split that they were chosen by."""
    scores = run.scores
    averaged = scores.get("averaged", {})
    step, best = scores.get("best_step", 0), progress.best
    place = place_in_words(best.epoch, step) if best is not None and best.step == step else f"step {step:,}"
    if averaged.get("kept"):
        place = f"the mean of {len(averaged['steps'])} validations"
    decode = run.experiment.decode
    if run.experiment.use is Use.DECODE and decode is not None and decode.beam > 1:
        place += f", with a beam of {decode.beam}"  # validations are greedy
    return f"{place}: {scores_in_words(scores.get('valid', {}))}"


def cost_words(cost: dict[str, Any]) -> str:
    """Time and speed."""
    rate = cost.get("tokens_per_second")
    speed = f", {rate:,.0f} tokens/s" if isinstance(rate, int | float) else ""
    steps = int(cost.get("steps", 0))
    return f"{duration(float(cost.get('seconds', 0.0)))} for {steps:,} step{'s' * (steps != 1)}{speed}"
