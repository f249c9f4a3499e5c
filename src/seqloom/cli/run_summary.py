"""What the terminal shows before the first step of a run, in a dry run, and after the last step."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from seqloom.cli.console import command, is_live, print_indented, print_item, print_labeled, print_unwrapped
from seqloom.cli.doctor import backend_names
from seqloom.cli.progress import Progress, epoch_and_step, format_scores
from seqloom.core.config.toml import to_toml
from seqloom.core.run_format import REPORT
from seqloom.core.wording import counted
from seqloom.lens.report import Report, read_report
from seqloom.lens.report_figures import loss_figure
from seqloom.models.family import Use
from seqloom.runs.devices import device_name
from seqloom.runs.run import Run
from seqloom.tasks.task_report import Remark
from seqloom.training.estimate import Estimate
from seqloom.training.session import Session
from seqloom.views import terminal
from seqloom.views.format import byte_size, duration, show_controls, truncate_with_count
from seqloom.views.terminal import charset_of, fit

if TYPE_CHECKING:
    from torch import nn

FEW_STEPS = 200
CURVE_HEIGHT, CURVE_MIN_WIDTH = 7, 60
MAX_SAMPLE = 600  # characters


def show_start(console: Console, session: Session, model: "nn.Module", steps: int, parameters: int) -> None:
    """Print the data, the model, the device and the backends."""
    config, source = session.experiment, session.source
    if source.corpus:
        name = f"{source.corpus} (embedded)"
    else:
        first, *others = source.files["train"]
        name = f"{Path(first).name} and {len(others)} more" if others else Path(first).name
    print_labeled(console, "data", f"{name}: {session.task.describe()}")
    if source.columns is not None:
        print_labeled(console, "columns", source.columns.describe())
    print_labeled(console, "model", f"{config.describe_model()}, {parameters:,} parameters")
    backends = ", ".join([device_name(session.device), *backend_names(model, session.device)])
    print_labeled(console, "device", f"{backends} (see `seqloom doctor`)")
    if config.train.steps is None and steps < FEW_STEPS:
        option = f"--train.epochs {-(-FEW_STEPS // steps) * (config.train.epochs or 1)}"
        message = f"{counted(steps, 'step')} in all, which is very few"
        print_labeled(console, "note", f"{message}; {option} gives {FEW_STEPS} or more")


def show_estimate(console: Console, session: Session, estimate: Estimate) -> None:
    """Print the size and cost of a run, the first rows of its first batch, and its config."""
    show_start(console, session, estimate.model, estimate.steps, estimate.parameters)
    print_labeled(console, "steps", f"{estimate.steps:,}, about {estimate.tokens:,} tokens")
    print_labeled(console, "time", f"about {duration(estimate.seconds)}")
    print_labeled(console, "memory", f"about {byte_size(estimate.memory)}")
    print_labeled(console, "batch", "the first rows of the first batch:")
    charset, width = charset_of(console.encoding), console.width - 9 if console.is_terminal else 200
    for row in estimate.first_batch:
        print_indented(console, Text(fit(row, width, charset), "dim"))
    print_labeled(console, "config", "all keys that are set:")
    console.print()
    for line in to_toml(session.experiment).splitlines():
        key = re.match(r"(\[?\w+\]?)(.*)", line)
        console.print(Text.assemble((key[1], "cyan"), key[2]) if key else Text(line), soft_wrap=True)
    console.print()
    print_labeled(console, "wrote", "nothing: this was a dry run")


def show_results(console: Console, run: Run, progress: Progress) -> None:
    """Print examples, scores, files and the next command."""
    run_report, scores = read_report(run.folder), run.scores
    _show_loss(console, run_report)
    for sample in progress.samples:
        text = truncate_with_count(show_controls(sample.prompt + sample.text), MAX_SAMPLE)
        print_labeled(console, "sample", "")
        print_indented(console, Text(text.strip("\n"), "bold"))
    for example in run_report.details.example_lines():
        print_item(console, example)
        if not isinstance(example, Remark | Text):  # an empty line below a figure
            console.print()
    print_labeled(console, "best", _describe_best(run, progress))
    if run_report.final.loss_margin is not None:
        print_labeled(console, "selected", run_report.selection)
    if run_report.greedy_note:
        print_labeled(console, "note", run_report.greedy_note, "yellow")
    for remark in run_report.details.remarks():
        print_labeled(console, *remark)
    if "test" in scores:
        print_labeled(console, "test", format_scores(scores["test"]))
    if progress.skipped:
        text = f"{counted(progress.skipped, 'step')} with a non-finite loss or gradient (see the report)"
        print_labeled(console, "skipped", text, "bold yellow")
    cost = scores.get("cost", {})
    rate, steps = cost.get("tokens_per_second"), int(cost.get("steps", 0))
    speed = f", {rate:,.0f} tokens/s" if isinstance(rate, int | float) else ""
    time = duration(float(cost.get("seconds", 0.0)))
    print_labeled(console, "took", f"{time} for {counted(steps, 'step')}{speed}")
    files = [REPORT, str(run.manifest.model), *run_report.details.drawings()]
    print_unwrapped(console, "wrote", f"{run.folder}   ({', '.join(files)})")
    verb, *option = ("generate", "--prompt") if run.experiment.use is Use.GENERATE else ("predict",)
    print_unwrapped(console, "next", command(verb, run.folder, *option, progress.example_input(run.folder)))


def _show_loss(console: Console, report: Report) -> None:
    """Draw a small loss curve if the terminal is wide enough."""
    figure = loss_figure(report)
    if figure is None or not is_live(console) or console.width < CURVE_MIN_WIDTH or len(figure.series[0].points) < 3:
        return
    lines = terminal.draw(figure, min(console.width, 100), CURVE_HEIGHT, charset_of(console.encoding))
    for line in lines[1:]:  # without the title, which the legend repeats
        console.print(Text(line, "dim"), soft_wrap=True)


def _describe_best(run: Run, progress: Progress) -> str:
    """The step or the average whose weights were kept, and its scores on the validation split."""
    scores, decode = run.scores, run.experiment.decode
    average, step, best = scores.get("averaged", {}), scores.get("best_step", 0), progress.best
    if average.get("kept"):
        weights = f"average weights of {len(average['steps'])} validations"
    else:
        weights = epoch_and_step(best.epoch, step) if best is not None and best.step == step else f"step {step:,}"
    if run.experiment.use is Use.DECODE and decode is not None and decode.beam_size > 1:
        weights += f", with a beam of {decode.beam_size}"  # validation during training is greedy
    return f"{weights}: {format_scores(scores.get('valid', {}))}"
