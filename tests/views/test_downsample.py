"""Downsampling keeps a bounded number of points, in order, with the extremes."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from seqloom.views.downsample import Downsampler, EvenSample, downsample


@given(ys=st.lists(st.floats(-1e6, 1e6), max_size=300), limit=st.integers(6, 40))
def test_a_curve_keeps_its_ends_and_extremes(ys: list[float], limit: int) -> None:
    points = [(float(x), y) for x, y in enumerate(ys)]
    result = downsample(points, limit)
    assert len(result) <= limit
    assert list(result) == [point for point in points if point in result]
    if points:
        assert result[0] == points[0]
        assert result[-1] == points[-1]
        assert min(y for _, y in result) == min(ys)
        assert max(y for _, y in result) == max(ys)


@given(count=st.integers(0, 40))
def test_a_short_curve_is_not_changed(count: int) -> None:
    points = tuple((float(x), float(x * x % 7)) for x in range(count))
    assert downsample(points, 2 * count + 2) == points


def test_points_are_spread_over_the_curve() -> None:
    result = [x for x, _ in downsample(((float(x), float(x % 10)) for x in range(20_000)), 400)]
    assert max(right - left for left, right in pairwise(result)) < 400
    assert 200 < len(result) <= 400


def test_values_that_are_not_finite_are_counted() -> None:
    downsampler = Downsampler(10)
    for y in (1.0, float("nan"), float("inf"), 2.0):
        downsampler.add(0, y)
    assert downsampler.dropped == 2
    assert [y for _, y in downsampler.points()] == [1.0, 2.0]


@given(count=st.integers(0, 200), limit=st.integers(2, 12))
def test_an_even_sample_has_the_first_and_the_last_item(count: int, limit: int) -> None:
    sample = EvenSample[int](limit)
    for number in range(count):
        sample.add(number)
    result = sample.items()
    assert sample.count == count
    assert len(result) == len(set(result)) <= limit
    assert list(result) == sorted(result)
    if count:
        assert result[0] == 0
        assert result[-1] == count - 1
    if count < limit:
        assert result == tuple(range(count))
