"""`seqloom report`: what happened in a run, as a page."""

from pathlib import Path

import rich_click as click

from seqloom.cli.console import output, say_exactly
from seqloom.cli.help import Command


@click.command(cls=Command, short_help="Build a run's report.html again.")
@click.argument("run", metavar="RUN")
def report(run: str) -> None:
    """Build report.html from what is in a run's folder, and show a summary here.

    The page is one file that needs no network: curves, samples, which labels were confused, the worst mistakes, the
    cost. It can be built for a run that crashed, too. A run that looks at what it reads gets its attention.svg again.

    \b
    Example:
      $ seqloom report runs/reviews
    """
    from seqloom.core.run_format import REPORT
    from seqloom.lens.report import write_report

    folder, console = Path(run), output()
    found = write_report(folder)
    for line in found.lines(min(console.width, 100)):
        console.print(line, soft_wrap=True)
    console.print()
    say_exactly(console, "wrote", ", ".join(str(folder / name) for name in (REPORT, *found.details.drawings())))
