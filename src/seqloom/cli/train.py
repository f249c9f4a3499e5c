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
    chosen = request.experiment()
    console = output()
    with waiting(console, "starting torch …"):
        from seqloom import verbs
        from seqloom.cli.dry_run import show_estimate
        from seqloom.cli.ending import show_ending
        from seqloom.cli.introduction import introduce, reading
        from seqloom.cli.progress import Progress
        from seqloom.runs.making import free_name, refuse_taken
        from seqloom.training import session
        from seqloom.training.estimate import estimate
        from seqloom.training.session import Sitting
    folder = Path(own["out"]) if own["out"] else free_name(Path("runs"), chosen.task)
    if not own["dry_run"]:
        refuse_taken(folder)  # before the data are read, which may take long
    with waiting(console, reading(chosen)):
        sitting = Sitting.of(chosen)
    if own["dry_run"]:
        with waiting(console, "taking a few steps to measure them …"):
            measured = estimate(sitting)
        show_estimate(console, sitting, measured)
        return
    introduce(console, sitting)
    with Progress(console) as progress:
        run = verbs.reported(folder, lambda: session.begin(sitting, folder, [progress]))
    show_ending(console, run, sitting.task, progress)


train = TaskCommand(
    "train",
    "Train a model on your files, or on an embedded corpus.",
    work,
    [
        RichOption(["--out"], metavar="DIR", help="The run's folder. [runs/TASK-DATE-TIME]"),
        RichOption(
            ["--dry-run"],
            is_flag=True,
            help="Show the config, the size, the time and memory it would take and the first batch; write no run.",
        ),
    ],
)
