"""The prose of the help: what each task is and does, and examples that work."""

import re
from collections.abc import Iterator
from inspect import cleandoc
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text
from rich_click import RichGroup

from seqloom.cli.resolve import CodeCommand
from seqloom.tasks.registry import TASKS

if TYPE_CHECKING:
    import click
    from rich_click import RichContext, RichHelpFormatter


NOTES = {
    "train": "Makes a run: a folder with the model, its config, its scores and a report. No file is ever overwritten. "
    "Stop it with Ctrl-C at any moment; `seqloom resume` continues where it was.",
    "check": "Reads the data as training would, and reports problems with file and line before you train. Options of "
    "`seqloom train` that have nothing to do with data are accepted too, and ignored.",
    "init": "Writes a commented experiment.toml with every key of this task, to edit and then train with "
    "`seqloom train --config experiment.toml`. It never overwrites a file.",
}


def taught(name: str, task: str | None, summary: str) -> str:
    """The help of a command: on one task, or on all of them. A paragraph behind \\b keeps its lines."""
    if task is None or task not in TASKS:
        told = [
            (f"  {task:<10}{each.summary}", f"{'':12}reads {each.data_spec.description}")
            for task, each in TASKS.items()
        ]
        lines = "\n".join(line for both in told for line in both)
        examples = "\n".join(f"  $ seqloom {name} {task} {each.config.help.file}" for task, each in TASKS.items())
        more = f"`seqloom {name} TASK --help` shows the options of a task and their defaults."
        return "\n\n".join([summary, NOTES[name], f"\b\nTasks:\n{lines}", f"\b\nExamples:\n{examples}", more])
    examples = "\n".join(f"  $ {line}" for line in example_lines(name, task))
    more = (
        "Options may stand in any position; the value `none` turns off one that is optional. The default for this task "
        "is in brackets."
    )
    return "\n\n".join([TASKS[task].config.help.paragraph, NOTES[name], f"\b\nExamples:\n{examples}", more])


def example_lines(name: str, task: str) -> list[str]:
    """Commands to begin with."""
    shown, start = TASKS[task].config.help, f"seqloom {name} {task}"
    lines = [f"{start} {shown.file}", f"{start} {shown.file} {shown.option}", f"{start} {shown.more}"]
    if name == "train":
        lines.insert(0, f"{start:<40} # no file: an embedded corpus")
        lines.append(f"{start} {shown.file} --dry-run")
    return lines


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
