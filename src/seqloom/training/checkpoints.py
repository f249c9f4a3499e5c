"""Checkpoints: all that a run needs to go on, whole or absent, each with its own manifest."""

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as save_tensors
from torch import Tensor, nn
from torch.optim import Optimizer

from seqloom.nn.state import State
from seqloom.spec import durable
from seqloom.spec.errors import RunError
from seqloom.spec.folder import CHECKPOINTS, read_json, sha256
from seqloom.training.progress import Progress

WEIGHTS, OPTIMISER, CARRIED = "weights.safetensors", "optimiser.safetensors", "carried.safetensors"
PROGRESS, MANIFEST = "progress.json", "manifest.json"


def save(folder: Path, model: nn.Module, optimizer: Optimizer, state: State | None, progress: Progress) -> Path:
    """A checkpoint of this step. One that is there already was damaged, since the run began before it, and goes."""
    path = place(folder, progress.step)

    def fill(making: Path) -> None:
        write_tensors(making / WEIGHTS, model.state_dict())
        write_tensors(making / OPTIMISER, optimiser_tensors(optimizer))
        if state is not None:
            write_tensors(making / CARRIED, dict(state) | positions(state))
        told = {"progress": progress.told(), "horizon": None if state is None else state.horizon}
        durable.write(making / PROGRESS, json.dumps(told))
        hashes = {file.name: sha256(file) for file in sorted(making.iterdir())}
        durable.write(making / MANIFEST, json.dumps(hashes, indent=1))

    if path.exists():
        durable.remove(path)
    durable.folder(path, fill)
    return path


def place(folder: Path, step: int) -> Path:
    """Where the checkpoint of a step lies."""
    return folder / CHECKPOINTS / f"step-{step:09d}"


def latest(folder: Path) -> Path | None:
    """The newest whole checkpoint; one with a damaged file is passed over for the one before it."""
    damaged: list[str] = []
    for path in reversed(all_of(folder)):
        try:
            check(path)
            return path
        except RunError as wrong:
            damaged.append(str(wrong))
    if damaged:
        raise RunError(damaged[0])
    return None


def all_of(folder: Path) -> list[Path]:
    """From the oldest to the newest."""
    return sorted(path for path in (folder / CHECKPOINTS).glob("step-*") if re.fullmatch(r"step-\d+", path.name))


def check(path: Path) -> None:
    """Every file is there and is what it was."""
    hashes = read_json(path / MANIFEST)
    for name in (WEIGHTS, OPTIMISER, PROGRESS):
        if name not in hashes:
            raise RunError(f"{path / MANIFEST}: damaged, it does not list {name}. Remove the checkpoint {path}.")
    for name, expected in hashes.items():
        file = path / Path(name).name
        if not file.is_file() or sha256(file) != expected:
            raise RunError(f"{file}: damaged, its SHA-256 is not that of {MANIFEST}. Remove the checkpoint {path}.")


def restore(path: Path, model: nn.Module, optimizer: Optimizer, device: torch.device) -> tuple[State | None, Progress]:
    """Put everything back where it was."""
    told = read_json(path / PROGRESS)
    weights, remembered = read_tensors(path / WEIGHTS, device), read_tensors(path / OPTIMISER, device)
    try:
        progress, horizon = Progress.of(told["progress"]), int(told["horizon"] or 0)
        model.load_state_dict(weights)
        restore_optimiser(optimizer, remembered)
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as wrong:
        why = str(wrong).splitlines()[-1].strip().rstrip(".") or type(wrong).__name__
        raise RunError(
            f"{path}: not a checkpoint of this run ({why}). Remove it to go on from an earlier one."
        ) from None
    if not (path / CARRIED).exists():
        return None, progress
    tensors = read_tensors(path / CARRIED, device)
    position = tensors.pop("position", None)
    return State(tensors, position=position, horizon=horizon), progress


def drop_after(path: Path) -> None:
    """Newer ones were passed over as damaged; they must not be counted among those that are kept."""
    for newer in all_of(path.parent.parent):
        if newer.name > path.name:
            durable.remove(newer)


def prune(folder: Path, keep: int, besides: Collection[int] = ()) -> None:
    """Only the last few are kept, and those of the steps that will be averaged."""
    wanted = {place(folder, step) for step in besides}
    for old in all_of(folder)[:-keep]:
        if old not in wanted:
            durable.remove(old)


def optimiser_tensors(optimizer: Optimizer) -> dict[str, Tensor]:
    """What an optimizer remembers, as named tensors: 3.exp_avg is of the third weight. Rates come from the schedule."""
    state = optimizer.state_dict()["state"]
    return {
        f"{number}.{name}": torch.as_tensor(value)
        for number, values in state.items()
        for name, value in values.items()
        if value is not None
    }


def restore_optimiser(optimizer: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """The reverse; what is remembered of a weight has its shape, or is one number."""
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    state: dict[int, dict[str, Any]] = {}
    for key, tensor in tensors.items():
        number, name = key.split(".", 1)
        if tensor.numel() != 1 and tensor.shape != weights[int(number)].shape:
            raise ValueError(f"the optimizer's {key} is {list(tensor.shape)}")
        state.setdefault(int(number), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def positions(state: State) -> dict[str, Tensor]:
    """Where each row stands."""
    return {} if state.position is None else {"position": state.position}


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Named tensors in a file of their own memory; safetensors refuses views."""
    durable.write(path, save_tensors({name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}))


def read_tensors(path: Path, device: torch.device) -> dict[str, Tensor]:
    """The same, from a file that may have been changed."""
    try:
        return load_file(path, device=str(device))
    except (SafetensorError, OSError) as wrong:
        raise RunError(f"{path}: can't be read ({wrong}). Restore the file from a copy.") from None
