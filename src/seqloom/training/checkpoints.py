"""Checkpoints: folders with all that a run needs to continue, each with a manifest of its files' hashes."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as save_tensors
from torch import Tensor

from seqloom.core import atomic_io
from seqloom.core.problem import RunError
from seqloom.core.run_format import CHECKPOINTS, read_json, sha256
from seqloom.nn.state import State
from seqloom.training.events import Average
from seqloom.training.loop import Checkpointer, Trainer
from seqloom.training.optimization import restore_state, state_tensors
from seqloom.training.trainer_state import Progress

WEIGHTS, OPTIMIZER, CARRIED = "weights.safetensors", "optimiser.safetensors", "carried.safetensors"
PROGRESS, MANIFEST = "progress.json", "manifest.json"


def checkpoint_path(folder: Path, step: int) -> Path:
    return folder / CHECKPOINTS / f"step-{step:09d}"


def list_checkpoints(folder: Path) -> list[Path]:
    """From the oldest to the newest."""
    return sorted(path for path in (folder / CHECKPOINTS).glob("step-*") if re.fullmatch(r"step-\d+", path.name))


def save(folder: Path, trainer: Trainer) -> Path:
    """Write the checkpoint of the trainer's step.

    If that checkpoint exists, it is damaged, since this session began at an earlier one: it is replaced.
    """
    path, state = checkpoint_path(folder, trainer.progress.step), trainer.state
    if path.exists():
        atomic_io.remove(path)
    with atomic_io.create_folder(path) as temporary:
        write_tensors(temporary / WEIGHTS, trainer.model.state_dict())
        write_tensors(temporary / OPTIMIZER, state_tensors(trainer.optimizer))
        if state is not None:
            position = {} if state.position is None else {"position": state.position}
            write_tensors(temporary / CARRIED, dict(state) | position)
        content = {"progress": asdict(trainer.progress), "horizon": None if state is None else state.max_position}
        atomic_io.write(temporary / PROGRESS, json.dumps(content))
        hashes = {file.name: sha256(file) for file in sorted(temporary.iterdir())}
        atomic_io.write(temporary / MANIFEST, json.dumps(hashes, indent=1))
    return path


def restore(path: Path, trainer: Trainer) -> None:
    """Load a verified checkpoint into a fresh trainer: weights, optimizer, progress and carried state."""
    content = read_json(path / PROGRESS)
    weights, optimizer = (read_tensors(path / name, trainer.device) for name in (WEIGHTS, OPTIMIZER))
    try:
        trainer.progress, max_position = Progress.from_json(content["progress"]), int(content["horizon"] or 0)
        trainer.model.load_state_dict(weights)
        restore_state(trainer.optimizer, optimizer)
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        reason = str(error).splitlines()[-1].strip().rstrip(".") or type(error).__name__
        message = f"not a checkpoint of this run ({reason})"
        raise RunError(message, "Remove it to resume from an earlier one", location=path) from None
    drop_lost_candidates(path.parents[1], trainer.progress)
    trainer.state = None
    if (path / CARRIED).exists():
        tensors = read_tensors(path / CARRIED, trainer.device)
        trainer.state = State(tensors, position=tensors.pop("position", None), max_position=max_position)


def drop_lost_candidates(folder: Path, progress: Progress) -> None:
    """Drop the candidates without a checkpoint, except the best, whose weights are saved in the run.

    An older run may lack the checkpoint of its best validation, which a later one may replace as the best.
    """

    def has_checkpoint(step: int) -> bool:  # that of the current step is written next
        return step == progress.step or checkpoint_path(folder, step).exists()

    best, others = progress.candidates[:1], progress.candidates[1:]
    progress.candidates = [*best, *(candidate for candidate in others if has_checkpoint(candidate.step))]


def candidate_steps(folder: Path, keep: int) -> set[int]:
    """The steps of the candidates of the newest checkpoints: a session may begin at any of these.

    The best is among them: a validation with a better score and a higher loss may replace it, and be disqualified.
    """
    steps: set[int] = set()
    for path in list_checkpoints(folder)[-keep:]:
        with suppress(RunError, LookupError, TypeError, ValueError):  # damaged, so no session begins there
            progress = Progress.from_json(read_json(path / PROGRESS)["progress"])
            steps.update(candidate.step for candidate in progress.candidates)
    return steps


def latest(folder: Path) -> Path | None:
    """The newest undamaged checkpoint, or None if there is none at all; if all are damaged, the error of the newest."""
    errors = []
    for path in reversed(list_checkpoints(folder)):
        try:
            verify(path)
        except RunError as error:
            errors.append(error)
        else:
            return path
    if errors:
        raise errors[0]
    return None


def remove_newer(folder: Path, path: Path) -> None:
    """Remove all checkpoints that are newer than this one: damaged ones, which `prune` must not count."""
    for newer in list_checkpoints(folder):
        if newer > path:
            atomic_io.remove(newer)


def verify(path: Path) -> None:
    """Check that the manifest lists the files of a checkpoint and that each has its SHA-256."""
    hashes, advice = read_json(path / MANIFEST), f"Remove the checkpoint {path}"
    for name in (WEIGHTS, OPTIMIZER, PROGRESS):
        if name not in hashes:
            raise RunError(f"damaged, it does not list {name}", advice, location=path / MANIFEST)
    for name, expected in hashes.items():
        file = path / Path(name).name
        if not file.is_file() or sha256(file) != expected:
            raise RunError(f"damaged: its SHA-256 is not the one in {MANIFEST}", advice, location=file)


def prune(folder: Path, keep: int, also_keep: Collection[int] = ()) -> None:
    """Remove all but the newest checkpoints and those of the steps in `also_keep`, whose weights may be needed."""
    kept = {checkpoint_path(folder, step) for step in also_keep}
    for old in list_checkpoints(folder)[:-keep]:
        if old not in kept:
            atomic_io.remove(old)


def clean_up(folder: Path, keep: int) -> None:
    """After the scores are written: keep the newest checkpoints only, and remove what a killed write left."""
    atomic_io.remove_leftovers(folder / CHECKPOINTS)
    prune(folder, keep)


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    copies = {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}  # views are refused
    atomic_io.write(path, save_tensors(copies))


def read_tensors(path: Path, device: torch.device) -> dict[str, Tensor]:
    try:
        return load_file(path, device=str(device))
    except (SafetensorError, OSError) as error:
        raise RunError(f"can't be read ({error})", "Restore the file from a copy", location=path) from None


def average(folder: Path, trainer: Trainer, checkpointer: Checkpointer) -> Average | None:
    """Evaluate the mean of the last validations' weights, and keep it if it is the best; None for fewer than two.

    It is ranked among the validations: its loss must be within the margin, and may disqualify the best of them.

    Until the scores are written, the checkpoints of these validations are kept beside the `train.keep_checkpoints`
    newest, so that a killed run can be resumed. With Adam each is three times the size of the weights.
    """
    steps = tuple(step for step in trainer.progress.validations if checkpoint_path(folder, step).exists())
    if len(steps) < 2:
        return None
    trainer.model.load_state_dict(mean_weights([checkpoint_path(folder, step) for step in steps]))
    evaluation = trainer.evaluate("valid")
    progress, former, candidate = trainer.progress, trainer.progress.candidates[0], trainer.candidate(evaluation)
    trainer.selection.add(progress, candidate)
    trainer.save_best(former, candidate, checkpointer)
    event = Average(progress.step, steps, evaluation.scores, progress.best is candidate)
    trainer.emit(event)
    trainer.emit_disqualified(former, average=candidate)
    return event


def mean_weights(paths: Sequence[Path]) -> dict[str, Tensor]:
    """w̄ = 1/n Σ w in float64, one checkpoint in memory at a time; tensors that are not floats are the last one's."""
    sums: dict[str, Tensor] = {}
    weights: dict[str, Tensor] = {}
    for path in paths:
        verify(path)
        weights = read_tensors(path / WEIGHTS, torch.device("cpu"))
        for name, tensor in weights.items():
            if tensor.is_floating_point():
                sums[name] = sums[name] + tensor if name in sums else tensor.double()
    means = {name: (total / len(paths)).to(weights[name].dtype) for name, total in sums.items()}
    return {**weights, **means}
