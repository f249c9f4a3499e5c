"""`seqloom runs`: list the runs in a folder."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click
from rich.text import Text

from seqloom.cli.console import CODE, code_files, command, print_labeled, print_unwrapped, stdout
from seqloom.cli.help import Command
from seqloom.core.problem import format_problem

if TYPE_CHECKING:
    from seqloom.runs.run_list import RunSummary

MIN_FULL_WIDTH = 110  # characters; a narrower terminal shows fewer columns
HEADER = ("run", "task", "model", "score", "parameters", "size", "date", "state")
MARGIN_MARK = "*"  # at a score that did not select the best weights alone
MAX_NAME = 20  # characters of a task or a model


@click.command(cls=Command, short_help="List the runs here: task, model, score, size, date.")
@click.argument("folder", metavar="[FOLDER]", default="runs")
def runs(folder: str) -> None:
    """List the runs in a folder (default: runs), with their scores, and whether they are finished.

    A damaged run is listed with its problem. Weights are not read: `seqloom predict` verifies them.

    \b
    Examples:
      $ seqloom runs
      $ seqloom runs experiments/2026
    """
    from seqloom.lens.report import describe_margin
    from seqloom.runs.run_list import list_runs
    from seqloom.tasks.registry import TASKS
    from seqloom.views.figure import Table
    from seqloom.views.terminal import charset_of, draw

    console = stdout()
    if folder == "runs" and not Path(folder).exists():
        print_labeled(console, "none", "there are no runs here yet")
        print_unwrapped(console, "next", command("train", next(iter(TASKS))))
        return
    summaries = list_runs(folder)
    readable = [run for run in summaries if run.task]
    if readable:
        width = console.width if console.is_terminal else 200
        wide = width >= MIN_FULL_WIDTH
        header = HEADER if wide else tuple(name for name in HEADER if name != "parameters")
        table = Table("", header, tuple(cells(run, wide) for run in readable))
        for line in draw(table, width, charset=charset_of(console.encoding))[1:]:
            console.print(Text(line), soft_wrap=True)
    for margin in sorted({run.loss_margin for run in readable if run.loss_margin is not None}):
        print_labeled(console, MARGIN_MARK, f"selected among validations {describe_margin(margin)}")
    for run in summaries:
        if run.problem is not None:
            print_labeled(console, "damaged", format_problem(run.problem), "bold red")
    # A run with `model=build`, or with parts that a notebook defines, can only be resumed in Python.
    resumable = [run for run in readable if all(part.file and part.kind != "model" for part in run.parts)]
    if unfinished := [run for run in resumable if not run.finished and run.problem is None]:
        run = unfinished[-1]
        files = dict.fromkeys(part.file for part in run.parts)
        code = () if code_files() else [word for file in files for word in (CODE, file)]
        print_unwrapped(console, "next", command("resume", run.folder, *code))
    if not summaries:
        print_labeled(console, "none", f"no folder in {folder} is a run")


def cells(run: "RunSummary", wide: bool) -> tuple[str, ...]:
    """A row of the table. A narrow row has no parameter count, and a shorter date and state."""
    from seqloom.tasks.metrics.registry import readable
    from seqloom.views.format import byte_size, rounded, shorten

    names = (run.name, *(shorten(name, MAX_NAME) for name in (run.task, run.model)))
    score = "–" if run.score is None else f"{readable(run.score[0])} {rounded(run.score[1])}"
    score += f" {MARGIN_MARK}" * (run.loss_margin is not None)
    size, date, state = byte_size(run.size), local_date(run.created), state_of(run)
    if not wide:
        return (*names, score, size, date[5:10], state.removeprefix("unfinished at "))
    return (*names, score, f"{run.parameters:,}" if run.parameters else "–", size, date, state)


def state_of(run: "RunSummary") -> str:
    if run.problem is not None:
        return "damaged"
    if run.finished:
        return "finished"
    return "not begun" if run.step is None else f"unfinished at step {run.step:,}"


def local_date(created: str) -> str:
    """Date and time in the local time zone; – if it is not a date.

    >>> local_date("not a date")
    '–'
    """
    try:
        return f"{datetime.fromisoformat(created).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, TypeError, OverflowError):
        return "–"
