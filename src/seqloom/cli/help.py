"""The help texts of commands: paragraphs, the tasks, and example commands."""

import re
from inspect import cleandoc
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text
from rich_click import RichCommand, RichGroup

from seqloom.cli.resolve import CodeCommand
from seqloom.tasks.registry import TASKS

if TYPE_CHECKING:
    import click
    from rich_click import RichContext, RichHelpFormatter

NOTES = {
    "train": "Creates a run: a folder with the model, its config, its scores and a report. It never overwrites a "
    "file. You can stop it with Ctrl-C at any time and continue it with `seqloom resume`.",
    "check": "Reads the data as `seqloom train` does, and reports problems with their file and line. Options of "
    "`seqloom train` that do not concern the data are accepted and ignored.",
    "init": "Writes a commented experiment.toml with every key of this task. Edit it, then train with "
    "`seqloom train --config experiment.toml`. It never overwrites a file.",
}


def task_help(command: str, task: str | None, summary: str) -> str:
    """The help text of a command for one task, or for all. Click does not wrap a paragraph that begins with \\b."""
    if task is None or task not in TASKS:
        lines = "\n".join(
            f"  {name:<10}{entry.summary}\n{'':12}reads {entry.data_spec.description}" for name, entry in TASKS.items()
        )
        paragraphs = [summary, NOTES[command], f"\b\nTasks:\n{lines}"]
        examples = [f"seqloom {command} {name} {entry.config.help.file}" for name, entry in TASKS.items()]
        closing = f"`seqloom {command} TASK --help` lists the options of a task and their defaults."
    else:
        paragraphs, examples = [TASKS[task].config.help.paragraph, NOTES[command]], example_lines(command, task)
        closing = "Options may be in any position. The value `none` unsets an optional key. Defaults are in brackets."
    commands = "\n".join(f"  $ {line}" for line in examples)
    return "\n\n".join([*paragraphs, f"\b\nExamples:\n{commands}", closing])


def example_lines(command: str, task: str) -> list[str]:
    example, start = TASKS[task].config.help, f"seqloom {command} {task}"
    lines = [f"{start} {example.file}", f"{start} {example.file} {example.option}", f"{start} {example.more}"]
    if command == "train":
        lines = [f"{start:<40} # no file: an embedded corpus", *lines, f"{start} {example.file} --dry-run"]
    return lines


class _FormattedHelp(RichCommand):
    """A command whose help text keeps the lines of examples and highlights commands."""

    def format_help_text(self, ctx: "RichContext", formatter: "RichHelpFormatter") -> None:  # type: ignore[override]
        for paragraph in cleandoc(self.help or "").split("\n\n"):
            keeps_lines = paragraph.startswith("\b")
            text = Text(paragraph.removeprefix("\b").strip("\n") if keeps_lines else " ".join(paragraph.split()))
            text.highlight_regex(r"(?m)(?<=^  \$ ).*?(?= +#|$)", "bold cyan")
            text.highlight_regex(r"(?m) +# .*$", "dim")
            text.highlight_regex(re.compile(r"`[^`]+`"), "cyan")
            text.highlight_regex(r"(?m)^\w+:$", "bold")
            formatter.write(Padding(text, (0, 1, 1, 1)))

    def get_help(self, ctx: "click.Context") -> str:
        """The help without the spaces with which rich pads lines to the width of the terminal."""
        return "\n".join(line.rstrip() for line in super().get_help(ctx).splitlines())


class Command(_FormattedHelp, CodeCommand):
    """A command that formats its help and loads --code files."""


class Group(_FormattedHelp, RichGroup):  # type: ignore[misc]
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: "click.Context") -> list[str]:
        return list(self.commands)
