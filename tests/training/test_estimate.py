"""The estimate of a run's cost, with a clock that the test moves."""

import math
from typing import Any

import pytest
import torch

from seqloom.tasks.task import Evaluation
from seqloom.training import estimate as estimate_module
from seqloom.training.estimate import MAX_STEPS, estimate, time_steps
from seqloom.training.loop import Trainer
from seqloom.training.session import Session
from tests.training.small import tiny_session

STEP, MEASURE, SAMPLE, SAVE = 2.0, 50.0, 300.0, 7.0


class Clock:
    """Moves only when the test moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A step takes 2 s, a validation 50 s, samples 300 s, a checkpoint 7 s."""
    made = Clock()
    monkeypatch.setattr(estimate_module, "time", made)
    monkeypatch.setattr(estimate_module, "MAX_SECONDS", math.inf)

    def step(trainer: Trainer) -> None:
        made.now += STEP
        trainer.progress.tokens += 32
        trainer.progress.step += 1

    def evaluate(trainer: Trainer, part: str) -> Evaluation:
        made.now += MEASURE if part == "valid" else 3 * MEASURE
        return Evaluation({})

    def save(*_: object) -> None:
        made.now += SAVE

    monkeypatch.setattr(Trainer, "step", step)
    monkeypatch.setattr(Trainer, "evaluate", evaluate)
    monkeypatch.setattr(estimate_module.checkpoints, "save", save)
    return made


def stubbed(clock: Clock, monkeypatch: pytest.MonkeyPatch, task: str = "language", **more: Any) -> Session:
    made = tiny_session(task, **more)

    def samples(model: object, device: torch.device) -> list[dict[str, str]]:
        clock.now += SAMPLE
        return []

    monkeypatch.setattr(made.task, "samples", samples)
    return made


@pytest.mark.parametrize(
    ("steps", "every", "validations"), [(12, 4, 3), (12, 5, 3), (12, 12, 1), (3, 4, 1), (1000, 10, 100)]
)
def test_steps_validations_samples_and_the_end(
    steps: int, every: int, validations: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many validations as the loop has: every so many steps, and one at the end."""
    made = estimate(stubbed(clock, monkeypatch, train={"steps": steps, "validate_every": every}))
    assert made.seconds == pytest.approx(steps * STEP + validations * (MEASURE + SAMPLE + SAVE) + MEASURE)
    assert made.steps == steps
    assert made.tokens == steps * 32


def test_epochs_and_a_test_split(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    train = {"steps": None, "epochs": 3, "validate_every": None, "accumulate": 2}
    session = stubbed(clock, monkeypatch, "classify", train=train, data={"test_share": 0.2})
    per_epoch = -(-len(session.task.epoch(0)) // 2)
    made = estimate(session)
    assert made.steps == 3 * per_epoch
    assert made.seconds == pytest.approx(made.steps * STEP + 3 * (MEASURE + SAMPLE + SAVE) + 4 * MEASURE)


def test_parameters_memory_and_first_batch(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    session = stubbed(clock, monkeypatch, "classify")
    made = estimate(session, shown=2)
    assert made.parameters == sum(weight.numel() for weight in session.task.build().parameters())
    assert made.memory > 1 << 20
    assert len(made.first_batch) == 2
    assert all(" -> " in line for line in made.first_batch)


def test_steps_are_spread_over_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = tiny_session("classify", train={"batch_tokens": 16}).trainer([])
    places: list[int] = []
    step = trainer.step
    monkeypatch.setattr(trainer, "step", lambda: (places.append(trainer.progress.item), step()))
    seconds, tokens, steps = time_steps(trainer)
    assert steps == MAX_STEPS
    assert len(places) == MAX_STEPS + 1  # one to warm up
    assert min(places) == 0
    assert max(places) > len(trainer.items) * 0.7
    assert seconds > 0
    assert tokens > 0


def test_slow_steps_are_few(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate_module, "MAX_SECONDS", 5.0)
    assert time_steps(tiny_session("language").trainer([])) == (6.0, 3 * 32, 3)
