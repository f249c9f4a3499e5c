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
    "conv": "convolutions over time, dilated and gated, with a way around each",
    "rnn": "the simple recurrent network of Elman 1990: h' = tanh(W x + U h + b)",
    "rnn-relu": "the same with ReLU",
    "rnn-sigmoid": "the same with the logistic function",
    "rnn-linear": "the same with no activation: that of the vanishing-gradient proof",
    "lstm": "long short-term memory with a forget gate",
    "lstm-no-tanh": "an LSTM whose output is o ⊙ c",
    "lstm-peephole": "an LSTM whose gates see the cell",
    "lstm-coupled": "an LSTM that forgets just as much as it takes in",
    "lstm-layer-norm": "an LSTM with layer norm inside",
    "gru": "gated recurrent unit, reset gate before the product (Cho et al. 2014)",
    "gru-after": "gated recurrent unit, reset gate after the product (cuDNN's, and faster)",
    "transformer": "attention and feed-forward layers (Vaswani et al. 2017)",
}


@click.command("list", cls=Command, short_help="The models, tasks and corpora there are.")
@click.argument("kind", metavar="models|tasks|corpora", type=click.Choice(["models", "tasks", "corpora"]))
def listing(kind: str) -> None:
    """What there is to choose from: architectures for --model, tasks, and the corpora that need no download.

    \b
    Examples:
      $ seqloom list models
      $ seqloom train language --data.corpus brackets
    """
    console = output()
    {"models": models, "tasks": tasks, "corpora": corpora}[kind](console)


def models(console: Console) -> None:
    """Architectures, and the tasks that each can do."""
    from seqloom.spec.config.defaults import ARCHITECTURE
    from seqloom.spec.config.experiment import experiment
    from seqloom.spec.errors import ConfigError
    from seqloom.spec.names import TASKS

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
    show(console, ("--model", "", "tasks"), rows)


def tasks(console: Console) -> None:
    """What can be learned, and from which files."""
    from seqloom.cli.teaching import LESSONS

    show(console, ("task", "", "reads"), [(name, each.summary, each.reads) for name, each in LESSONS.items()])


def corpora(console: Console) -> None:
    """What can be learned from without a file."""
    from seqloom.data.corpora import CORPORA

    rows = [(name, f"{each.summary.split('. ')[0]}.", ", ".join(each.tasks)) for name, each in CORPORA.items()]
    show(console, ("--data.corpus", "", "tasks"), rows)


def show(console: Console, header: tuple[str, str, str], rows: list[tuple[str, str, str]]) -> None:
    """Three columns; one line a row where they go to a file."""
    if not console.is_terminal:
        for row in rows:
            click.echo("\t".join(row))
        return
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column(header[0], no_wrap=True, style="bold cyan")
    table.add_column(header[1])
    table.add_column(header[2], style="dim")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
