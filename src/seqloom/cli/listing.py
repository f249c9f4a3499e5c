"""`seqloom list`: what there is to choose from."""

import rich_click as click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from seqloom.cli.console import output
from seqloom.cli.help_text import Command

# One line each; `tests/cli` holds the names equal to those of the config.
MODELS = {
    "window": "the fixed window of Bengio 2003: the last few tokens, one hidden layer",
    "mixer": "MLP-Mixer over tokens: a network over positions, then one over features",
    "conv": "convolutions over time, dilated and gated, with residual connections",
    "rnn": "the simple recurrent network of Elman 1990: h' = tanh(W x + U h + b)",
    "rnn-relu": "the same with ReLU",
    "rnn-sigmoid": "the same with the logistic function",
    "rnn-linear": "the same with no activation, as in the proof of vanishing gradients",
    "lstm": "long short-term memory with a forget gate",
    "lstm-no-tanh": "an LSTM whose output is o ⊙ c",
    "lstm-peephole": "an LSTM whose gates see the cell",
    "lstm-coupled": "an LSTM that forgets just as much as it takes in",
    "lstm-layer-norm": "an LSTM with layer norm inside",
    "gru": "gated recurrent unit, reset gate before the product (Cho et al. 2014)",
    "gru-after": "gated recurrent unit, reset gate after the product (cuDNN's, and faster)",
    "transformer": "attention and feed-forward layers (Vaswani et al. 2017)",
}


@click.command("list", cls=Command, short_help="List the models, tasks and corpora.")
@click.argument(
    "kind", metavar="[models|tasks|corpora]", type=click.Choice(["models", "tasks", "corpora"]), required=False
)
def listing(kind: str | None) -> None:
    """List what you can choose from: the models for --model, the tasks, and the corpora that need no download; all of
    them, unless you name one of the three.

    \b
    Examples:
      $ seqloom list
      $ seqloom list models
      $ seqloom train language --data.corpus brackets
    """
    console, kinds = output(), {"tasks": tasks, "models": models, "corpora": corpora}
    for number, name in enumerate([kind] if kind else kinds):
        if number:
            click.echo()
        kinds[name](console)


def models(console: Console) -> None:
    """Architectures, and the tasks that each can do."""
    from seqloom.spec.config.defaults import ARCHITECTURE
    from seqloom.spec.errors import ConfigError
    from seqloom.spec.names import TASKS
    from seqloom.tasks.registry import experiment

    rows = []
    for name, summary in MODELS.items():
        able = []
        for task in TASKS:
            try:
                experiment({"task": task, "model": {"arch": name}})
            except ConfigError:
                continue
            able.append(task)
        usual = [task for task in able if ARCHITECTURE[task] == name]
        default = f"; the default for {', '.join(usual)}" if 0 < len(usual) < len(TASKS) else "; the default"
        rows.append((name, f"{summary}{default if usual else ''}", ", ".join(able)))
    show(console, ("--model", "what it is", "tasks"), rows)


def tasks(console: Console) -> None:
    """What can be learned, and from which files."""
    from seqloom.cli.teaching import LESSONS

    show(
        console,
        ("task", "what it learns", "reads"),
        [(name, each.summary, each.reads) for name, each in LESSONS.items()],
    )


def corpora(console: Console) -> None:
    """What can be learned from without a file."""
    from seqloom.data.corpora import CORPORA

    rows = [(name, f"{each.summary.split('. ')[0]}.", ", ".join(each.tasks)) for name, each in CORPORA.items()]
    show(console, ("--data.corpus", "what it holds", "tasks"), rows)


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
