"""Reduce many points to few, in one pass and bounded memory, and keep every peak and valley."""

from collections.abc import Iterable
from math import isfinite
from typing import Generic, TypeAlias, TypeVar

from seqloom.views.figure import Points

Item = TypeVar("Item")
IndexedPoint: TypeAlias = tuple[int, float, float]  # index, x, y
Bucket: TypeAlias = tuple[IndexedPoint, IndexedPoint]  # its lowest and its highest point


class Downsampler:
    """Reduces a curve, point by point, to at most `limit` points: the first, the last, and the lowest and highest of
    each bucket of consecutive points.

    Points that are not finite are counted in `dropped` and left out.

    >>> curve = Downsampler(limit=6)
    >>> for x in range(100):
    ...     curve.add(x, 50.0 if x == 33 else 0.0)
    >>> (33.0, 50.0) in curve.points(), len(curve.points()) <= 6
    (True, True)
    """

    def __init__(self, limit: int) -> None:
        self.limit = max(limit, 6)
        self.dropped = 0
        self._count = 0
        self._bucket_size = 1
        self._buckets: list[Bucket] = []
        self._ends: tuple[IndexedPoint, ...] = ()  # the first and the last point

    def add(self, x: float, y: float) -> None:
        if not (isfinite(x) and isfinite(y)):
            self.dropped += 1
            return
        point = (self._count, float(x), float(y))
        self._ends = (*self._ends[:1], point)
        if self._count % self._bucket_size == 0 and len(self._buckets) == (self.limit - 2) // 2:
            pairs = zip(self._buckets[::2], [*self._buckets[1::2], self._buckets[-1]], strict=False)
            self._buckets = [_merge(first, second) for first, second in pairs]
            self._bucket_size *= 2
        if self._count % self._bucket_size == 0:
            self._buckets.append((point, point))
        else:
            self._buckets[-1] = _merge(self._buckets[-1], (point, point))
        self._count += 1

    def points(self) -> Points:
        return tuple((x, y) for _, x, y in sorted({*self._ends}.union(*self._buckets)))


def _merge(first: Bucket, second: Bucket) -> Bucket:
    low = second[0] if second[0][2] < first[0][2] else first[0]
    high = second[1] if second[1][2] > first[1][2] else first[1]
    return low, high


class EvenSample(Generic[Item]):
    """At most `limit` items of a stream, evenly spaced, with the first and the last.

    >>> sample = EvenSample[int](limit=4)
    >>> for item in range(10):
    ...     sample.add(item)
    >>> sample.count, sample.items()
    (10, (0, 4, 8, 9))
    """

    def __init__(self, limit: int) -> None:
        self.limit = max(limit, 2)
        self.count = 0
        self._every = 1
        self._items: list[Item] = []
        self._last: list[Item] = []

    def add(self, item: Item) -> None:
        if self.count % self._every == 0 and len(self._items) == self.limit - 1:
            self._items = self._items[::2]
            self._every *= 2
        if self.count % self._every == 0:
            self._items.append(item)
            self._last = []
        else:
            self._last = [item]
        self.count += 1

    def items(self) -> tuple[Item, ...]:
        return (*self._items, *self._last)


def downsample(points: Iterable[tuple[float, float]], limit: int) -> Points:
    """At most `limit` of the points (see `Downsampler`)."""
    sampler = Downsampler(limit)
    for x, y in points:
        sampler.add(x, y)
    return sampler.points()
