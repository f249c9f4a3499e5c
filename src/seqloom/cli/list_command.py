"""`seqloom list`: the tasks, models, corpora and user-defined parts."""

import rich_click as click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from seqloom.cli.console import print_labeled, stdout
from seqloom.cli.help import Command

KINDS = ("tasks", "models", "corpora", "parts")
Row = tuple[str, str, str]


@click.command("list", cls=Command, short_help="List the models, tasks and corpora.")
@click.argument("kind", metavar=f"[{'|'.join(KINDS)}]", type=click.Choice(KINDS), required=False)
def list_command(kind: str | None) -> None:
    """List the tasks, the models for --model, the corpora that need no download, and your own parts that --code
    registers; all four, unless you name one.

    \b
    Examples:
      $ seqloom list
      $ seqloom list models
      $ seqloom list parts --code my_parts.py
      $ seqloom train language --data.corpus brackets
    """
    from seqloom.core.registry import user_defined_parts

    console, tables = stdout(), {"tasks": tasks, "models": models, "corpora": corpora, "parts": parts}
    for index, name in enumerate([kind] if kind else KINDS if user_defined_parts() else KINDS[:-1]):
        if index:
            click.echo()
        header, rows = tables[name]()
        if rows:
            show_table(console, header, rows)
        else:
            print_labeled(console, "none", "--code FILE.py registers parts of your own (docs/guides/own-parts.md)")


def tasks() -> tuple[Row, list[Row]]:
    from seqloom.tasks.registry import TASKS

    rows = [(name, entry.summary, entry.data_spec.description) for name, entry in TASKS.items()]
    return ("task", "what it does", "reads"), rows


def models() -> tuple[Row, list[Row]]:
    """The architectures, and the tasks for which each can be used."""
    from seqloom.core.problem import ConfigError
    from seqloom.models.registry import ARCHITECTURES
    from seqloom.tasks.registry import TASKS, experiment

    rows = []
    for name, architecture in ARCHITECTURES.items():
        compatible = []
        for task in TASKS:
            try:
                experiment({"task": task, "model": {"arch": name}})
            except ConfigError:
                continue
            compatible.append(task)
        summary, default_of = architecture.summary, [task for task in TASKS if TASKS[task].config.architecture == name]
        if default_of:
            summary += "; the default" + (f" for {', '.join(default_of)}" if len(default_of) < len(TASKS) else "")
        rows.append((name, summary, ", ".join(compatible)))
    return ("--model", "what it is", "tasks"), rows


def corpora() -> tuple[Row, list[Row]]:
    from seqloom.tasks.registry import TASKS

    summaries: dict[str, str] = {}
    tasks: dict[str, list[str]] = {}
    for task, entry in TASKS.items():
        for name, corpus in entry.data_spec.corpora.items():
            summaries[name] = f"{corpus.summary.split('. ')[0].rstrip('.')}."
            tasks.setdefault(name, []).append(task)
    rows = [(name, summary, ", ".join(tasks[name])) for name, summary in summaries.items()]
    return ("--data.corpus", "contents", "tasks"), rows


def parts() -> tuple[Row, list[Row]]:
    from seqloom.tasks.user_defined_parts import registered_parts

    rows = [(part.name, part.kind, part.origin.location) for part in registered_parts()]
    return ("part", "kind", "defined in"), rows


def show_table(console: Console, header: Row, rows: list[Row]) -> None:
    """Three columns; on a narrow terminal the middle one wraps."""
    if not console.is_terminal:
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        for row in (header, *rows):
            click.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
        return
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column(header[0], no_wrap=True, style="bold cyan")
    table.add_column(header[1])
    table.add_column(header[2], style="dim")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
