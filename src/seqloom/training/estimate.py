"""What a run would cost, from a few real steps of it; nothing is kept."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import torch

from seqloom.core.run_format import CHECKPOINTS
from seqloom.tasks.user_defined_parts import part_errors
from seqloom.training import checkpoints
from seqloom.training.loop import Trainer
from seqloom.training.session import Session, peak_memory

STEPS = 12  # at most, spread over the epoch
SECONDS = 20.0  # or until so much time is spent


@dataclass(frozen=True)
class Estimate:
    """The size of a run, and the first batch as a person would read it."""

    parameters: int
    steps: int
    tokens: int
    seconds: float
    memory: int
    first: tuple[str, ...]


def estimate(session: Session, shown: int = 5) -> Estimate:
    """Take some steps, measure each part, write a sample and a checkpoint, and multiply.

    all = steps · step + validations · (valid + sample + checkpoint) + valid + test, and once more valid for an average
    """
    with part_errors(session.experiment):
        return measure(session, shown)


def measure(session: Session, shown: int) -> Estimate:
    """The same; what a user-defined part raises is not yet located."""
    trainer = session.trainer([])
    items = trainer.items
    first = tuple(islice(session.task.show(session.task.batch(items[0])), shown))
    seconds, tokens, steps = timed(trainer)
    measured = [part for part in ("valid", "test") if part in session.task.parts()]
    parts = {part: clocked(partial(trainer.evaluate, part)) for part in measured}
    per_epoch = -(-len(items) // trainer.part.accumulate)
    validations = -(-trainer.total // (trainer.part.validate_every or per_epoch))  # one at the end, whatever is left
    each = parts["valid"] + clocked(lambda: write_samples(session, trainer)) + clocked(lambda: keep(trainer))
    whole = trainer.total * seconds / steps + validations * each + sum(parts.values())
    if trainer.part.average is not None:
        whole += parts["valid"]
    return Estimate(
        sum(weight.numel() for weight in trainer.parameters),
        trainer.total,
        round(trainer.total * tokens / steps),
        whole,
        peak_memory(session.device),
        first,
    )


def timed(trainer: Trainer) -> tuple[float, int, int]:
    """Seconds, tokens and number of a few steps, after one to warm up; spread over the epoch, since lengths differ."""
    every = trainer.part.accumulate
    last = max(0, len(trainer.items) - every)
    places = [round(last * i / STEPS) for i in range(STEPS)]
    take(trainer, places[0])
    before, begun, done = trainer.progress.tokens, time.monotonic(), 0
    for place in places:
        take(trainer, place)
        done += 1
        if time.monotonic() - begun > SECONDS:
            break
    return time.monotonic() - begun, trainer.progress.tokens - before, done


def take(trainer: Trainer, place: int) -> None:
    """One step at this place of the epoch, waited for."""
    trainer.progress.item = place
    trainer.step()
    if trainer.device.type == "cuda":
        torch.cuda.synchronize(trainer.device)


def clocked(work: Callable[[], object]) -> float:
    """How many seconds it takes."""
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def write_samples(session: Session, trainer: Trainer) -> None:
    """The texts that are written at each validation."""
    with torch.inference_mode():
        for _ in session.task.samples(trainer.model, session.device):
            pass


def keep(trainer: Trainer) -> None:
    """A checkpoint, in a place from which it goes again."""
    with tempfile.TemporaryDirectory(prefix="seqloom-") as folder:
        Path(folder, CHECKPOINTS).mkdir()
        checkpoints.save(Path(folder), trainer.model, trainer.optimizer, trainer.state, trainer.progress)
