"""`seqloom`: the commands, the exit codes, and errors as one sentence."""

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
from seqloom.cli.console import stderr
from seqloom.cli.doctor import doctor
from seqloom.cli.errors import BROKEN_PIPE, failure
from seqloom.cli.evaluate import evaluate
from seqloom.cli.generate import generate
from seqloom.cli.help import Group
from seqloom.cli.init import init
from seqloom.cli.list_command import list_command
from seqloom.cli.predict import predict
from seqloom.cli.report import report
from seqloom.cli.resume import resume
from seqloom.cli.runs import runs
from seqloom.cli.train import train

GROUPS = {
    "Train": (train, resume, check, init),
    "Use a run": (predict, generate, evaluate, report, runs),
    "Information": (list_command, doctor),
}
HELP_STYLE = RichHelpConfiguration(
    theme="default-slim",
    text_markup=None,
    max_width=100,
    options_table_column_types=["opt_all_metavar", "help"],
    commands_before_options=True,
)


@click.group(
    cls=Group,
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"], "rich_help_config": HELP_STYLE},
)
@click.version_option(__version__, prog_name="seqloom", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.RichContext) -> None:
    """Train neural sequence models, from the RNN to the Transformer, on your own files; then evaluate and use them.

    \b
      $ seqloom train classify reviews.csv
      $ seqloom predict runs/classify-… "A fine film."

    Without a file, `seqloom train TASK` trains on an embedded corpus. `seqloom COMMAND --help` explains a command.

    Exit codes: 0 for success, 2 for invalid input, 1 for internal errors.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for heading, commands in GROUPS.items():
    for command in commands:
        command.panel = heading
        cli.add_command(command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. An error is one sentence on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that the encoding lacks is no reason to fail
    # A waiting OpenMP thread spins before it sleeps. The default spins so long that, when other processes use the
    # machine, it takes the CPU from the thread that it waits for (10x slower). Fewer spins cost nothing otherwise.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    try:
        code = cli.main(list(argv) if argv is not None else None, prog_name="seqloom", standalone_mode=False)
        sys.stdout.flush()
    except SystemExit as exit_:  # click exits by itself when the reader of a pipe is gone
        code = BROKEN_PIPE if type(sys.stdout).__name__ == "PacifyFlushWrapper" else exit_.code
    except (Exception, KeyboardInterrupt) as error:
        sentence, code = failure(error)
        with contextlib.suppress(OSError, ValueError):
            if sentence is not None:
                stderr().print(Text.assemble(("seqloom: ", "bold red"), sentence))
            else:  # the reader of the pipe is gone: discard what is flushed at exit
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code if isinstance(code, int) else 0
