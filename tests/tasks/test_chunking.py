"""Long rows are cut into chunks without gaps or overlaps, and joined again."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seqloom.tasks.chunking import ChunkJoiner, Chunks

LENGTHS = st.lists(st.integers(0, 40), max_size=12)


@given(LENGTHS, st.one_of(st.none(), st.integers(1, 15)))
def test_every_step_is_in_one_chunk(lengths: list[int], max_length: int | None) -> None:
    chunks = Chunks.cut(np.array(lengths, dtype=np.int64), max_length)
    seen = [np.zeros(length, dtype=int) for length in lengths]
    for row, start, length in zip(chunks.rows, chunks.starts, chunks.lengths, strict=True):
        assert 1 <= length <= (max_length or 40)
        seen[row][start : start + length] += 1
    assert all((count == 1).all() for count in seen)
    if max_length is None:
        assert chunks.rows.tolist() == [row for row, length in enumerate(lengths) if length]


@given(LENGTHS, st.integers(1, 15), st.randoms())
def test_rows_are_joined_whatever_the_order_of_their_chunks(
    lengths: list[int], max_length: int, order: random.Random
) -> None:
    rows = [[(row, step) for step in range(length)] for row, length in enumerate(lengths)]
    chunks = Chunks.cut(np.array(lengths, dtype=np.int64), max_length)
    starts = list(zip(chunks.rows.tolist(), chunks.starts.tolist(), strict=True))
    order.shuffle(starts)
    joined = ChunkJoiner[tuple[int, int]](lengths)
    whole = [joined.add(row, start, rows[row][start : start + max_length]) for row, start in starts]
    assert sorted(row_ for row_ in whole if row_ is not None) == [row for row in rows if row]
    assert not joined.incomplete
