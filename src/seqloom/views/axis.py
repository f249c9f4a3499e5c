"""Linear and logarithmic axes, with ticks at round numbers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import ceil, floor, isfinite, log10

from seqloom.views.format import scientific, tick_label

LARGEST = 1e100  # larger values are not drawn: their differences and squares overflow


@dataclass(frozen=True)
class Axis:
    """A range of values, and its ticks (value, label).

    >>> axis = linear_axis([3.0, 97.0], count=5)
    >>> axis.low, axis.high, [label for _, label in axis.ticks]
    (0.0, 100.0, ['0', '20', '40', '60', '80', '100'])
    >>> axis.position(25.0)
    0.25
    """

    low: float
    high: float
    log: bool
    ticks: tuple[tuple[float, str], ...]

    def position(self, value: float) -> float:
        """The position of a value between the ends, 0 to 1; 0 if it can't be drawn."""
        if not drawable(value, self.log):
            return 0.0
        scale: Callable[[float], float] = log10 if self.log else float
        fraction = (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))
        return min(max(fraction, 0.0), 1.0)

    def within(self, bounds: tuple[float, float]) -> "Axis":
        """The axis, which ends at the bounds where it would go beyond them, as by the margins of equal values.

        >>> linear_axis([100.0, 100.0]).high, linear_axis([100.0, 100.0]).within((0.0, 100.0)).high
        (110.0, 100.0)
        """
        low, high = max(self.low, bounds[0]), min(self.high, bounds[1])
        if not low < high or (low, high) == (self.low, self.high):
            return self
        return replace(self, low=low, high=high, ticks=tuple(tick for tick in self.ticks if low <= tick[0] <= high))


def drawable(value: float, log: bool) -> bool:
    return isfinite(value) and abs(value) <= LARGEST and (not log or value > 1 / LARGEST)


def linear_axis(values: Iterable[float], count: int = 5) -> Axis:
    """A linear axis that contains all values and ends at round numbers, with about `count` ticks."""
    low, high = _range(values)
    step = _round_step((high - low) / count)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)  # a BLEU of 100.00000000000004 ends at 100
    ticks = _ticks(first, last, step)
    return Axis(ticks[0][0], ticks[-1][0], False, ticks)


def exact_axis(low: float, high: float, count: int = 5) -> Axis:
    """A linear axis from `low` to `high`, with round ticks inside."""
    low, high = _range((low, high))
    step = _round_step((high - low) / count)
    return Axis(low, high, False, _ticks(ceil(low / step - 1e-9), floor(high / step + 1e-9), step))


def log_axis(values: Iterable[float], count: int = 5) -> Axis:
    """A logarithmic axis that contains all positive values; ticks are powers of ten, or 1, 2 and 5 times these.

    >>> [label for _, label in log_axis([0.02, 3.0]).ticks]
    ['0.02', '0.05', '0.1', '0.2', '0.5', '1', '2', '5']
    """
    logs = [log10(value) for value in values if drawable(value, log=True)]
    lowest, highest = min(logs, default=0.0), max(logs, default=1.0)
    powers = range(floor(lowest), ceil(highest) + 1)
    if len(powers) > 4:
        every = ceil(len(powers) / (count + 1))
        ticks = [10.0**power for power in range(powers[0], powers[-1] + every, every)]
    else:
        fine = [digit * 10.0**power for power in range(powers[0], powers[-1] + 1) for digit in (1, 2, 5)]
        start = max(index for index, tick in enumerate(fine) if log10(tick) <= lowest + 1e-9)
        end = next(index for index, tick in enumerate(fine) if log10(tick) >= highest - 1e-9)
        ticks = fine[start : max(end, start + 1) + 1]
    return Axis(ticks[0], ticks[-1], True, _labeled(ticks))


def _round_step(size: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is at least `size`."""
    power = 10.0 ** floor(log10(size))
    return next(power * digit for digit in (1, 2, 2.5, 5, 10) if power * digit >= size * (1 - 1e-9))


def _range(values: Iterable[float]) -> tuple[float, float]:
    """The smallest and the largest value that can be drawn; if they are equal, with a margin on both sides."""
    finite = [value for value in values if drawable(value, log=False)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    if max(abs(low), abs(high)) <= 1 / LARGEST:  # all values are 0
        return 0.0, 1.0
    if high - low <= max(abs(low), abs(high)) * 1e-9 + 1 / LARGEST:  # all values are equal
        return low - abs(high) / 10, high + abs(high) / 10
    return low, high


def _ticks(first: int, last: int, step: float) -> tuple[tuple[float, str], ...]:
    decimals = max(0, 1 - floor(log10(step)))  # 3 * 0.1 is 0.30000000000000004
    return _labeled([round(index * step, decimals) for index in range(first, last + 1)])


def _labeled(ticks: list[float]) -> tuple[tuple[float, str], ...]:
    """Ticks with labels: if one is in scientific notation, all are, since 0.001 is hard to compare with 8e-4.

    >>> [label for _, label in _labeled([0.0, 5e-4, 1e-3])]
    ['0', '5e-4', '1e-3']
    """
    labels = [tick_label(tick) for tick in ticks]
    if any("e-" in label for label in labels) and max(map(abs, ticks)) < 0.1:
        labels = [scientific(tick) if tick else "0" for tick in ticks]
    return tuple(zip(ticks, labels, strict=True))
