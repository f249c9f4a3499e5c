"""What a run would cost, from a few real steps of it; nothing is kept."""

import time
from dataclasses import dataclass
from itertools import islice

import torch

from seqloom.training.loop import Trainer
from seqloom.training.session import Sitting, peak_memory

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


def estimate(sitting: Sitting, shown: int = 5) -> Estimate:
    """Take some steps, measure once, and multiply."""
    trainer = sitting.trainer([])
    items = trainer.items
    first = tuple(islice(sitting.task.show(sitting.task.batch(items[0])), shown))
    seconds, tokens, steps = timed(trainer)
    begun = time.monotonic()
    trainer.evaluate("valid")
    measuring = time.monotonic() - begun
    per_epoch = -(-len(items) // trainer.part.accumulate)
    validations = -(-trainer.total // (trainer.part.validate_every or per_epoch))  # one at the end, whatever is left
    writing = sample_seconds(sitting, trainer)
    finals = 2 if "test" in sitting.task.parts() else 1
    whole = trainer.total * seconds / steps + validations * (measuring + writing) + finals * measuring
    return Estimate(
        sum(weight.numel() for weight in trainer.parameters),
        trainer.total,
        round(trainer.total * tokens / steps),
        whole,
        peak_memory(sitting.device),
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


def sample_seconds(sitting: Sitting, trainer: Trainer) -> float:
    """How long the texts take that are written at each validation."""
    begun = time.monotonic()
    with torch.inference_mode():
        for _ in sitting.task.samples(trainer.model, sitting.device):
            pass
    return time.monotonic() - begun
