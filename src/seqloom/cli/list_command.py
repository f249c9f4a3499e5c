"""`seqloom list`: what there is to choose from."""

import rich_click as click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from seqloom.cli.console import output, say
from seqloom.cli.help import Command

KINDS = ("tasks", "models", "corpora", "parts")


@click.command("list", cls=Command, short_help="List the models, tasks and corpora.")
@click.argument("kind", metavar=f"[{'|'.join(KINDS)}]", type=click.Choice(KINDS), required=False)
def listing(kind: str | None) -> None:
    """List what you can choose from: the tasks, the models for --model, the corpora that need no download, and the
    parts of your own that --code registers; all of them, unless you name one of the four.

    \b
    Examples:
      $ seqloom list
      $ seqloom list models
      $ seqloom list parts --code my_parts.py
      $ seqloom train language --data.corpus brackets
    """
    from seqloom.core.registry import user_defined_parts

    console, kinds = output(), {"tasks": tasks, "models": models, "corpora": corpora, "parts": parts}
    for number, name in enumerate([kind] if kind else KINDS if user_defined_parts() else KINDS[:-1]):
        if number:
            click.echo()
        kinds[name](console)


def models(console: Console) -> None:
    """Architectures, and the tasks that each can do."""
    from seqloom.core.problem import ConfigError
    from seqloom.models.registry import ARCHITECTURES
    from seqloom.tasks.registry import TASKS, experiment

    rows = []
    for name, architecture in ARCHITECTURES.items():
        able = []
        for task in TASKS:
            try:
                experiment({"task": task, "model": {"arch": name}})
            except ConfigError:
                continue
            able.append(task)
        usual = [task for task in able if TASKS[task].config.architecture == name]
        default = f"; the default for {', '.join(usual)}" if 0 < len(usual) < len(TASKS) else "; the default"
        rows.append((name, f"{architecture.summary}{default if usual else ''}", ", ".join(able)))
    show(console, ("--model", "what it is", "tasks"), rows)


def tasks(console: Console) -> None:
    """What can be learned, and from which files."""
    from seqloom.tasks.registry import TASKS

    rows = [(name, each.summary, each.data_spec.description) for name, each in TASKS.items()]
    show(console, ("task", "what it learns", "reads"), rows)


def corpora(console: Console) -> None:
    """What can be learned from without a file."""
    from seqloom.tasks.registry import TASKS

    summaries: dict[str, str] = {}
    tasks: dict[str, list[str]] = {}
    for name, entry in TASKS.items():
        for corpus, made in entry.data_spec.corpora.items():
            summaries[corpus] = made.summary
            tasks.setdefault(corpus, []).append(name)
    rows = [
        (name, f"{summary.split('. ')[0].rstrip('.')}.", ", ".join(tasks[name])) for name, summary in summaries.items()
    ]
    show(console, ("--data.corpus", "what it holds", "tasks"), rows)


def parts(console: Console) -> None:
    """Parts of the user's own, with file and line."""
    from seqloom.tasks.user_defined_parts import registered_parts

    rows = [(name, kind, origin.location) for kind, name, origin in registered_parts()]
    if rows:
        show(console, ("part", "kind", "defined in"), rows)
    else:
        say(console, "none", "--code FILE.py registers parts of your own (docs/guides/own-parts.md)")


def show(console: Console, header: tuple[str, str, str], rows: list[tuple[str, str, str]]) -> None:
    """Three columns; the middle one is wrapped where a terminal is too narrow for it."""
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
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
