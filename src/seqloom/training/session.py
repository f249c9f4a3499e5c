"""One sitting of a run: begin it, or go on with it; to its end, or until it is asked to stop."""

import json
import math
import os
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from seqloom.data.cache import fingerprints
from seqloom.data.source import DataSource
from seqloom.data.split import SPLITS
from seqloom.models.custom import Build, builder_of
from seqloom.nn.models import Writer
from seqloom.runs.devices import device_of
from seqloom.runs.making import create
from seqloom.runs.recorded_parts import open_manifest_to_resume
from seqloom.runs.run import Run, read_experiment, vocabulary_of
from seqloom.spec import durable, names
from seqloom.spec.errors import RunError
from seqloom.spec.folder import CHECKPOINTS, LOCAL, SCORES, read_json, read_manifest
from seqloom.spec.problem import KeyName
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.part_conformance import check_parts
from seqloom.tasks.registry import TASKS
from seqloom.tasks.task import Task
from seqloom.training import checkpoints
from seqloom.training.averaging import average
from seqloom.training.devices import determinism, seed
from seqloom.training.events import Average, End, Listener, Resume, plain
from seqloom.training.keeping import Disk
from seqloom.training.loop import Trainer, now
from seqloom.training.tensorboard import tracked

MOVED = KeyName("data", "PATH")  # how `resume` is told where files lie now


@dataclass(frozen=True)
class Sitting:
    """What a run needs to take steps."""

    experiment: Experiment
    task: Task[Writer, object]
    source: DataSource
    device: torch.device

    @staticmethod
    def of(experiment: Experiment, source: DataSource | None = None) -> "Sitting":
        """Read the data that the config names; `source`, if they are resolved already."""
        check_parts(experiment)
        source = (source or DataSource.resolve(experiment.data, experiment.reads)).hashed()
        task = TASKS[experiment.task].task.prepare(experiment, source)
        source.forget_heads()
        return Sitting(task.experiment, task, source, device_of(experiment.train.device))

    def trainer(self, listeners: Sequence[Listener]) -> Trainer:
        """A fresh model, ready to learn: its weights depend on the seed alone."""
        seed("weights", self.experiment.seed)
        return Trainer(self.task, self.task.build(), self.experiment, self.device, listeners)


def begin(sitting: Sitting, folder: Path, listeners: Sequence[Listener]) -> Run:
    """A new run in this folder, to its end."""
    create(folder, portable(sitting.experiment), sitting.task.files(), local(sitting))
    return go_to_the_end(sitting, folder, listeners)


def local(sitting: Sitting) -> dict[str, object]:
    """What is of this machine: where the data lay, what a corpus was made with, and on which device it all runs."""
    made = sitting.source.reads.made_with(sitting.source.corpus)
    return {**sitting.source.local(), "made_with": made, "device": sitting.device.type}


def resume(
    folder: Path,
    listeners: Sequence[Listener],
    moved: Sequence[str] = (),
    device: str | None = None,
    model: Build | None = None,
) -> Run:
    """A run from its last checkpoint to its end; one that is finished is left as it is, but for what a kill left there.

    moved: where data files lie now, if not where they lay
    device: another one than the run began on; it then goes on, but not bit for bit
    model: what builds its layers, if it was made with `model=build`
    """
    open_manifest_to_resume(folder, model)
    if (folder / SCORES).exists():
        with durable.alone(folder):
            tidy(folder, read_experiment(folder, model).train.keep)
        return Run(folder, model=model)
    chosen = on_device(with_data(read_experiment(folder, model), folder, moved), folder, device)
    return go_to_the_end(Sitting.of(chosen), folder, listeners)


def go_to_the_end(sitting: Sitting, folder: Path, listeners: Sequence[Listener]) -> Run:
    """From the last checkpoint, or the beginning if there is none; by one process at a time."""
    same_images(sitting, folder)
    same_words(sitting, folder)
    with durable.alone(folder):
        disk = Disk(folder)
        durable.sweep(folder)
        durable.make(folder / CHECKPOINTS)
        durable.sweep(folder / CHECKPOINTS)
        trainer = sitting.trainer([disk.listen, *listeners])
        last = checkpoints.latest(folder)
        if last is not None:
            checkpoints.drop_after(last)
            restored = checkpoints.restore(last, trainer.model, trainer.optimizer, sitting.device)
            trainer.state, trainer.progress = restored
            disk.cut_log(trainer.progress.log_bytes)
            trainer.tell(Resume(trainer.progress.step, now()))
        else:
            disk.cut_log(0)
        with disk.signals(), determinism(sitting.experiment.train), tracked(trainer, folder):
            trainer.run(disk)
            averaged = average(trainer, disk, folder)
            finish(sitting, trainer, folder, averaged)
            tidy(folder, sitting.experiment.train.keep)
    return Run(folder, model=builder_of(sitting.experiment.model))


def tidy(folder: Path, keep: int) -> None:
    """Only the last few checkpoints of a finished run: once its scores are written, those of a mean have served."""
    durable.sweep(folder / CHECKPOINTS)
    checkpoints.prune(folder, keep)


def same_images(sitting: Sitting, folder: Path) -> None:
    """What the data files name must be what it was, as they must; a corpus names nothing."""
    then, now_named = read_json(folder / LOCAL).get("images"), sitting.source.named.get("images")
    if then is not None and then != now_named:
        advice = f"Put the old ones back, or name the file beside them with {MOVED}"
        raise RunError("its images changed since the run began", advice, location=sitting.source.name)


