"""`seqloom train`: from a file to a run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich_click import RichOption

from seqloom.cli.config_options import TaskCommand
from seqloom.cli.console import output

if TYPE_CHECKING:
    from seqloom.cli.resolve import Request


def work(request: "Request", own: Mapping[str, object]) -> None:
    """Train, or estimate what that would cost."""
    from seqloom import api
    from seqloom.cli.progress import Progress

    chosen, out, console = request.experiment(), own["out"] or None, output()
    assert out is None or isinstance(out, str)
    with Progress(console) as progress:
        if not own["dry_run"]:
            run = api.start(chosen, out, [progress])
        else:
            session = api.prepare(chosen, out, [progress])
            progress.wait("taking a few steps to measure them …")
            from seqloom.training.estimate import estimate

            measured = estimate(session)
    from seqloom.cli.run_summary import show_ending, show_estimate

    if own["dry_run"]:
        show_estimate(console, session, measured)
    else:
        show_ending(console, run, progress)


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
