"""What a run is about to do: its data, its model, where it computes."""

from pathlib import Path

import torch
from rich.console import Console

from seqloom.cli.console import say
from seqloom.data.corpora import default_corpus
from seqloom.kernels.vendor import Vendor
from seqloom.runs.devices import device_words
from seqloom.spec.config.model import AnyModel, Attentive, Recurrent, Transformer
from seqloom.spec.names import CELLS
from seqloom.tasks.experiment import Experiment
from seqloom.training.loop import total_steps
from seqloom.training.session import Sitting

FEW = 200  # steps


def introduce(console: Console, sitting: Sitting) -> None:
    """The lines before the first step."""
    chosen = sitting.experiment
    say(console, "corpus", f"{source(sitting)}: {sitting.task.describe()}")
    columns = sitting.origin.columns()
    if columns is not None:
        say(console, "columns", columns.describe())
    say(console, "model", f"{model_words(chosen.model)}, {parameters(sitting):,} parameters")
    say(console, "device", f"{device_words(sitting.device)}{kernel_words(chosen.model)}")
    steps = total_steps(len(sitting.task.epoch(0)), chosen)
    if chosen.train.steps is None and steps < FEW:
        more = f"--train.epochs {-(-FEW // steps) * (chosen.train.epochs or 1)}"
        told = f"{steps} step{'s' * (steps != 1)} in all, which is very few"
        say(console, "note", f"{told}; {more} would be {FEW} or more")


def reading(chosen: Experiment) -> str:
    """While the data are read."""
    files = chosen.data.train
    if not files:
        return f"making the corpus {chosen.data.corpus or default_corpus(chosen.task)} …"
    return f"reading {files[0]}{f' and {len(files) - 1} more' if len(files) > 1 else ''} …"


def source(sitting: Sitting) -> str:
    """Where the data come from, in a few words."""
    if sitting.origin.corpus:
        return f"{sitting.origin.corpus} (embedded)"
    files = sitting.origin.files["train"]
    name = Path(files[0]).name
    return f"{name} and {len(files) - 1} more" if len(files) > 1 else name


def model_words(part: AnyModel) -> str:
    """The architecture and what makes it large or small."""
    arch: str = getattr(part, "arch", "")
    told = [arch, f"{part.depth} layer{'s' * (part.depth > 1)} of {getattr(part, 'hidden', part.width)}"]
    if isinstance(part, Transformer):
        told = [
            arch,
            f"{part.depth} layer{'s' * (part.depth > 1)} of {part.width}, {part.heads} head{'s' * (part.heads > 1)}",
        ]
    if part.encoder is not None:
        return ", ".join([*told, *sides_in_words(part, arch)])
    if isinstance(part, Recurrent) and part.bidirectional:
        told.append("both directions")
    return ", ".join(told)


def sides_in_words(part: AnyModel, arch: str) -> list[str]:
    """Of an encoder-decoder: what reads the source, and how the writer looks at it."""
    both = isinstance(part, Recurrent) and part.bidirectional and part.encoder in CELLS
    told = [] if part.encoder == arch else [f"encoder {part.encoder}"]
    told += ["read in both directions"] if both else []
    if isinstance(part, Attentive):
        told.append("no attention" if part.attention == "none" else f"{part.attention} attention")
    return told


def parameters(sitting: Sitting) -> int:
    """How many numbers are learned; counted without making them."""
    with torch.device("meta"):
        return sum(weight.numel() for weight in sitting.task.build().parameters())


def kernel_words(part: AnyModel) -> str:
    """What runs the recurrence, where there is one: a loop is much slower, and worth knowing of."""
    if not isinstance(part, Recurrent):
        return ""
    if part.arch in Vendor.equations:
        return ", torch's kernel for this recurrence"
    other = f"; {part.arch}-after has one" if f"{part.arch}-after" in Vendor.equations else ""
    return f", a plain loop over time (torch has no kernel for {part.arch}{other})"
