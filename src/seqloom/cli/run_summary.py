"""What the terminal shows of a run: before its first step, of a dry run, and after its last step."""

import re
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.text import Text

from seqloom.cli.console import block, command, is_live, say, say_exactly, show
from seqloom.cli.progress import Progress, place_in_words, scores_in_words
from seqloom.core.config.toml import written
from seqloom.core.run_format import REPORT
from seqloom.data.source import DataSource
from seqloom.lens.report import Report, report
from seqloom.lens.report_figures import loss
from seqloom.models.family import Use
from seqloom.runs.devices import device_words
from seqloom.runs.run import Run
from seqloom.tasks.report import Remark, TaskReport
from seqloom.training.estimate import Estimate
from seqloom.training.session import Session
from seqloom.views import terminal
from seqloom.views.format import byte_size, duration, truncate, visible
from seqloom.views.terminal_cells import charset_of, fit

FEW = 200  # steps
CURVE_LINES = 7  # with its title, legend and foot: a dozen at most
NARROW = 60  # columns: below this a curve says little
SAMPLE = 600  # characters


def introduce(console: Console, session: Session, steps: int, parameters: int) -> None:
    """Data, model and device."""
    chosen = session.experiment
    say(console, "corpus", f"{source_words(session.source)}: {session.task.describe()}")
    columns = session.source.columns
    if columns is not None:
        say(console, "columns", columns.describe())
    say(console, "model", f"{chosen.describe_model()}, {parameters:,} parameters")
    say(console, "device", f"{device_words(session.device)}{chosen.model.kernel_words()}")
    if chosen.train.steps is None and steps < FEW:
        more = f"--train.epochs {-(-FEW // steps) * (chosen.train.epochs or 1)}"
        message = f"{steps} step{'s' * (steps != 1)} in all, which is very few"
        say(console, "note", f"{message}; {more} would be {FEW} or more")


def source_words(source: DataSource) -> str:
    """Where the data come from, in a few words."""
    if source.corpus:
        return f"{source.corpus} (embedded)"
    first, *others = source.files["train"]
    return f"{Path(first).name} and {len(others)} more" if others else Path(first).name


def show_estimate(console: Console, session: Session, estimate: Estimate) -> None:
    """What a run would be and cost, the first batch as a person would read it, and the config."""
    introduce(console, session, estimate.steps, estimate.parameters)
    say(console, "steps", f"{estimate.steps:,}, about {estimate.tokens:,} tokens")
    say(console, "time", f"about {duration(estimate.seconds)}")
    say(console, "memory", f"about {byte_size(estimate.memory)}")
    say(console, "batch", "the first one begins with")
    charset, width = charset_of(console.encoding), console.width - 9 if console.is_terminal else 200
    for row in estimate.first_batch:
        block(console, Text(fit(row, width, charset), "dim"))
    say(console, "config", "with every default:")
    console.print()
    for line in written(session.experiment).splitlines():
        key = re.match(r"(\[?\w+\]?)(.*)", line)
        console.print(Text.assemble((key[1], "cyan"), key[2]) if key else Text(line), soft_wrap=True)
    console.print()
    say(console, "wrote", "nothing: this was a dry run")


def show_ending(console: Console, run: Run, progress: Progress) -> None:
    """Examples, scores, files and the next command."""
    found = report(run.folder)
    show_curve(console, found)
    for sample in progress.samples:
        text = truncate(visible(sample.prompt + sample.text), SAMPLE)
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
    say_exactly(console, "next", command(verb[0], run.folder, *verb[1:], progress.example_input(run.folder)))


def show_curve(console: Console, found: Report) -> None:
    """The loss, small, where there is a terminal to see it on."""
    figure = loss(found)
    if figure is None or not is_live(console) or console.width < NARROW or len(figure.series[0].points) < 3:
        return
    charset = charset_of(console.encoding)
    for line in terminal.draw(figure, min(console.width, 100), CURVE_LINES, charset)[1:]:  # the legend names it already
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


def cost_words(cost: Mapping[str, float]) -> str:
    """Time and speed."""
    rate = cost.get("tokens_per_second")
    speed = f", {rate:,.0f} tokens/s" if isinstance(rate, int | float) else ""
    steps = int(cost.get("steps", 0))
    return f"{duration(float(cost.get('seconds', 0.0)))} for {steps:,} step{'s' * (steps != 1)}{speed}"
