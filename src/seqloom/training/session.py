"""A session trains a run from its start, or from its last checkpoint, until it is complete or a signal stops it."""

import json
import math
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from seqloom.core import atomic_io
from seqloom.core.problem import RunError
from seqloom.core.run_format import CHECKPOINTS, LOCAL, SCORES, read_json, read_manifest, verify
from seqloom.data.source import DataSource
from seqloom.models.family import Use
from seqloom.nn.initialization import without_values
from seqloom.nn.model import GenerativeModel
from seqloom.runs.devices import deterministic_algorithms, resolve_device, seed_torch
from seqloom.runs.folder import create_run
from seqloom.runs.recorded_parts import parts_to_record
from seqloom.runs.run import Run, read_vocabulary
from seqloom.runs.run_config import DATA_OPTION, without_local_paths
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.part_conformance import check_parts
from seqloom.tasks.registry import TASKS
from seqloom.tasks.task import Evaluation, Task
from seqloom.tasks.user_defined_parts import data_code, part_errors
from seqloom.training import checkpoints
from seqloom.training.checkpointer import RunCheckpointer
from seqloom.training.events import Average, End, Listener, Ready, Resume, jsonable
from seqloom.training.loop import Trainer, now
from seqloom.training.tensorboard import tensorboard_log
from seqloom.training.trainer_state import Candidate


