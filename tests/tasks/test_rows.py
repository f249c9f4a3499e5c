"""Rows of unequal length as tensors, and back."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.arrays import Ragged
from seqloom.spec.config.experiment import experiment
from seqloom.tasks.rows import in_order, padded, training_batches

some_rows = st.lists(st.lists(st.integers(0, 255), max_size=6), min_size=1, max_size=8)


@given(some_rows, st.sampled_from(["uint8", "uint16", "uint32", "int64"]))
def test_rows_and_lengths_are_what_was_given(rows: list[list[int]], kind: str) -> None:
    tokens, lengths = padded([np.array(row, dtype=kind) for row in rows])
    assert tokens.dtype == lengths.dtype == torch.int64
    assert tokens.shape == (len(rows), max(1, *map(len, rows)))
    assert [row[:length] for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True)] == rows
    assert all(not any(row[length:]) for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True))


def ragged() -> Ragged:
    lengths = np.arange(100) % 13
    return Ragged(np.zeros(lengths.sum(), dtype=np.uint8), np.cumsum(lengths))


def test_an_epoch_is_drawn_by_the_configs_seed_and_budget() -> None:
    rows = ragged()

    def told(seed: int, epoch: int) -> list[list[int]]:
        chosen = experiment({"task": "tag", "seed": seed, "train": {"batch": 40}})
        return [batch.tolist() for batch in training_batches(rows, chosen, epoch)]

    assert told(1, 0) == told(1, 0) != told(1, 1) != told(2, 1)
    assert sorted(row for batch in told(1, 0) for row in batch) == list(range(100))
    assert all(max(1, *(row % 13 for row in batch)) * len(batch) <= 40 for batch in told(1, 0))


def test_a_score_reads_every_row_once_in_batches_that_do_not_depend_on_the_seed() -> None:
    orders = [
        [
            batch.tolist()
            for batch in in_order(ragged(), experiment({"task": "tag", "seed": seed, "train": {"batch": 40}}))
        ]
        for seed in (1, 2)
    ]
    assert orders[0] == orders[1]
    assert sorted(row for batch in orders[0] for row in batch) == list(range(100))
