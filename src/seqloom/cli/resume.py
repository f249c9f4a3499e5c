"""`seqloom resume`: continue a run that was stopped."""

import rich_click as click

from seqloom.cli.console import command, output, say, say_exactly
from seqloom.cli.help import Command


@click.command(cls=Command, short_help="Continue a run that was stopped.")
@click.argument("run", metavar="RUN")
@click.option(
    "--data",
    "moved",
    metavar="PATH",
    multiple=True,
    help="Where the data files are now, if they were moved (repeatable).",
)
@click.option(
    "--device", metavar="WORD", help="Where to compute: auto, cpu, cuda or mps. [the device that the run began with]"
)
def resume(run: str, moved: tuple[str, ...], device: str | None) -> None:
    """Continue a run from its last checkpoint, however it was stopped.

    A run goes on bit for bit, as if it had never been stopped, on the device it began with (on a GPU, if it is
    --train.deterministic). The data files must not have changed; if they were moved, --data says where they are now.

    \b
    Examples:
      $ seqloom resume runs/reviews
      $ seqloom resume runs/reviews --data /mnt/new/reviews.csv
      $ seqloom resume runs/reviews --device cpu
    """
    from seqloom import api
    from seqloom.cli.progress import Progress

    console = output()
    with Progress(console) as progress:
        done = api.resume(run, moved, [progress], device)
    if progress.session is None:
        say(console, "finished", f"{run} is complete: there is nothing left to do")
        say_exactly(console, "next", command("report", run))
    else:
        from seqloom.cli.run_summary import show_ending

        show_ending(console, done, progress)
