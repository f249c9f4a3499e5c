"""Cuts long rows into chunks that a model reads one by one, so that every step of a row gets an answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

StepT = TypeVar("StepT")


@dataclass(frozen=True)
class Chunks:
    """Rows cut into chunks of at most `max_length` steps: each chunk's row, its start in the row, and its length.

    >>> chunks = Chunks.cut(np.array([5, 2]), max_length=3)
    >>> chunks.rows.tolist(), chunks.starts.tolist(), chunks.lengths.tolist()
    ([0, 0, 1], [0, 3, 0], [3, 2, 2])
    """

    rows: Integer[ndarray, " chunks"]
    starts: Integer[ndarray, " chunks"]
    lengths: Integer[ndarray, " chunks"]

    @staticmethod
    def cut(lengths: Integer[ndarray, " rows"], max_length: int | None) -> "Chunks":
        """The chunks of all rows, in order; whole rows without a `max_length`. An empty row has none."""
        size = max_length or max(1, int(lengths.max(initial=0)))
        counts = -(-lengths // size)
        rows = np.repeat(np.arange(len(lengths)), counts)
        starts = size * (np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts))
        return Chunks(rows, starts, np.minimum(size, lengths[rows] - starts))


class ChunkJoiner(Generic[StepT]):
    """Joins rows whose chunks come in any order; holds incomplete rows only.

    >>> rows = ChunkJoiner([5, 2])
    >>> rows.add(0, 3, "de")
    >>> rows.add(0, 0, "abc")
    ['a', 'b', 'c', 'd', 'e']
    """

    def __init__(self, lengths: Sequence[int] | Integer[ndarray, " rows"]) -> None:
        self.lengths = lengths
        self.incomplete: dict[int, dict[int, Sequence[StepT]]] = {}

    def add(self, row: int, start: int, steps: Sequence[StepT]) -> list[StepT] | None:
        """Add a chunk; return the whole row if this completes it, else None."""
        chunks = self.incomplete.setdefault(row, {})
        chunks[start] = steps
        if sum(map(len, chunks.values())) < self.lengths[row]:
            return None
        del self.incomplete[row]
        return [step for begin in sorted(chunks) for step in chunks[begin]]
