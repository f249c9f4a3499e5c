"""`seqloom`: the commands, and what happens when one fails."""

import contextlib
import io
import os
import sys
from collections.abc import Sequence

import rich_click as click
from rich.text import Text
from rich_click import RichHelpConfiguration

from seqloom import __version__
from seqloom.cli.check import check
from seqloom.cli.console import errors
from seqloom.cli.doctor import doctor
from seqloom.cli.errors import NO_READER, failure
from seqloom.cli.evaluate import evaluate
from seqloom.cli.generate import generate
from seqloom.cli.help import Group
from seqloom.cli.init import init
from seqloom.cli.list_command import listing
from seqloom.cli.predict import predict
from seqloom.cli.report import report
from seqloom.cli.resume import resume
from seqloom.cli.runs import runs
from seqloom.cli.train import train

GROUPS = {
    "Train": (train, resume, check, init),
    "Use a run": (predict, generate, evaluate, report, runs),
    "Look around": (listing, doctor),
}
LOOK = RichHelpConfiguration(
    theme="default-slim",
    text_markup=None,
    max_width=100,
    options_table_column_types=["opt_all_metavar", "help"],
    commands_before_options=True,
)


@click.group(
    cls=Group,
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"], "rich_help_config": LOOK},
)
@click.version_option(__version__, prog_name="seqloom", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.RichContext) -> None:
    """Neural sequence models, from the RNN to the Transformer, trained on your own files.

    \b
      $ seqloom train classify reviews.csv
      $ seqloom predict runs/classify-… "A fine film."

    No file at hand? `seqloom train language` learns from an embedded corpus.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for heading, commands in GROUPS.items():
    for each in commands:
        each.panel = heading
        cli.add_command(each)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. What goes wrong is one sentence on standard error."""
    for stream in (sys.stdout, sys.stderr):
        forgiving(stream)
    # A thread that waits spins for a while before it sleeps: for so long, by default, that it starves the one it waits
    # for where others use the machine too (a tenth of the speed). Less costs nothing where nobody else does.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    try:
        code = cli.main(list(argv) if argv is not None else None, prog_name="seqloom", standalone_mode=False)
        sys.stdout.flush()
    except SystemExit as end:  # click's own, when nobody reads any more
        is_unread = type(sys.stdout).__name__ == "PacifyFlushWrapper"
        code = NO_READER if is_unread else end.code
    except (Exception, KeyboardInterrupt) as wrong:
        sentence, code = failure(wrong)
        with contextlib.suppress(OSError):
            if sentence is not None:
                errors().print(Text.assemble(("seqloom: ", "bold red"), sentence))
        if sentence is None:
            mute()
    return code if isinstance(code, int) else 0


def forgiving(stream: object) -> None:
    """A character that the terminal's encoding lacks is shown as ?, not a reason to fail."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def mute() -> None:
    """Nobody reads any more: what is left to flush at the end goes nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