def same_words(sitting: Sitting, folder: Path) -> None:
    """The weights of a run fit no other vocabulary; an embedded corpus may differ from one Python to the next."""
    manifest = read_manifest(folder)
    now, then = sitting.task.files(), vocabulary_of(folder, manifest)
    if now == {**now, **then}:  # an older run has none of what came later
        return
    made_by = ", ".join(f"{name} {number}" for name, number in manifest.versions.items())
    how = f"the corpus {sitting.source.corpus!r} differs" if sitting.source.corpus else "its data are read differently"
    message = f"{how} now from when the run began, with {made_by}"
    raise RunError(message, "Resume it with those versions", location=folder)


def finish(sitting: Sitting, trainer: Trainer, folder: Path, averaged: Average | None) -> None:
    """Measure the best weights on the parts to choose by and to test on, and write the figures down."""
    run = Run(folder, str(sitting.device), model=builder_of(sitting.experiment.model))
    progress = trainer.progress
    told: dict[str, Any] = {"chosen_by": sitting.task.chosen_by, "best_step": progress.best_step}
    if averaged is not None:
        score = averaged.scores[sitting.task.chosen_by]
        told["averaged"] = {"steps": averaged.steps, "score": score, "kept": averaged.best}
    for part in ("valid", "test"):
        if part in sitting.task.parts():
            with torch.inference_mode():  # in float32, as `evaluate` and `predict` will
                evaluation = sitting.task.evaluate(run.model, part, sitting.device)
            told[part] = evaluation.scores
            if part == "valid":
                told["details"] = evaluation.details
    rate = progress.tokens / progress.stepping if progress.stepping else math.nan  # learning alone, without validations
    told["cost"] = {
        "seconds": round(progress.seconds, 3),
        "learning_seconds": round(progress.stepping, 3),
        "steps": progress.step,
        "tokens": progress.tokens,
        "tokens_per_second": round(rate, 1),
        "parameters": sum(weight.numel() for weight in trainer.parameters),
        "peak_memory_bytes": peak_memory(sitting.device),
    }
    trainer.tell(End(progress.step, round(progress.seconds, 3)))
    durable.write(folder / SCORES, json.dumps(plain(told), indent=1, ensure_ascii=False) + "\n")


def peak_memory(device: torch.device) -> int:
    """The most bytes that this process has held, on the device if that is a GPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def portable(experiment: Experiment) -> Experiment:
    """The config without a path of this machine: of an absolute one, the name stays."""
    data = experiment.data
    told = {
        part: tuple(Path(name).name if os.path.isabs(name) else name for name in getattr(data, part))  # noqa: PTH117
        for part in ("train", "valid", "test")
    }
    return experiment.model_copy(update={"data": data.model_copy(update=told)})


def with_data(experiment: Experiment, folder: Path, moved: Sequence[str]) -> Experiment:
    """The config with the files that the run began with, wherever they lie now; they must be what they were."""
    noted = read_json(folder / LOCAL)
    found: dict[str, tuple[str, ...]] = {}
    try:
        lay = {
            part: [(Path(file["path"]), str(file["sha256"])) for file in files]
            for part, files in noted["files"].items()
            if part in SPLITS
        }
    except (AttributeError, KeyError, TypeError):  # no manifest vouches for it
        message = "damaged, so it does not say where the data lay"
        raise RunError(message, "Restore the file from a copy", location=folder / LOCAL) from None
    for part, files in lay.items():
        found[part] = tuple(str(place_of(path, code, moved)) for path, code in files)
    corpus = noted.get("corpus")
    if corpus is not None and corpus not in experiment.reads.corpora:
        raise RunError(
            f"damaged, there is no corpus {corpus!r}", "Restore the file from a copy", location=folder / LOCAL
        )
    then, now_made = noted.get("made_with"), experiment.reads.made_with(corpus)
    if isinstance(then, dict) and then != now_made:
        before, after = (", ".join(f"{name} {number}" for name, number in each.items()) for each in (then, now_made))
        message = f"the corpus {corpus!r} was made with {before}, and would differ with {after}"
        raise RunError(message, "Resume it with the version that it began with", location=folder)
    data = experiment.data.model_copy(update=found | {"corpus": corpus})
    return experiment.model_copy(update={"data": data})


def on_device(experiment: Experiment, folder: Path, device: str | None) -> Experiment:
    """The config with the device that is asked for, or that the run began on; other devices give other roundings."""
    began = read_json(folder / LOCAL).get("device")
    chosen = device or (began if began in names.DEVICES else experiment.train.device)
    return experiment.model_copy(update={"train": experiment.train.model_copy(update={"device": chosen})})


def place_of(path: Path, expected: str, moved: Sequence[str]) -> Path:
    """Where a file lies now: where it lay, or among those named."""
    candidates = [path, *(place for each in moved for place in (Path(each) / path.name, Path(each)))]
    there = [candidate for candidate in candidates if candidate.exists()]
    for candidate in there:
        if fingerprints([candidate]) == [expected]:
            return candidate
    if not there:
        raise RunError("the run's data is no longer there", f"Say where it is with {MOVED}", location=path)
    raise RunError("changed since the run began", f"Put the old file back, or name it with {MOVED}", location=there[0])
