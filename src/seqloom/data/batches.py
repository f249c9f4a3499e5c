"""Which examples go into which batch: a pure function of (seed, epoch), whatever has happened before."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.data.permutation import random_generator, shuffled_positions, stable_hash

POOL = 1 << 16  # examples sorted by length together: enough that a batch's lengths are nearly equal


def batches_by_length(
    lengths: Integer[ndarray, " rows"] | Integer[ndarray, "rows sides"], budget: int, *, seed: int, epoch: int
) -> list[Integer[ndarray, " batch"]]:
    """Rows of nearly equal length together, at most `budget` tokens a batch with padding; in shuffled order.

    Rows are shuffled, sorted by length within pools of 65,536, cut into batches, and the batches shuffled. A row longer
    than the budget has a batch of its own. Where a row has several sides (a text and its translation), each is padded
    to the longest of its side, and the budget is for all sides together.

    >>> [sorted(batch.tolist()) for batch in batches_by_length(np.array([2, 9, 2, 9]), 18, seed=1, epoch=0)] in (
    ...     [[0, 2], [1, 3]],
    ...     [[1, 3], [0, 2]],
    ... )
    True
    """
    sides = lengths[:, None] if lengths.ndim == 1 else lengths
    rows = random_generator("rows", seed, epoch).permutation(len(lengths))
    batches: list[Integer[ndarray, " batch"]] = []
    for start in range(0, len(rows), POOL):
        pool = rows[start : start + POOL]
        pool = pool[rising(sides[pool])]
        cuts = [*cuts_of(sides[pool], budget), len(pool)]
        batches += [pool[begin:end] for begin, end in pairwise(cuts)]
    order = random_generator("batches", seed, epoch).permutation(len(batches))
    return [batches[i] for i in order]


def rising(lengths: Integer[ndarray, "rows sides"]) -> Integer[ndarray, " rows"]:
    """The order in which neighbours have nearly equal lengths on all sides.

    By the first side, and where that is equal by the others, upwards and downwards in turn, so that these don't jump
    back where the first grows.

    >>> lengths = np.array([[1, 1], [1, 5], [2, 1], [2, 5]])
    >>> lengths[rising(lengths)].tolist()
    [[1, 5], [1, 1], [2, 1], [2, 5]]
    """
    first = lengths[:, :1]
    others = np.where(first % 2, -lengths[:, 1:], lengths[:, 1:])
    return np.lexsort([*others.T[::-1], first[:, 0]])


def cuts_of(lengths: Integer[ndarray, "rows sides"], budget: int) -> Iterator[int]:
    """Where a batch begins: as soon as the next row, and the padding that it asks for, exceeds the budget."""
    begin, longest = 0, [0] * lengths.shape[1]
    yield 0
    for end, row in enumerate(lengths.tolist()):
        longest = [max(both) for both in zip(longest, row, strict=True)]
        if end > begin and max(sum(longest), 1) * (end - begin + 1) > budget:
            begin, longest = end, row
            yield begin


@dataclass(frozen=True)
class Chunk:
    """A stretch of text in each row of a batch: from which tokens, how many, and whether a state goes on into it."""

    starts: Integer[ndarray, " rows"]
    steps: int
    continues: bool


class StreamEpoch(Sequence[Chunk]):
    """One long row of tokens as `rows` streams side by side, each read from its start to its end, k tokens at a time.

    With `drawn`, k varies from batch to batch (Merity et al. 2017): k̃ = k or, one time in twenty, k/2, then N(k̃, 5).
    """

    def __init__(self, tokens: int, rows: int, k: int, *, drawn: bool, seed: int, epoch: int) -> None:
        self.rows = min(rows, max(1, tokens - 1))
        self.length = (tokens - 1) // self.rows  # of a stream; each token but the last has a next one
        if drawn:
            random = random_generator("bptt", seed, epoch)
            most = self.length // max(1, k // 4) + 1
            around = np.where(random.random(most) < 0.95, k, k / 2)
            sizes = np.maximum(max(1, k // 4), np.rint(random.normal(around, 5.0))).astype(np.int64)
            ends = np.minimum(np.cumsum(sizes), self.length)
            self.cuts = np.concatenate([[0], np.unique(ends)])
        else:
            self.cuts = np.minimum(np.arange(0, self.length + k, k), self.length)

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def __getitem__(self, i: int) -> Chunk:  # type: ignore[override]
        i = range(len(self))[i]
        begin, end = int(self.cuts[i]), int(self.cuts[i + 1])
        return Chunk(np.arange(self.rows) * self.length + begin, end - begin, begin > 0)


class ShuffledEpoch(Sequence[Chunk]):
    """One long row of tokens in chunks of k, from another offset in each epoch, in shuffled order."""

    def __init__(self, tokens: int, rows: int, k: int, *, seed: int, epoch: int) -> None:
        self.k = min(k, max(1, tokens - 1))
        self.offset = stable_hash("offset", seed, epoch) % self.k
        if (tokens - 1 - self.offset) // self.k < 1:
            self.offset = 0
        self.chunks = (tokens - 1 - self.offset) // self.k
        self.rows, self.seed, self.epoch = rows, seed, epoch

    def __len__(self) -> int:
        return -(-self.chunks // self.rows)

    def __getitem__(self, i: int) -> Chunk:  # type: ignore[override]
        i = range(len(self))[i]
        locations = np.arange(i * self.rows, min((i + 1) * self.rows, self.chunks))
        windows = shuffled_positions(locations, self.chunks, "chunks", self.seed, self.epoch)
        return Chunk(self.offset + windows * self.k, self.k, False)
