"""Which examples go into which batch: a pure function of (seed, epoch), so that a run can resume at any step."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.data.permutation import random_generator, shuffled_positions, stable_hash

POOL = 1 << 16  # rows that are sorted by length together; large, so that the rows of a batch have nearly equal lengths


def batches_by_length(
    lengths: Integer[ndarray, " rows"] | Integer[ndarray, "rows sides"],
    max_tokens: int | None = None,
    max_rows: int | None = None,
    *,
    seed: int,
    epoch: int,
) -> list[Integer[ndarray, " batch"]]:
    """Batches of rows of nearly equal length, in shuffled order.

    A batch has at most `max_tokens` tokens, padding included, and at most `max_rows` rows. Rows are shuffled, sorted by
    length within pools of 65,536 rows and cut into batches; the batches are shuffled. A row longer than `max_tokens` is
    a batch of its own. Where a row has several sides (a text and its translation), each side is padded to its longest,
    and `max_tokens` counts all sides together.

    >>> [sorted(batch.tolist()) for batch in batches_by_length(np.array([2, 9, 2, 9]), 18, seed=1, epoch=0)]
    [[1, 3], [0, 2]]
    >>> [len(batch) for batch in batches_by_length(np.array([2, 9, 2, 9, 5]), max_rows=3, seed=1, epoch=0)]
    [2, 3]
    """
    sides = lengths[:, None] if lengths.ndim == 1 else lengths
    rows = random_generator("rows", seed, epoch).permutation(len(lengths))
    batches: list[Integer[ndarray, " batch"]] = []
    for start in range(0, len(rows), POOL):
        pool = rows[start : start + POOL]
        pool = pool[length_order(sides[pool])]
        batches += [pool[begin:end] for begin, end in pairwise(batch_bounds(sides[pool], max_tokens, max_rows))]
    order = random_generator("batches", seed, epoch).permutation(len(batches))
    return [batches[i] for i in order]


def length_order(lengths: Integer[ndarray, "rows sides"]) -> Integer[ndarray, " rows"]:
    """An order in which adjacent rows have nearly equal lengths on all sides.

    Rows are sorted by the first side. Rows with the same first side are sorted by the others, in descending order for
    odd lengths and in ascending order for even ones, so that the others do not jump at the next first length.

    >>> lengths = np.array([[1, 1], [1, 5], [2, 1], [2, 5]])
    >>> lengths[length_order(lengths)].tolist()
    [[1, 5], [1, 1], [2, 1], [2, 5]]
    """
    first = lengths[:, :1]
    others = np.where(first % 2, -lengths[:, 1:], lengths[:, 1:])
    return np.lexsort([*others.T[::-1], first[:, 0]])


def batch_bounds(lengths: Integer[ndarray, "rows sides"], max_tokens: int | None, max_rows: int | None) -> list[int]:
    """The starts of all batches and the end of the last. A batch ends where one more row would exceed a limit."""
    bounds, longest = [0], [0] * lengths.shape[1]
    for end, row in enumerate(lengths.tolist()):
        longest = list(map(max, longest, row))
        rows = end - bounds[-1] + 1
        too_many_tokens = max_tokens is not None and max(sum(longest), 1) * rows > max_tokens
        if rows > 1 and (too_many_tokens or (max_rows is not None and rows > max_rows)):
            bounds.append(end)
            longest = row
    return [*bounds, len(lengths)]


@dataclass(frozen=True)
class Chunk:
    """Consecutive tokens for each row of a batch.

    starts: the position of each row's first token
    steps: the number of tokens of a row
    continues: whether the rows continue those of the previous chunk, so that the state is carried over
    """

    starts: Integer[ndarray, " rows"]
    steps: int
    continues: bool


class StreamEpoch(Sequence[Chunk]):
    """A sequence of tokens as `rows` parallel streams, read k tokens at a time.

    With `random_lengths`, the length of each chunk is drawn from N(k̃, 5), where k̃ is k, or k/2 with probability 0.05
    (Merity et al. 2017).
    """

    def __init__(self, tokens: int, rows: int, k: int, *, random_lengths: bool, seed: int, epoch: int) -> None:
        self.rows = min(rows, max(1, tokens - 1))
        self.length = (tokens - 1) // self.rows  # of a stream; the last token has no next token to predict
        if random_lengths:
            generator = random_generator("bptt", seed, epoch)
            max_chunks = self.length // max(1, k // 4) + 1
            means = np.where(generator.random(max_chunks) < 0.95, k, k / 2)
            sizes = np.maximum(max(1, k // 4), np.rint(generator.normal(means, 5.0))).astype(np.int64)
            ends = np.minimum(np.cumsum(sizes), self.length)
            self.bounds = np.concatenate([[0], np.unique(ends)])
        else:
            self.bounds = np.minimum(np.arange(0, self.length + k, k), self.length)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, i: int) -> Chunk:  # type: ignore[override]
        i = range(len(self))[i]
        begin, end = int(self.bounds[i]), int(self.bounds[i + 1])
        return Chunk(np.arange(self.rows) * self.length + begin, end - begin, begin > 0)


class ShuffledEpoch(Sequence[Chunk]):
    """A sequence of tokens in chunks of k, in shuffled order, with another offset in each epoch."""

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
        positions = np.arange(i * self.rows, min((i + 1) * self.rows, self.chunks))
        # "stretches" is part of the seed: another word would change the order of chunks in resumed runs.
        chunks = shuffled_positions(positions, self.chunks, "stretches", self.seed, self.epoch)
        return Chunk(self.offset + chunks * self.k, self.k, False)
