"""Many points to few, in one pass and bounded memory, with every peak and valley kept."""

from collections.abc import Iterable
from math import isfinite
from typing import Generic, TypeVar

from seqloom.views.figure import Points

Item = TypeVar("Item")
Numbered = tuple[int, float, float]


class Thinner:
    """A curve as it comes, in at most `limit` points: the first, the last, and each stretch's lowest and highest.

    Points that are not finite are counted in `lost` and left out.

    >>> thin = Thinner(limit=6)
    >>> for x in range(100):
    ...     thin.add(x, 50.0 if x == 33 else 0.0)
    >>> (33.0, 50.0) in thin.points(), len(thin.points()) <= 6
    (True, True)
    """

    def __init__(self, limit: int) -> None:
        self.limit = max(limit, 6)
        self.lost = 0
        self._count = 0
        self._stretch = 1  # points in a bucket
        self._buckets: list[tuple[Numbered, Numbered]] = []  # each one's lowest and highest point
        self._first: Numbered | None = None
        self._last: Numbered | None = None

    def add(self, x: float, y: float) -> None:
        """The next point."""
        if not (isfinite(x) and isfinite(y)):
            self.lost += 1
            return
        point = (self._count, float(x), float(y))
        if self._first is None:
            self._first = point
        self._last = point
        if self._count % self._stretch == 0:
            if len(self._buckets) == (self.limit - 2) // 2:
                self._halve()
            if self._count % self._stretch == 0:
                self._buckets.append((point, point))
                self._count += 1
                return
        low, high = self._buckets[-1]
        if y < low[2]:
            self._buckets[-1] = (point, high)
        elif y > high[2]:
            self._buckets[-1] = (low, point)
        self._count += 1

    def points(self) -> Points:
        """What is kept, in order."""
        if self._first is None or self._last is None:
            return ()
        kept = {self._first, self._last}.union(*self._buckets)
        return tuple((x, y) for _, x, y in sorted(kept))

    def _halve(self) -> None:
        pairs = zip(self._buckets[::2], [*self._buckets[1::2], None], strict=False)
        self._buckets = [one if other is None else _wider(one, other) for one, other in pairs]
        self._stretch *= 2


class Spread(Generic[Item]):
    """At most `limit` of the things that came, evenly spread, the first and the last among them.

    >>> some = Spread[int](limit=4)
    >>> for number in range(10):
    ...     some.add(number)
    >>> some.count, some.kept()
    (10, (0, 4, 8, 9))
    """

    def __init__(self, limit: int) -> None:
        self.limit = max(limit, 2)
        self.count = 0
        self._every = 1
        self._kept: list[Item] = []
        self._last: list[Item] = []

    def add(self, item: Item) -> None:
        """The next thing."""
        if self.count % self._every == 0:
            if len(self._kept) == self.limit - 1:
                self._kept = self._kept[::2]
                self._every *= 2
            if self.count % self._every == 0:
                self._kept.append(item)
                self._last = []
            else:
                self._last = [item]
        else:
            self._last = [item]
        self.count += 1

    def kept(self) -> tuple[Item, ...]:
        """What is kept, in order."""
        return (*self._kept, *self._last)


def thin(points: Iterable[tuple[float, float]], limit: int) -> Points:
    """At most `limit` of the points (see `Thinner`)."""
    thinner = Thinner(limit)
    for x, y in points:
        thinner.add(x, y)
    return thinner.points()


def _wider(one: tuple[Numbered, Numbered], other: tuple[Numbered, Numbered]) -> tuple[Numbered, Numbered]:
    low = min(one[0], other[0], key=lambda point: point[2])
    high = max(one[1], other[1], key=lambda point: point[2])
    return low, high
