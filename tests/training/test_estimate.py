"""The estimated cost of a run, with a clock that the tests advance."""

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

STEP, VALIDATION, SAMPLE, SAVE = 2.0, 50.0, 300.0, 7.0


class Clock:
    """A clock that advances only when a test advances it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A step takes 2 s, a validation 50 s, samples 300 s, a checkpoint 7 s."""
    clock_ = Clock()
    monkeypatch.setattr(estimate_module, "time", clock_)
    monkeypatch.setattr(estimate_module, "MAX_SECONDS", math.inf)

    def step(trainer: Trainer) -> None:
        clock_.now += STEP
        trainer.progress.tokens += 32
        trainer.progress.step += 1

    def evaluate(trainer: Trainer, split: str) -> Evaluation:
        clock_.now += VALIDATION if split == "valid" else 3 * VALIDATION
        return Evaluation({})

    def save(*_: object) -> None:
        clock_.now += SAVE

    monkeypatch.setattr(Trainer, "step", step)
    monkeypatch.setattr(Trainer, "evaluate", evaluate)
    monkeypatch.setattr(estimate_module.checkpoints, "save", save)
    return clock_


def session_with_clock(clock: Clock, monkeypatch: pytest.MonkeyPatch, task: str = "language", **more: Any) -> Session:
    session = tiny_session(task, **more)

    def samples(model: object, device: torch.device) -> list[dict[str, str]]:
        clock.now += SAMPLE
        return []

    monkeypatch.setattr(session.task, "samples", samples)
    return session


@pytest.mark.parametrize(
    ("steps", "every", "validations"), [(12, 4, 3), (12, 5, 3), (12, 12, 1), (3, 4, 1), (1000, 10, 100)]
)
def test_the_time_of_steps_validations_samples_and_the_end_is_estimated(
    steps: int, every: int, validations: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of validations is that of the loop: one every `every` steps and one at the end."""
    estimated = estimate(session_with_clock(clock, monkeypatch, train={"steps": steps, "validate_every": every}))
    assert estimated.seconds == pytest.approx(steps * STEP + validations * (VALIDATION + SAMPLE + SAVE) + VALIDATION)
    assert estimated.steps == steps
    assert estimated.tokens == steps * 32


def test_the_time_of_epochs_and_the_test_split_is_estimated(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    train = {"steps": None, "epochs": 3, "validate_every": None, "accumulate": 2}
    session = session_with_clock(clock, monkeypatch, "classify", train=train, data={"test_share": 0.2})
    per_epoch = -(-len(session.task.epoch(0)) // 2)
    estimated = estimate(session)
    assert estimated.steps == 3 * per_epoch
    assert estimated.seconds == pytest.approx(
        estimated.steps * STEP + 3 * (VALIDATION + SAMPLE + SAVE) + 4 * VALIDATION
    )


def test_the_estimate_has_parameters_memory_and_the_first_batch(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_with_clock(clock, monkeypatch, "classify")
    estimated = estimate(session, rows=2)
    assert estimated.parameters == sum(weight.numel() for weight in session.task.build().parameters())
    assert estimated.memory > 1 << 20
    assert len(estimated.first_batch) == 2
    assert all(" -> " in line for line in estimated.first_batch)


def test_timed_steps_are_spread_over_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = tiny_session("classify", train={"batch_tokens": 16}).trainer([])
    items: list[int] = []
    step = trainer.step
    monkeypatch.setattr(trainer, "step", lambda: (items.append(trainer.progress.item), step()))
    seconds, tokens, steps = time_steps(trainer)
    assert steps == MAX_STEPS
    assert len(items) == MAX_STEPS + 1  # one is the warm-up
    assert min(items) == 0
    assert max(items) > len(trainer.items) * 0.7
    assert seconds > 0
    assert tokens > 0


def test_few_slow_steps_are_timed(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate_module, "MAX_SECONDS", 5.0)
    assert time_steps(tiny_session("language").trainer([])) == (6.0, 3 * 32, 3)
