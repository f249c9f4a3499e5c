"""`seqloom train`: train a model, or estimate the cost of training."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich_click import RichOption

from seqloom.cli.config_options import TaskCommand
from seqloom.cli.console import stdout

if TYPE_CHECKING:
    from seqloom.cli.resolve import Request

DRY_RUN_HELP = "Print the size, time and memory of the run, a batch and the config; write nothing."


def run(request: "Request", options: Mapping[str, Any]) -> None:
    """Train, or estimate what training would cost."""
    from seqloom import api
    from seqloom.cli.progress import Progress

    config, out, console = request.experiment(), options["out"] or None, stdout()
    with Progress(console) as progress:
        if not options["dry_run"]:
            result = api.start(config, out, [progress])
        else:
            session = api.prepare(config, out, [progress])
            progress.show_waiting("taking a few steps to measure them …")
            from seqloom.training.estimate import estimate

            cost = estimate(session)
    from seqloom.cli.run_summary import show_estimate, show_results

    if options["dry_run"]:
        show_estimate(console, session, cost)
    else:
        show_results(console, result, progress)


train = TaskCommand(
    "train",
    "Train a model on your files, or on an embedded corpus.",
    run,
    [
        RichOption(["--out"], metavar="DIR", help="The run's folder. [runs/TASK-DATE-TIME]"),
        RichOption(["--dry-run"], is_flag=True, help=DRY_RUN_HELP),
    ],
)