@dataclass(frozen=True)
class Session:
    """An experiment with its prepared data and its device."""

    experiment: Experiment
    task: Task[GenerativeModel, object]
    source: DataSource
    device: torch.device

    @staticmethod
    def prepare(experiment: Experiment, source: DataSource | None = None) -> "Session":
        """Prepare the data of an experiment. source: its data if already resolved"""
        check_parts(experiment)
        source = source or DataSource.resolve(experiment.data, experiment.data_spec)
        source = source.hashed(data_code(experiment, source))
        task = TASKS[experiment.task].task.prepare(experiment, source)
        source.clear_heads()
        return Session(task.experiment, task, source, resolve_device(experiment.train.device, "train.device"))

    def trainer(self, listeners: Sequence[Listener]) -> Trainer:
        """A trainer of a new model, whose weights depend only on the seed."""
        seed_torch("weights", self.experiment.seed)
        return Trainer(self.task, self.task.build(), self.experiment, self.device, listeners)

    def check_model(self) -> None:
        """Refuse a model that can't be built; on `meta` if possible, without random numbers, memory and time."""
        with part_errors(self.experiment), torch.random.fork_rng(devices=[]):
            try:
                with without_values():
                    self.task.build()
            except Exception:  # a user-defined part may need values, and other errors are raised again
                self.task.build()

    def start(self, folder: Path, listeners: Sequence[Listener] = ()) -> Run:
        """Create a run folder and train to the end."""
        config = without_local_paths(self.experiment)
        made_with = self.source.data_spec.corpus_versions(self.source.corpus)
        local = {**self.source.local(), "made_with": made_with, "device": self.device.type}
        create_run(folder, config, self.task.files(), local, parts_to_record(config, self.source))
        return self.run(folder, config, listeners)

    def run(self, folder: Path, config: Experiment, listeners: Sequence[Listener] = ()) -> Run:
        """Train to the end from the last checkpoint, or from the start; a lock excludes other processes.

        config: the experiment as saved in the run folder
        """
        self._check_unchanged(folder)
        with atomic_io.lock_folder(folder), part_errors(self.experiment):
            checkpointer = RunCheckpointer(folder)
            atomic_io.remove_leftovers(folder)
            atomic_io.make_folder(folder / CHECKPOINTS)
            atomic_io.remove_leftovers(folder / CHECKPOINTS)
            trainer = self.trainer([checkpointer.log_event, *listeners])
            parameters = sum(weight.numel() for weight in trainer.parameters)
            trainer.emit(Ready(0, self, trainer.model, trainer.total, parameters))
            latest = checkpoints.latest(folder)
            if latest is not None:
                checkpoints.remove_newer(folder, latest)
                checkpoints.restore(latest, trainer)
            checkpointer.truncate_log(trainer.progress.log_bytes)
            if latest is not None:
                trainer.emit(Resume(trainer.progress.step, now()))
            train = self.experiment.train
            with checkpointer.catch_signals(), deterministic_algorithms(train), tensorboard_log(trainer, folder):
                trainer.run(checkpointer)
                average = checkpoints.average(folder, trainer, checkpointer)
                run = Run(folder, str(self.device), verify(folder), config)
                self._write_scores(run, trainer, average)
                checkpoints.clean_up(folder, train.keep_checkpoints)
        return run

    def _check_unchanged(self, folder: Path) -> None:
        """Refuse images that changed since the run began, and a changed vocabulary, which the weights would not fit."""
        recorded = read_json(folder / LOCAL).get("images")
        if recorded is not None and recorded != self.source.referenced.get("images"):
            advice = f"Restore the old ones, or pass the new location of their table with {DATA_OPTION}"
            raise RunError("its images changed since the run began", advice, location=self.source.name)
        manifest, files, corpus = read_manifest(folder), self.task.files(), self.source.corpus
        if files != {**files, **read_vocabulary(folder, manifest)}:  # older runs have fewer files
            versions = ", ".join(f"{name} {number}" for name, number in manifest.versions.items())
            subject = f"the corpus {corpus!r}" if corpus else "its data"
            message = f"{subject} would now be read differently than with the versions of the run ({versions})"
            raise RunError(message, "Resume it with those versions", location=folder)

    def _write_scores(self, run: Run, trainer: Trainer, average: Average | None) -> None:
        """Evaluate the best weights on the validation and test splits; write scores and costs."""
        progress, best = trainer.progress, trainer.progress.candidates[0]
        rule = {"chosen_by": self.task.chosen_by, "loss_margin": self.task.loss_margin}
        best_step = None if average is not None and average.best else best.step
        content: dict[str, object] = {**rule, "best_step": best_step}
        if average is not None:
            score = average.scores[self.task.chosen_by]
            content["averaged"] = {"steps": average.steps, "score": score, "kept": average.best}
        for split in ("valid", "test"):
            if split in self.task.splits():
                with torch.inference_mode():  # in float32, as `evaluate` and `predict` do
                    evaluation = self.task.evaluate(run.model, split, self.device)
                content[split] = evaluation.scores
                if split == "valid":
                    content |= self._compare_with_greedy(run, best, evaluation)
                    content["details"] = evaluation.details
        content["cost"] = {
            "seconds": round(progress.seconds, 3),
            "learning_seconds": round(progress.stepping, 3),
            "steps": progress.step,
            "tokens": progress.tokens,
            "tokens_per_second": round(progress.tokens / progress.stepping, 1) if progress.stepping else math.nan,
            "parameters": sum(weight.numel() for weight in trainer.parameters),
            "peak_memory_bytes": peak_memory(self.device),
        }
        trainer.emit(End(progress.step, round(progress.seconds, 3)))
        atomic_io.write(run.folder / SCORES, json.dumps(jsonable(content), indent=1, ensure_ascii=False) + "\n")

    def _compare_with_greedy(self, run: Run, best: Candidate, evaluation: Evaluation) -> dict[str, object]:
        """If answers are generated with a beam: the score of greedy search, and whether it is better than `evaluation`.

        Validation during training is greedy; in another precision than float32 it is repeated.
        """
        experiment, name = self.experiment, self.task.chosen_by
        if experiment.use is not Use.DECODE or experiment.decode is None or experiment.decode.beam_size == 1:
            return {}
        score = best.score
        if experiment.train.precision != "float32":
            with torch.inference_mode():
                score = self.task.validate(run.model, "valid", self.device).scores[name]
        beam = evaluation.scores[name]
        return {"greedy": {"score": score, "better": score > beam if self.task.higher_is_better else score < beam}}


def peak_memory(device: torch.device) -> int:
    """The peak memory in bytes: of the GPU if the device is one, otherwise of this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
