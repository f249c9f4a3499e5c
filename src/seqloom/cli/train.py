"""`seqloom train`: from a file to a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich_click import RichOption

from seqloom.cli.console import output, waiting
from seqloom.cli.task_command import TaskCommand

if TYPE_CHECKING:
    from seqloom.cli.request import Request


def work(request: "Request", own: Mapping[str, Any]) -> None:
    """Resolve the experiment, read the data, learn, and say how it went."""
    from seqloom.data.source import DataSource
    from seqloom.runs.places import RUNS, claim, free_name, refuse_taken

    chosen, console = request.experiment(), output()
    named = Path(own["out"]) if own["out"] else None
    refuse_taken(named or free_name(RUNS, chosen.task))
    source = DataSource.resolve(chosen.data, chosen.reads)  # a file that can't be read is refused at once
    with waiting(console, "starting torch …"):
        from seqloom import verbs
        from seqloom.cli.dry_run import show_estimate
        from seqloom.cli.ending import show_ending
        from seqloom.cli.introduction import introduce, reading
        from seqloom.cli.progress import Progress
        from seqloom.training import session
        from seqloom.training.estimate import estimate
        from seqloom.training.session import Sitting
    with waiting(console, reading(source)):
        sitting = Sitting.of(chosen, source)
    introduce(console, sitting)
    if own["dry_run"]:
        with waiting(console, "taking a few steps to measure them …"):
            measured = estimate(sitting)
        show_estimate(console, sitting, measured)
        return
    folder = named or claim(RUNS, chosen.task)
    with Progress(console) as progress:
        run = verbs.reported(folder, lambda: session.begin(sitting, folder, [progress]))
    show_ending(console, run, sitting, progress)


train = TaskCommand(
    "train",
    "Train a model on your files, or on an embedded corpus.",
    work,
    [
        RichOption(["--out"], metavar="DIR", help="The run's folder. [runs/TASK-DATE-TIME]"),
        RichOption(
            ["--dry-run"],
            is_flag=True,
            help="Show the size of the run, the time and memory it would take, a batch and the config; write nothing.",
        ),
    ],
)
