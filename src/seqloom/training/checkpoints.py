"""Checkpoints: all that a run needs to go on, whole or absent, each with its own manifest."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as save_tensors
from torch import Tensor, nn
from torch.optim import Optimizer

from seqloom.core import atomic_io
from seqloom.core.problem import RunError
from seqloom.core.run_format import CHECKPOINTS, read_json, sha256
from seqloom.nn.state import State
from seqloom.training.events import Average
from seqloom.training.loop import Checkpointer, Trainer
from seqloom.training.optimization import restore_state, state_tensors
from seqloom.training.trainer_state import Progress

WEIGHTS, OPTIMISER, CARRIED = "weights.safetensors", "optimiser.safetensors", "carried.safetensors"
PROGRESS, MANIFEST = "progress.json", "manifest.json"


def save(folder: Path, model: nn.Module, optimizer: Optimizer, state: State | None, progress: Progress) -> Path:
    """A checkpoint of this step. One that is there already was damaged, since the run began before it, and goes."""
    path = place(folder, progress.step)

    if path.exists():
        atomic_io.remove(path)
    with atomic_io.create_folder(path) as making:
        write_tensors(making / WEIGHTS, model.state_dict())
        write_tensors(making / OPTIMISER, state_tensors(optimizer))
        if state is not None:
            write_tensors(making / CARRIED, dict(state) | positions(state))
        told = {"progress": progress.told(), "horizon": None if state is None else state.max_position}
        atomic_io.write(making / PROGRESS, json.dumps(told))
        hashes = {file.name: sha256(file) for file in sorted(making.iterdir())}
        atomic_io.write(making / MANIFEST, json.dumps(hashes, indent=1))
    return path


def place(folder: Path, step: int) -> Path:
    """Where the checkpoint of a step lies."""
    return folder / CHECKPOINTS / f"step-{step:09d}"


def latest(folder: Path) -> Path | None:
    """The newest whole checkpoint; one with a damaged file is passed over for the one before it."""
    damaged: list[RunError] = []
    for path in reversed(all_of(folder)):
        try:
            check(path)
            return path
        except RunError as wrong:
            damaged.append(wrong)
    if damaged:
        raise damaged[0]
    return None


def all_of(folder: Path) -> list[Path]:
    """From the oldest to the newest."""
    return sorted(path for path in (folder / CHECKPOINTS).glob("step-*") if re.fullmatch(r"step-\d+", path.name))


def check(path: Path) -> None:
    """Every file is there and is what it was."""
    hashes = read_json(path / MANIFEST)
    for name in (WEIGHTS, OPTIMISER, PROGRESS):
        if name not in hashes:
            raise RunError(
                f"damaged, it does not list {name}", f"Remove the checkpoint {path}", location=path / MANIFEST
            )
    for name, expected in hashes.items():
        file = path / Path(name).name
        if not file.is_file() or sha256(file) != expected:
            raise RunError(
                f"damaged, its SHA-256 is not that of {MANIFEST}", f"Remove the checkpoint {path}", location=file
            )


def restore(path: Path, model: nn.Module, optimizer: Optimizer, device: torch.device) -> tuple[State | None, Progress]:
    """Put everything back where it was."""
    told = read_json(path / PROGRESS)
    weights, remembered = read_tensors(path / WEIGHTS, device), read_tensors(path / OPTIMISER, device)
    try:
        progress, horizon = Progress.of(told["progress"]), int(told["horizon"] or 0)
        model.load_state_dict(weights)
        restore_state(optimizer, remembered)
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as wrong:
        why = str(wrong).splitlines()[-1].strip().rstrip(".") or type(wrong).__name__
        raise RunError(
            f"not a checkpoint of this run ({why})", "Remove it to go on from an earlier one", location=path
        ) from None
    if not (path / CARRIED).exists():
        return None, progress
    tensors = read_tensors(path / CARRIED, device)
    position = tensors.pop("position", None)
    return State(tensors, position=position, max_position=horizon), progress


def drop_after(path: Path) -> None:
    """Newer ones were passed over as damaged; they must not be counted among those that are kept."""
    for newer in all_of(path.parent.parent):
        if newer.name > path.name:
            atomic_io.remove(newer)


def prune(folder: Path, keep: int, besides: Collection[int] = ()) -> None:
    """Only the last few are kept, and those of the steps that will be averaged."""
    wanted = {place(folder, step) for step in besides}
    for old in all_of(folder)[:-keep]:
        if old not in wanted:
            atomic_io.remove(old)


def positions(state: State) -> dict[str, Tensor]:
    """Where each row stands."""
    return {} if state.position is None else {"position": state.position}


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Named tensors in a file of their own memory; safetensors refuses views."""
    atomic_io.write(
        path, save_tensors({name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()})
    )


def read_tensors(path: Path, device: torch.device) -> dict[str, Tensor]:
    """The same, from a file that may have been changed."""
    try:
        return load_file(path, device=str(device))
    except (SafetensorError, OSError) as wrong:
        raise RunError(f"can't be read ({wrong})", "Restore the file from a copy", location=path) from None


def average(trainer: Trainer, keeper: Checkpointer, folder: Path) -> Average | None:
    """Measure the mean of what `train.average` says, and keep it if that is the best of all; None if there is none.

    The checkpoints of those validations are kept for it beside the `train.keep` newest, each with its weights and what
    the optimizer remembers of them: with Adam three times the size of the weights. They go when the scores are written:
    until then they say all, so a run that is killed in here and resumed does the same again.
    """
    steps = tuple(step for step in trainer.progress.validations if place(folder, step).exists())
    if len(steps) < 2:
        return None
    trainer.model.load_state_dict(mean([place(folder, step) for step in steps]))
    evaluation = trainer.evaluate("valid")
    told = Average(trainer.progress.step, steps, evaluation.scores, trainer.better(evaluation))
    if told.best:
        keeper.best(trainer.model, evaluation)
    trainer.tell(told)
    return told


def mean(paths: Sequence[Path]) -> dict[str, Tensor]:
    """w̄ = 1/n Σ w in float64, one checkpoint in memory at a time; what is not a real number is the last one's."""
    sums: dict[str, Tensor] = {}
    weights: dict[str, Tensor] = {}
    for path in paths:
        check(path)
        weights = read_tensors(path / WEIGHTS, torch.device("cpu"))
        for name, tensor in weights.items():
            if tensor.is_floating_point():
                sums[name] = sums[name] + tensor if name in sums else tensor.double()
    means = {name: (total / len(paths)).to(weights[name].dtype) for name, total in sums.items()}
    return {**weights, **means}
