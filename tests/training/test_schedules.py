"""Schedules: exact values at chosen steps."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.config.train import Train
from seqloom.core.names import SCHEDULES as NAMES
from seqloom.training.optimization import ScheduleState, learning_rate
from tests.training.small import tiny


def part(schedule: str, **more: Any) -> Train:
    return tiny("language", train={"schedule": schedule, "lr": 0.4, "warmup": 0, **more}).train


def at(step: int = 0, total: int = 100, epoch: int = 0, plateaus: int = 0) -> ScheduleState:
    return ScheduleState(step, total, epoch, plateaus)


def test_constant_is_constant() -> None:
    assert [learning_rate(at(step, epoch=step), part("constant")) for step in (0, 7, 99)] == [0.4, 0.4, 0.4]


def test_halve_goes_by_epochs() -> None:
    chosen = part("halve", halve_every=2)
    rates = [learning_rate(at(epoch=epoch, step=50), chosen) for epoch in range(6)]
    assert rates == pytest.approx([0.4, 0.4, 0.2, 0.2, 0.1, 0.1])


def test_plateau_goes_by_plateaus_met() -> None:
    chosen = part("plateau", halve_every=3)
    assert [learning_rate(at(plateaus=n, epoch=9), chosen) for n in range(3)] == pytest.approx([0.4, 0.2, 0.1])


def test_cosine_ends_at_its_floor() -> None:
    chosen = part("cosine", min_lr_ratio=0.1)
    assert [learning_rate(at(step), chosen) for step in (0, 25, 50, 100)] == pytest.approx(
        [0.4, 0.04 + 0.36 * (1 + math.sqrt(0.5)) / 2, 0.22, 0.04]
    )
    assert learning_rate(at(140), chosen) == pytest.approx(
        0.04
    )  # epochs may have a few batches more than the first one
    assert learning_rate(at(100), part("cosine")) == pytest.approx(0.0)


def test_cosine_falls_over_the_steps_after_the_warm_up() -> None:
    chosen = part("cosine", warmup=20)
    assert learning_rate(at(20), chosen) == pytest.approx(0.4)
    assert learning_rate(at(60), chosen) == pytest.approx(0.2)
    assert learning_rate(at(100), chosen) == pytest.approx(0.0)


@pytest.mark.parametrize("schedule", NAMES)
def test_warm_up_rises_in_equal_steps_to_all_of_the_rate(schedule: str) -> None:
    chosen = part(schedule, warmup=10)
    assert [learning_rate(at(step), chosen) for step in (0, 4, 9)] == pytest.approx([0.04, 0.2, 0.4])


@given(st.integers(1, 5000), st.integers(1, 20_000))
def test_inverse_sqrt_is_that_of_2017(warmup: int, step: int) -> None:
    """lr = d^−½ min(step^−½, step · warmup^−1.5), up to its constant, step from 1; the constant makes its peak `lr`."""
    paper = min(step**-0.5, step * warmup**-1.5)
    assert learning_rate(at(step - 1), part("inverse-sqrt", warmup=warmup)) == pytest.approx(0.4 * paper * warmup**0.5)


def test_inverse_sqrt_without_a_warm_up() -> None:
    assert [learning_rate(at(step), part("inverse-sqrt")) for step in (0, 3, 8)] == pytest.approx([0.4, 0.2, 0.4 / 3])


@given(st.sampled_from(list(NAMES)), st.integers(0, 300), st.integers(0, 300), st.floats(0, 1))
def test_a_rate_is_between_nothing_and_lr(schedule: str, step: int, warmup: int, floor: float) -> None:
    chosen = part(schedule, warmup=warmup, **({"min_lr_ratio": floor} if schedule == "cosine" else {}))
    assert 0 <= learning_rate(at(step, total=200, epoch=step // 50), chosen) <= 0.4 * (1 + 1e-12)
