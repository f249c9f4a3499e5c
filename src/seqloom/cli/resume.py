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
def resume(run: str, moved: tuple[str, ...]) -> None:
    """Continue a run from its last checkpoint, however it was stopped.

    On a CPU the result is the same, bit for bit, as if it had never been stopped. The data files must not have changed;
    if they were moved, --data says where they are now.

    \b
    Examples:
      $ seqloom resume runs/reviews
      $ seqloom resume runs/reviews --data /mnt/new/reviews.csv
    """
    from seqloom.spec.folder import SCORES, check

    folder, console = Path(run), output()
    check(folder)
    if (folder / SCORES).exists():
        say(console, "finished", f"{folder} is complete: there is nothing left to do")
        say_exactly(console, "next", command("seqloom", "report", folder))
        return
    with waiting(console, "starting torch …"):
        from seqloom import verbs
        from seqloom.cli.ending import show_ending
        from seqloom.cli.introduction import introduce, reading
        from seqloom.cli.progress import Progress
        from seqloom.runs.run import read_experiment
        from seqloom.training import session
    chosen = session.with_data(read_experiment(folder), folder, moved)
    with waiting(console, reading(chosen)):
        sitting = session.Sitting.of(chosen)
    introduce(console, sitting)
    with Progress(console) as progress:
        done = verbs.reported(folder, lambda: session.go_to_the_end(sitting, folder, [progress]))
    show_ending(console, done, sitting.task, progress)
