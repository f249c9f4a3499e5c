"""The cost of a run, estimated from a few steps on its data; nothing is saved."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import nn

from seqloom.core.run_format import CHECKPOINTS
from seqloom.tasks.user_defined_parts import part_errors
from seqloom.training import checkpoints
from seqloom.training.loop import Trainer
from seqloom.training.session import Session, peak_memory

MAX_STEPS = 12
MAX_SECONDS = 20.0  # no step begins after this


@dataclass(frozen=True)
class Estimate:
    """The size and cost of a run. memory: peak bytes; first_batch: the first rows of the first batch, as text."""

    parameters: int
    steps: int
    tokens: int
    seconds: float
    memory: int
    first_batch: tuple[str, ...]
    model: nn.Module


def estimate(session: Session, rows: int = 5) -> Estimate:
    """Measure a few steps, an evaluation of each split, samples and a checkpoint, and extrapolate.

    seconds = steps · step + validations · (valid + samples + checkpoint) + valid + test (+ valid for an average)

    rows: how many rows of the first batch to describe
    """
    with part_errors(session.experiment):
        trainer = session.trainer([])
        task, config = session.task, trainer.config
        first_batch = tuple(islice(task.format_batch(task.batch(trainer.items[0])), rows))
        seconds, tokens, steps = time_steps(trainer)
        splits = [split for split in ("valid", "test") if split in task.splits()]
        evaluation = {split: elapsed(trainer.evaluate, split) for split in splits}
        steps_per_epoch = -(-len(trainer.items) // config.accumulate)
        validations = -(-trainer.total // (config.validate_every or steps_per_epoch))  # the last one at the end
        validation = evaluation["valid"] + elapsed(generate_samples, trainer) + elapsed(save_checkpoint, trainer)
        total_seconds = trainer.total * seconds / steps + validations * validation + sum(evaluation.values())
        if config.average_checkpoints is not None:
            total_seconds += evaluation["valid"]
        parameters, memory = sum(weight.numel() for weight in trainer.parameters), peak_memory(session.device)
        total_tokens = round(trainer.total * tokens / steps)
        return Estimate(parameters, trainer.total, total_tokens, total_seconds, memory, first_batch, trainer.model)


def time_steps(trainer: Trainer) -> tuple[float, int, int]:
    """Seconds, tokens and number of a few steps after a warm-up step, spread over the epoch because lengths differ."""

    def step(item: int) -> None:
        trainer.progress.item = item
        trainer.step()
        if trainer.device.type == "cuda":
            torch.cuda.synchronize(trainer.device)

    last = max(0, len(trainer.items) - trainer.config.accumulate)
    items = [round(last * i / MAX_STEPS) for i in range(MAX_STEPS)]
    step(items[0])
    tokens, start, steps = trainer.progress.tokens, time.monotonic(), 0
    for item in items:
        step(item)
        steps += 1
        if time.monotonic() - start > MAX_SECONDS:
            break
    return time.monotonic() - start, trainer.progress.tokens - tokens, steps


def elapsed(function: Callable[..., object], *args: object) -> float:
    """The seconds that a call takes."""
    start = time.monotonic()
    function(*args)
    return time.monotonic() - start


def generate_samples(trainer: Trainer) -> None:
    with torch.inference_mode():
        for _ in trainer.task.samples(trainer.model, trainer.device):
            pass


def save_checkpoint(trainer: Trainer) -> None:
    with tempfile.TemporaryDirectory(prefix="seqloom-") as folder:
        Path(folder, CHECKPOINTS).mkdir()
        checkpoints.save(Path(folder), trainer)
