"""Rows of unequal length as tensors, and back."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.tasks.padding import padded

some_rows = st.lists(st.lists(st.integers(0, 255), max_size=6), min_size=1, max_size=8)


@given(some_rows, st.sampled_from(["uint8", "uint16", "uint32", "int64"]))
def test_rows_and_lengths_are_what_was_given(rows: list[list[int]], kind: str) -> None:
    tokens, lengths = padded([np.array(row, dtype=kind) for row in rows])
    assert tokens.dtype == lengths.dtype == torch.int64
    assert tokens.shape == (len(rows), max(1, *map(len, rows)))
    assert [row[:length] for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True)] == rows
    assert all(not any(row[length:]) for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True))
