"""Long rows in chunks: nothing is left out, nothing comes twice, and what was cut is joined again."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seqloom.tasks.chunking import ChunkJoiner, Chunks

LENGTHS = st.lists(st.integers(0, 40), max_size=12)


@given(LENGTHS, st.one_of(st.none(), st.integers(1, 15)))
def test_every_step_is_in_one_piece(lengths: list[int], most: int | None) -> None:
    chunks = Chunks.cut(np.array(lengths, dtype=np.int64), most)
    seen = [np.zeros(length, dtype=int) for length in lengths]
    for row, start, length in zip(chunks.rows, chunks.starts, chunks.lengths, strict=True):
        assert 1 <= length <= (most or 40)
        seen[row][start : start + length] += 1
    assert all((each == 1).all() for each in seen)
    if most is None:
        assert chunks.rows.tolist() == [row for row, length in enumerate(lengths) if length]


@given(LENGTHS, st.integers(1, 15), st.randoms())
def test_rows_are_joined_whatever_the_order_of_their_pieces(
    lengths: list[int], most: int, order: random.Random
) -> None:
    rows = [[(row, step) for step in range(length)] for row, length in enumerate(lengths)]
    chunks = Chunks.cut(np.array(lengths, dtype=np.int64), most)
    starts = list(zip(chunks.rows.tolist(), chunks.starts.tolist(), strict=True))
    order.shuffle(starts)
    joined = ChunkJoiner[tuple[int, int]](lengths)
    whole = [joined.add(row, start, rows[row][start : start + most]) for row, start in starts]
    assert sorted(each for each in whole if each is not None) == [row for row in rows if row]
    assert not joined.incomplete
