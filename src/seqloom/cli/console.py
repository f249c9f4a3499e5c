"""How commands print: labeled lines, figures, and a spinner during a slow step."""

import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.live import Live
from rich.padding import Padding
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from seqloom.cli.errors import as_option
from seqloom.core.problem import render

if TYPE_CHECKING:
    from seqloom.tasks.task_report import TerminalItem

PROGRAM = "seqloom"
CODE = "--code"
INDENT = 9  # columns of a label: the longest word, and a space
SPINNER_DELAY = 0.5  # seconds


class Output(Console):
    """A console that raises when the reader of a pipe has closed it; rich would exit with its own exit code."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def stdout() -> Console:
    """Standard output. Text from a file or a model is never read as markup."""
    return Output(highlight=False, markup=False, emoji=False, soft_wrap=not sys.stdout.isatty())


def stderr() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def is_live(console: Console) -> bool:
    """Whether the output is a terminal that can redraw a line."""
    return console.is_terminal and not console.is_dumb_terminal


def print_labeled(console: Console, label: str, text: str | Text, style: str = "bold cyan") -> None:
    """Print `label    text`; on a terminal, the text wraps to the right of the label."""
    text = text if isinstance(text, Text) else Text(render(text, as_option))
    if not console.is_terminal:
        console.print(Text.assemble((f"{label:<{INDENT - 1}} ", style), text))
        return
    row = Table.grid(padding=0)
    row.add_column(width=INDENT)
    row.add_column(overflow="fold")
    row.add_row(Text(label, style), text)
    console.print(row)


def print_unwrapped(console: Console, label: str, text: str) -> None:
    """Print `label    text` without wrapping, for a command or a path that the user copies."""
    console.print(Text.assemble((f"{label:<{INDENT - 1}} ", "bold cyan"), render(text)), soft_wrap=True)


def print_indented(console: Console, text: Text) -> None:
    """Print text below a label."""
    console.print(Padding(text, (0, 0, 0, INDENT)) if console.is_terminal else text)


def print_item(console: Console, item: "TerminalItem", max_width: int = 120) -> None:
    """Print what a task's report has for the terminal: a labeled line, a line, or a figure."""
    from seqloom.tasks.task_report import Remark
    from seqloom.views.terminal import charset_of, draw

    if isinstance(item, Remark):
        print_labeled(console, *item)
    elif isinstance(item, Text):
        console.print(item, soft_wrap=True)
    else:
        for line in draw(item, min(console.width, max_width), charset=charset_of(console.encoding)):
            console.print(Text(line), soft_wrap=True)


def command(*words: object) -> str:
    """A seqloom command to paste into a shell, with the --code files of the current command.

    >>> command("predict", "runs/my run", "a text").endswith("seqloom predict 'runs/my run' 'a text'")
    True
    """
    return shlex.join([program(), *map(str, words), *(word for file in code_files() for word in (CODE, file))])


def code_files() -> Sequence[str]:
    """The --code files of the current command."""
    context = click.get_current_context(silent=True)
    files: Sequence[str] = context.meta.get(CODE, ()) if context is not None else ()
    return files


def program() -> str:
    """`seqloom`, or its path if the shell would not find it."""
    path = Path(sys.executable).with_name(PROGRAM)
    if shutil.which(PROGRAM) is not None or not path.exists():
        return PROGRAM
    cwd = Path.cwd()
    return str(path.relative_to(cwd) if path.is_relative_to(cwd) else path)


class TimedSpinner:
    """A spinner with a message and the elapsed time; empty for the first `SPINNER_DELAY` seconds."""

    def __init__(self, message: str) -> None:
        self.message, self.start = message, time.monotonic()
        self.spinner = Spinner("dots", style="cyan")

    def line(self) -> Spinner | Text:
        seconds = time.monotonic() - self.start
        if seconds < SPINNER_DELAY:
            return Text()
        self.spinner.update(text=Text(f"{self.message} {seconds:.0f} s" if seconds >= 1 else self.message, "dim"))
        return self.spinner


@contextmanager
def show_spinner(console: Console, message: str) -> Iterator[None]:
    """Show a spinner within the block, on a terminal."""
    if not is_live(console):
        yield
        return
    with Live(get_renderable=TimedSpinner(message).line, console=console, transient=True, refresh_per_second=8):
        yield
