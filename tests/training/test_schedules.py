"""Learning rate schedules equal their formulas at selected steps."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.config.train import Train
from seqloom.core.names import SCHEDULES
from seqloom.training.schedules import ScheduleState, learning_rate
from tests.training.small import tiny


def schedule_config(schedule: str, **more: Any) -> Train:
    return tiny("language", train={"schedule": schedule, "lr": 0.4, "warmup": 0, **more}).train


def at(step: int = 0, total: int = 100, epoch: int = 0, plateaus: int = 0) -> ScheduleState:
    return ScheduleState(step, total, epoch, plateaus)


def test_the_constant_schedule_is_constant() -> None:
    assert [learning_rate(at(step, epoch=step), schedule_config("constant")) for step in (0, 7, 99)] == [0.4, 0.4, 0.4]


def test_halve_depends_on_epochs() -> None:
    config = schedule_config("halve", halve_every=2)
    rates = [learning_rate(at(epoch=epoch, step=50), config) for epoch in range(6)]
    assert rates == pytest.approx([0.4, 0.4, 0.2, 0.2, 0.1, 0.1])


def test_plateau_depends_on_the_number_of_plateaus() -> None:
    config = schedule_config("plateau", halve_every=3)
    assert [learning_rate(at(plateaus=n, epoch=9), config) for n in range(3)] == pytest.approx([0.4, 0.2, 0.1])


def test_cosine_ends_at_min_lr_ratio() -> None:
    config = schedule_config("cosine", min_lr_ratio=0.1)
    assert [learning_rate(at(step), config) for step in (0, 25, 50, 100)] == pytest.approx(
        [0.4, 0.04 + 0.36 * (1 + math.sqrt(0.5)) / 2, 0.22, 0.04]
    )
    assert learning_rate(at(140), config) == pytest.approx(
        0.04
    )  # epochs may have a few batches more than the first one
    assert learning_rate(at(100), schedule_config("cosine")) == pytest.approx(0.0)


def test_cosine_decays_over_the_steps_after_the_warm_up() -> None:
    config = schedule_config("cosine", warmup=20)
    assert learning_rate(at(20), config) == pytest.approx(0.4)
    assert learning_rate(at(60), config) == pytest.approx(0.2)
    assert learning_rate(at(100), config) == pytest.approx(0.0)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_warm_up_is_linear(schedule: str) -> None:
    config = schedule_config(schedule, warmup=10)
    assert [learning_rate(at(step), config) for step in (0, 4, 9)] == pytest.approx([0.04, 0.2, 0.4])


@given(st.integers(1, 5000), st.integers(1, 20_000))
def test_inverse_sqrt_equals_the_schedule_of_vaswani_2017(warmup: int, step: int) -> None:
    """lr = d^−½ min(step^−½, step · warmup^−1.5), with steps from 1 and a constant that makes the maximum `lr`."""
    paper = min(step**-0.5, step * warmup**-1.5)
    assert learning_rate(at(step - 1), schedule_config("inverse-sqrt", warmup=warmup)) == pytest.approx(
        0.4 * paper * warmup**0.5
    )


def test_inverse_sqrt_without_a_warm_up() -> None:
    assert [learning_rate(at(step), schedule_config("inverse-sqrt")) for step in (0, 3, 8)] == pytest.approx(
        [0.4, 0.2, 0.4 / 3]
    )


@given(st.sampled_from(list(SCHEDULES)), st.integers(0, 300), st.integers(0, 300), st.floats(0, 1))
def test_the_rate_is_between_0_and_lr(schedule: str, step: int, warmup: int, floor: float) -> None:
    config = schedule_config(schedule, warmup=warmup, **({"min_lr_ratio": floor} if schedule == "cosine" else {}))
    assert 0 <= learning_rate(at(step, total=200, epoch=step // 50), config) <= 0.4 * (1 + 1e-12)
