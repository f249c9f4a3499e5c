"""`seqloom resume`: continue a run that was stopped."""

from pathlib import Path

import rich_click as click

from seqloom.cli.console import command, output, say, say_exactly, waiting
from seqloom.cli.help_text import Command


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
    from seqloom.cli.early import refuse_device
    from seqloom.runs.recorded_parts import open_manifest_to_resume
    from seqloom.spec.folder import SCORES

    folder, console = Path(run), output()
    open_manifest_to_resume(folder)
    if device is not None:
        refuse_device(device)
    if (folder / SCORES).exists():
        say(console, "finished", f"{folder} is complete: there is nothing left to do")
        say_exactly(console, "next", command("report", folder))
        return
    with waiting(console, "starting torch …"):
        from seqloom import verbs
        from seqloom.cli.ending import show_ending
        from seqloom.cli.introduction import introduce, reading
        from seqloom.cli.progress import Progress
        from seqloom.data.source import DataSource
        from seqloom.runs.run import read_experiment
        from seqloom.training import session
    chosen = session.on_device(session.with_data(read_experiment(folder), folder, moved), folder, device)
    source = DataSource.resolve(chosen.data, chosen.reads)
    with waiting(console, reading(source)):
        sitting = session.Sitting.of(chosen, source)
    introduce(console, sitting)
    with Progress(console) as progress:
        done = verbs.reported(folder, lambda: session.go_to_the_end(sitting, folder, [progress]))
    show_ending(console, done, sitting, progress)
