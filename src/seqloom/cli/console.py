"""What is printed, and how: a word at the left, what it says beside it."""

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

from seqloom.cli.errors import usual_naming
from seqloom.core.problem import render

if TYPE_CHECKING:
    from seqloom.tasks.report import Shown

PROGRAM = "seqloom"
CODE = "--code"
INDENT = 9  # columns: as wide as the longest word at the left, and a space
QUIET = 0.5  # seconds that may pass before a wait is shown


class Output(Console):
    """A console that raises when nobody reads any more: rich would end the command with an exit code of its own."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def output() -> Console:
    """Standard output. Nothing that a file or a model holds is read as markup."""
    return Output(highlight=False, markup=False, emoji=False, soft_wrap=not sys.stdout.isatty())


def errors() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def is_live(console: Console) -> bool:
    """Whether lines may be drawn over: a terminal that can do more than print."""
    return console.is_terminal and not console.is_dumb_terminal


def say(console: Console, word: str, told: str | Text, style: str = "bold cyan") -> None:
    """`corpus   9,000 texts to learn from`: what goes on is set under the beginning, where a person reads it."""
    text = told if isinstance(told, Text) else Text(render(told, usual_naming))
    if not console.is_terminal:
        console.print(Text.assemble((f"{word:<{INDENT - 1}} ", style), text))
        return
    row = Table.grid(padding=0)
    row.add_column(width=INDENT)
    row.add_column(overflow="fold")
    row.add_row(Text(word, style), text)
    console.print(row)


def say_exactly(console: Console, word: str, told: str) -> None:
    """The same for what is copied: a command or a path stays in one piece, however narrow the terminal is."""
    console.print(Text.assemble((f"{word:<{INDENT - 1}} ", "bold cyan"), render(told)), soft_wrap=True)


def show(console: Console, shown: "Shown", widest: int = 120) -> None:
    """What a task's report has for the terminal; a figure in as many columns as there are, and at most `widest`."""
    from seqloom.tasks.report import Remark
    from seqloom.views.terminal import draw
    from seqloom.views.terminal_cells import charset_of

    if isinstance(shown, Remark):
        say(console, *shown)
    elif isinstance(shown, Text):
        console.print(shown, soft_wrap=True)
    else:
        for line in draw(shown, min(console.width, widest), charset=charset_of(console.encoding)):
            console.print(Text(line), soft_wrap=True)


def block(console: Console, text: Text) -> None:
    """Some lines of text under a word."""
    console.print(Padding(text, (0, 0, 0, INDENT)) if console.is_terminal else text)


def command(*words: object) -> str:
    """A command of seqloom that can be pasted into a shell, with the code files that the present one was given.

    >>> command("predict", "runs/my run", "a text").endswith("seqloom predict 'runs/my run' 'a text'")
    True
    """
    return shlex.join([program(), *map(str, words), *(word for file in code_given() for word in (CODE, file))])


def code_given() -> Sequence[str]:
    """The code files that the present command was given."""
    context = click.get_current_context(silent=True)
    files: Sequence[str] = context.meta.get(CODE, ()) if context is not None else ()
    return files


def program() -> str:
    """The name of seqloom; its path, where the shell would not find it: beside the Python that runs."""
    beside = Path(sys.executable).with_name(PROGRAM)
    if shutil.which(PROGRAM) is not None or not beside.exists():
        return PROGRAM
    here = Path.cwd()
    return str(beside.relative_to(here) if beside.is_relative_to(here) else beside)


class Waiting:
    """A line that turns while something is waited for, once that takes long enough to be noticed."""

    def __init__(self, what: str) -> None:
        self.what, self.begun = what, time.monotonic()
        self.spinner = Spinner("dots", style="cyan")

    def line(self) -> Spinner | Text:
        """As it is now."""
        passed = time.monotonic() - self.begun
        if passed < QUIET:
            return Text()
        self.spinner.update(text=Text(f"{self.what} {passed:.0f} s" if passed >= 1 else self.what, "dim"))
        return self.spinner


@contextmanager
def waiting(console: Console, what: str) -> Iterator[None]:
    """Within: a terminal shows what is being done, and for how long."""
    if not is_live(console):
        yield
        return
    with Live(get_renderable=Waiting(what).line, console=console, transient=True, refresh_per_second=8):
        yield
