"""Long rows in pieces: each piece is read by itself, so that all of a row is answered for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

Step = TypeVar("Step")


@dataclass(frozen=True)
class Pieces:
    """Rows cut into pieces of at most `most` steps: of each piece its row, where it begins there, and its length.

    >>> pieces = Pieces.of(np.array([5, 2]), most=3)
    >>> pieces.rows.tolist(), pieces.starts.tolist(), pieces.lengths.tolist()
    ([0, 0, 1], [0, 3, 0], [3, 2, 2])
    """

    rows: Integer[ndarray, " pieces"]
    starts: Integer[ndarray, " pieces"]
    lengths: Integer[ndarray, " pieces"]

    @staticmethod
    def of(lengths: Integer[ndarray, " rows"], most: int | None) -> "Pieces":
        """All pieces of all rows, in order; whole rows if there is no `most`. An empty row has none."""
        size = most or max(1, int(lengths.max(initial=0)))
        counts = -(-lengths // size)
        rows = np.repeat(np.arange(len(lengths)), counts)
        starts = size * (np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts))
        return Pieces(rows, starts, np.minimum(size, lengths[rows] - starts))


class Joined(Generic[Step]):
    """Rows whose pieces come in any order; only those that are not yet whole are held.

    >>> rows = Joined([5, 2])
    >>> rows.add(0, 3, "de")
    >>> rows.add(0, 0, "abc")
    ['a', 'b', 'c', 'd', 'e']
    """

    def __init__(self, lengths: Sequence[int] | Integer[ndarray, " rows"]) -> None:
        self.lengths = lengths
        self.waiting: dict[int, dict[int, Sequence[Step]]] = {}

    def add(self, row: int, start: int, steps: Sequence[Step]) -> list[Step] | None:
        """One more piece: the whole row if it was the last one to come, else None."""
        came = self.waiting.setdefault(row, {})
        came[start] = steps
        if sum(map(len, came.values())) < self.lengths[row]:
            return None
        del self.waiting[row]
        return [step for begin in sorted(came) for step in came[begin]]
