"""`seqloom runs`: the runs of a folder, without opening a model."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click
from rich.text import Text

from seqloom.cli.console import CODE, code_files, command, output, say, say_exactly
from seqloom.cli.help import Command
from seqloom.core.problem import format_problem

if TYPE_CHECKING:
    from seqloom.runs.run_list import RunSummary

DAMAGED = "damaged"
WIDE = 110  # columns: with fewer, the table has less to say
HEADER = ("run", "task", "model", "score", "parameters", "size", "date", "state")
SHORT_HEADER = ("run", "task", "model", "score", "size", "date", "state")
LONGEST = 20  # characters of a name that the folder gives


@click.command(cls=Command, short_help="List the runs here: task, model, score, size, date.")
@click.argument("folder", metavar="[FOLDER]", default="runs")
def runs(folder: str) -> None:
    """List the runs in a folder (runs, unless another is named): what each is, its score, and whether it is finished.

    A folder that is damaged is listed too, with what is wrong. Weights are not opened: `seqloom predict` checks them.

    \b
    Examples:
      $ seqloom runs
      $ seqloom runs experiments/2026
    """
    from seqloom.runs.run_list import list_runs
    from seqloom.tasks.registry import TASKS
    from seqloom.views.figure import Table
    from seqloom.views.terminal import draw
    from seqloom.views.terminal_cells import charset_of

    console = output()
    if folder == "runs" and not Path(folder).exists():
        say(console, "none", "there are no runs here yet")
        say_exactly(console, "next", command("train", next(iter(TASKS))))
        return
    listed = list_runs(folder)
    known = [run for run in listed if run.task]
    if known:
        wide = not console.is_terminal or console.width >= WIDE
        rows = tuple(cells(run) if wide else short_cells(run) for run in known)
        width = console.width if console.is_terminal else 200
        table = Table("", HEADER if wide else SHORT_HEADER, rows)
        for line in draw(table, width, charset=charset_of(console.encoding))[1:]:
            console.print(Text(line), soft_wrap=True)
    for run in listed:
        if run.problem is not None:
            say(console, DAMAGED, format_problem(run.problem), "bold red")
    for run in [run for run in known if not run.finished and run.problem is None and is_resumable(run)][-1:]:
        files = dict.fromkeys(part.file for part in run.parts)
        code = () if code_files() else [word for file in files for word in (CODE, file)]
        say_exactly(console, "next", command("resume", run.folder, *code))
    if not listed:
        say(console, "none", f"no folder in {folder} is a run")


def is_resumable(run: "RunSummary") -> bool:
    """Whether the command line can go on with a run: one that was made with `model=build` goes on in Python."""
    return all(part.file and part.kind != "model" for part in run.parts)


def cells(run: "RunSummary") -> tuple[str, ...]:
    """All that a wide table has."""
    from seqloom.views.format import byte_size, clip, one_line

    names = (run.name, *(one_line(clip(name, LONGEST)) for name in (run.task, run.model)))
    parameters = f"{run.parameters:,}" if run.parameters else "–"
    return (*names, score_words(run), parameters, byte_size(run.size), day(run.created), state(run))


def short_cells(run: "RunSummary") -> tuple[str, ...]:
    """What a narrow terminal has room for."""
    name, task, model, score, _, size, date, state = cells(run)
    return (name, task, model, score, size, date[5:10], state.removeprefix("unfinished at "))


def score_words(run: "RunSummary") -> str:
    """Its name and value."""
    from seqloom.tasks.metrics.registry import readable
    from seqloom.views.format import short

    return "–" if run.score is None else f"{readable(run.score[0])} {short(run.score[1])}"


def state(run: "RunSummary") -> str:
    """How far it has come."""
    if run.problem is not None:
        return DAMAGED
    if run.finished:
        return "finished"
    return "not begun" if run.step is None else f"unfinished at step {run.step:,}"


def day(created: str) -> str:
    """In the person's own time.

    >>> day("not a date")
    '–'
    """
    try:
        return f"{datetime.fromisoformat(created).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, TypeError, OverflowError):
        return "–"
