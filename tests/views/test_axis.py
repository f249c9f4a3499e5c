"""Axes cover their values, whatever these are."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.views.axis import Axis, drawable, exact_axis, linear_axis, log_axis
from tests.views.examples import numbers

some_values = st.lists(numbers, max_size=6)


def check(axis: Axis, values: list[float]) -> None:
    positions = [axis.position(value) for value in sorted(value for value in values if drawable(value, axis.log))]
    assert all(0 <= position <= 1 for position in positions)
    assert positions == sorted(positions)
    assert 1 <= len(axis.ticks) <= 14
    assert all(left < right for (left, _), (right, _) in pairwise(axis.ticks))
    assert all(0 <= axis.position(mark) <= 1 for mark, _ in axis.ticks)


@given(values=some_values, count=st.integers(3, 8))
def test_a_linear_axis_covers_its_values(values: list[float], count: int) -> None:
    axis = linear_axis(values, count)
    check(axis, values)
    near = [value for value in values if drawable(value, log=False) and abs(value) < 1e9]
    rounding = 1e-9 * (axis.high - axis.low)  # 5e-324 is rounded to 0 with a step of 1
    assert all(axis.low - rounding <= value <= axis.high + rounding for value in near)


@given(values=some_values, count=st.integers(3, 8))
def test_a_logarithmic_axis_covers_its_values(values: list[float], count: int) -> None:
    axis = log_axis(values, count)
    check(axis, values)
    assert all(axis.low * 0.99 <= value <= axis.high * 1.01 for value in values if drawable(value, log=True))


@given(shares=st.lists(st.floats(0, 1), min_size=1, max_size=6), high=st.sampled_from([1.0, 100.0]), log=st.booleans())
def test_a_bounded_axis_covers_its_values_and_ends_at_the_bounds(shares: list[float], high: float, log: bool) -> None:
    values, bounds = [share * high for share in shares], (0.0, high)
    for count in range(3, 9):
        axis = (log_axis if log else linear_axis)(values, count).within(bounds)
        check(axis, values)
        assert 0 <= axis.low < axis.high <= high or (log and axis.low >= high)
        first, last = axis.low * (1 - 1e-8), axis.high * (1 + 1e-8)  # ticks are rounded
        assert all(first <= value <= last for value in values if value > 1e-90 or not log)


@given(low=numbers, high=numbers)
def test_an_exact_axis_is_never_empty(low: float, high: float) -> None:
    axis = exact_axis(low, high)
    assert axis.low < axis.high


def test_a_value_that_can_not_be_drawn_is_at_the_low_end() -> None:
    assert linear_axis([0.0, 1.0]).position(float("nan")) == 0
    assert linear_axis([0.0, 1.0]).position(float("inf")) == 0
    assert log_axis([1.0, 10.0]).position(0.0) == 0


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([0.0, 1.0], ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        ([1.4, 4.6], ["1", "2", "3", "4", "5"]),
        ([0.0, 2e6], ["0", "500k", "1M", "1.5M", "2M"]),
        ([0.0, 0.0], ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        ([91.0, 100.00000000000004], ["90", "92", "94", "96", "98", "100"]),
        ([3.0, 3.0], ["2.6", "2.8", "3", "3.2", "3.4"]),
    ],
)
def test_ticks_are_round(values: list[float], names: list[str]) -> None:
    assert [name for _, name in linear_axis(values).ticks] == names


def test_ticks_of_a_long_range_are_powers_of_ten() -> None:
    assert [name for _, name in log_axis([1e-5, 0.9]).ticks] == ["1e-5", "1e-4", "0.001", "0.01", "0.1", "1"]
