"""From values to places: a linear or logarithmic axis, with ticks at round numbers."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

from seqloom.views.format import brief, scientific

FARTHEST = 1e100  # beyond it, differences and squares overflow; such a value is no use in a picture


@dataclass(frozen=True)
class Axis:
    """A range of values, and the labelled ones among them.

    >>> axis = linear([3.0, 97.0], count=5)
    >>> axis.low, axis.high, [label for _, label in axis.ticks]
    (0.0, 100.0, ['0', '20', '40', '60', '80', '100'])
    >>> axis.place(25.0)
    0.25
    """

    low: float
    high: float
    log: bool
    ticks: tuple[tuple[float, str], ...]

    def place(self, value: float) -> float | None:
        """Where a value lies between the ends, 0 to 1; None if it can't be drawn."""
        if not drawable(value, self.log):
            return None
        if self.log:
            share = (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0)


def drawable(value: float, log: bool) -> bool:
    """Whether a value has a place on an axis of that kind."""
    return isfinite(value) and abs(value) <= FARTHEST and (not log or value > 1 / FARTHEST)


def linear(values: Iterable[float], count: int = 5) -> Axis:
    """A linear axis that holds all values, from one round number to another."""
    low, high = _range(values)
    step = round_step((high - low) / count)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)  # a BLEU of 100.00000000000004 ends at 100
    return Axis(first * step, last * step, False, _ticks(first, last, step))


def exact(low: float, high: float, count: int = 5) -> Axis:
    """A linear axis from `low` to `high`, ticks inside."""
    low, high = _range((low, high))
    step = round_step((high - low) / count)
    return Axis(low, high, False, _ticks(ceil(low / step - 1e-9), floor(high / step + 1e-9), step))


def logarithmic(values: Iterable[float], count: int = 5) -> Axis:
    """A logarithmic axis that holds all positive values; ticks at powers of ten, or at 1, 2, 5 when those are few.

    >>> [label for _, label in logarithmic([0.02, 3.0]).ticks]
    ['0.02', '0.05', '0.1', '0.2', '0.5', '1', '2', '5']
    """
    places = [log10(value) for value in values if drawable(value, log=True)]
    lowest, highest = min(places, default=0.0), max(places, default=1.0)
    powers = range(floor(lowest), ceil(highest) + 1)
    if len(powers) > 4:
        every = ceil(len(powers) / (count + 1))
        marks = [10.0**power for power in range(powers[0], powers[-1] + every, every)]
    else:
        fine = [digit * 10.0**power for power in range(powers[0], powers[-1] + 1) for digit in (1, 2, 5)]
        start = max(index for index, mark in enumerate(fine) if log10(mark) <= lowest + 1e-9)
        rest = next(index for index, mark in enumerate(fine) if log10(mark) >= highest - 1e-9)
        marks = fine[start : max(rest, start + 1) + 1]
    return Axis(marks[0], marks[-1], True, _labelled(marks))


def round_step(size: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is at least `size`."""
    power = 10.0 ** floor(log10(size))
    return next(power * digit for digit in (1, 2, 2.5, 5, 10) if power * digit >= size * (1 - 1e-9))


def _range(values: Iterable[float]) -> tuple[float, float]:
    """The smallest and the largest that can be drawn, kept apart."""
    kept = [value for value in values if drawable(value, log=False)]
    low, high = min(kept, default=0.0), max(kept, default=1.0)
    if max(abs(low), abs(high)) <= 1 / FARTHEST:  # nothing but 0: below it lies nothing that a score could be
        return 0.0, 1.0
    if high - low <= max(abs(low), abs(high)) * 1e-9 + 1 / FARTHEST:  # one value: give it room on both sides
        return low - abs(high) / 10, high + abs(high) / 10
    return low, high


def _ticks(first: int, last: int, step: float) -> tuple[tuple[float, str], ...]:
    decimals = max(0, 1 - floor(log10(step)))  # 3 * 0.1 is 0.30000000000000004
    marks = [round(index * step, decimals) if decimals < 300 else index * step for index in range(first, last + 1)]
    return _labelled(marks)


def _labelled(marks: list[float]) -> tuple[tuple[float, str], ...]:
    """All in powers of ten if one is: 0.001 beside 8e-4 is hard to compare.

    >>> [name for _, name in _labelled([0.0, 5e-4, 1e-3])]
    ['0', '5e-4', '1e-3']
    """
    names = [brief(mark) for mark in marks]
    if any("e-" in name for name in names) and max(map(abs, marks)) < 0.1:
        names = [scientific(mark) if mark else "0" for mark in marks]
    return tuple(zip(marks, names, strict=True))
