"""What a run is about to do: its data, its model, where it computes."""

from pathlib import Path

import torch
from rich.console import Console

from seqloom.cli.console import say
from seqloom.data.source import DataSource
from seqloom.runs.devices import device_words
from seqloom.training.loop import total_steps
from seqloom.training.session import Sitting

FEW = 200  # steps


def introduce(console: Console, sitting: Sitting) -> None:
    """The lines before the first step."""
    chosen = sitting.experiment
    say(console, "corpus", f"{source(sitting)}: {sitting.task.describe()}")
    columns = sitting.source.columns
    if columns is not None:
        say(console, "columns", columns.describe())
    say(console, "model", f"{chosen.describe_model()}, {parameters(sitting):,} parameters")
    say(console, "device", f"{device_words(sitting.device)}{chosen.model.kernel_words()}")
    steps = total_steps(len(sitting.task.epoch(0)), chosen)
    if chosen.train.steps is None and steps < FEW:
        more = f"--train.epochs {-(-FEW // steps) * (chosen.train.epochs or 1)}"
        told = f"{steps} step{'s' * (steps != 1)} in all, which is very few"
        say(console, "note", f"{told}; {more} would be {FEW} or more")


def reading(source: DataSource) -> str:
    """While the data are read."""
    if source.corpus:
        return f"making the corpus {source.corpus} …"
    files = source.data.train
    return f"reading {files[0]}{f' and {len(files) - 1} more' if len(files) > 1 else ''} …"


def source(sitting: Sitting) -> str:
    """Where the data come from, in a few words."""
    if sitting.source.corpus:
        return f"{sitting.source.corpus} (embedded)"
    files = sitting.source.files["train"]
    name = Path(files[0]).name
    return f"{name} and {len(files) - 1} more" if len(files) > 1 else name


def parameters(sitting: Sitting) -> int:
    """How many numbers are learned; counted without making them."""
    with torch.device("meta"):
        return sum(weight.numel() for weight in sitting.task.build().parameters())
