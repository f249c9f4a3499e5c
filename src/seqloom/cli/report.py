"""`seqloom report`: the report page of a run."""

from pathlib import Path

import rich_click as click

from seqloom.cli.console import print_unwrapped, stdout
from seqloom.cli.help import Command


@click.command(cls=Command, short_help="Build a run's report.html again.")
@click.argument("run", metavar="RUN")
def report(run: str) -> None:
    """Build report.html from the files of a run, and print a summary. A run that crashed can have a report too.

    The page is one file that needs no network, with curves, samples, confusion matrix, worst examples and cost. For a
    model with attention, attention.svg is drawn again.

    \b
    Example:
      $ seqloom report runs/reviews
    """
    from seqloom.core.run_format import REPORT
    from seqloom.lens.report import write_report

    folder, console = Path(run), stdout()
    summary = write_report(folder)
    for line in summary.lines(min(console.width, 100) if console.is_terminal else 100):
        console.print(line, soft_wrap=True)
    console.print()
    files = [str(folder / name) for name in (REPORT, *summary.details.drawings())]
    print_unwrapped(console, "wrote", ", ".join(files))
