"""`seqloom resume`: continue a run that was stopped."""

import rich_click as click

from seqloom.cli.console import command, print_labeled, print_unwrapped, stdout
from seqloom.cli.help import Command

DATA_HELP = "Where the data files are now, if they were moved (repeatable)."
DEVICE_HELP = "The device to compute on: auto, cpu, cuda or mps. [the device on which the run started]"


@click.command(cls=Command, short_help="Continue a run that was stopped.")
@click.argument("run", metavar="RUN")
@click.option("--data", metavar="PATH", multiple=True, help=DATA_HELP)
@click.option("--device", metavar="WORD", help=DEVICE_HELP)
def resume(run: str, data: tuple[str, ...], device: str | None) -> None:
    """Continue a run from its last checkpoint, whether it was stopped, killed or crashed.

    On the device on which it started, the run ends bit for bit as if it had never stopped (on a GPU, with
    --train.deterministic). The data files must be unchanged; if they were moved, --data says where they are now.

    \b
    Examples:
      $ seqloom resume runs/reviews
      $ seqloom resume runs/reviews --data /mnt/new/reviews.csv
      $ seqloom resume runs/reviews --device cpu
    """
    from seqloom import api
    from seqloom.cli.progress import Progress

    console = stdout()
    with Progress(console) as progress:
        result = api.resume(run, data, [progress], device)
    if progress.session is None:
        print_labeled(console, "finished", f"{run} is complete: there is nothing left to do")
        print_unwrapped(console, "next", command("report", run))
    else:
        from seqloom.cli.run_summary import show_results

        show_results(console, result, progress)
