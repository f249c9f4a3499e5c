"""Commands whose help has a paragraph or two and examples that keep their lines."""

import re
from collections.abc import Iterator
from inspect import cleandoc
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text
from rich_click import RichGroup

from seqloom.cli.code_command import CodeCommand

if TYPE_CHECKING:
    import click
    from rich_click import RichContext, RichHelpFormatter

KEEP_LINES = "\b"  # click's sign: the paragraph that it begins is not wrapped


class Command(CodeCommand):
    """A command with such a help."""

    def format_help_text(self, ctx: "RichContext", formatter: "RichHelpFormatter") -> None:  # type: ignore[override]
        """What the command does, and examples."""
        write_text(self.help or "", formatter)

    def get_help(self, ctx: "click.Context") -> str:
        """The whole help."""
        return without_padding(super().get_help(ctx))


class Group(RichGroup):
    """All commands, in the order in which a person needs them."""

    def format_help_text(self, ctx: "RichContext", formatter: "RichHelpFormatter") -> None:  # type: ignore[override]
        """What the program does, and examples."""
        write_text(self.help or "", formatter)

    def get_help(self, ctx: "click.Context") -> str:
        """The whole help."""
        return without_padding(super().get_help(ctx))

    def list_commands(self, ctx: "click.Context") -> list[str]:
        """As they were added, not by the alphabet."""
        return list(self.commands)


def without_padding(told: str) -> str:
    """Lines without the spaces that fill them up to the terminal's width."""
    return "\n".join(line.rstrip() for line in told.splitlines())


def write_text(told: str, formatter: "RichHelpFormatter") -> None:
    """Paragraphs, each followed by an empty line."""
    for text in paragraphs(told):
        formatter.write(Padding(text, (0, 1, 1, 1)))


def paragraphs(told: str) -> Iterator[Text]:
    """Those that begin with KEEP_LINES as they are, others in one line for the terminal to wrap."""
    for paragraph in cleandoc(told).split("\n\n"):
        if paragraph.startswith(KEEP_LINES):
            yield shown(paragraph.removeprefix(KEEP_LINES).strip("\n"))
        else:
            yield shown(" ".join(paragraph.split()))


def shown(paragraph: str) -> Text:
    """Commands stand out from prose."""
    text = Text(paragraph)
    text.highlight_regex(r"(?m)(?<=^  \$ ).*?(?= +#|$)", "bold cyan")
    text.highlight_regex(r"(?m) +# .*$", "dim")
    text.highlight_regex(re.compile(r"`[^`]+`"), "cyan")
    text.highlight_regex(r"(?m)^\w+:$", "bold")
    return text
