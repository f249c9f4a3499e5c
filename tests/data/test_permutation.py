"""A permutation that is computed by position: it depends on seed and epoch, and is the same on every machine."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.permutation import random_generator, shuffled_positions, stable_hash

seeds = st.integers(0, 2**63 - 1)


@given(st.integers(1, 3000), seeds, st.integers(0, 100))
def test_shuffled_positions_are_a_permutation(size: int, seed: int, epoch: int) -> None:
    assert sorted(shuffled_positions(np.arange(size), size, seed, epoch).tolist()) == list(range(size))


@given(st.integers(1, 500), seeds, st.data())
def test_the_position_of_a_row_does_not_depend_on_the_query(size: int, seed: int, data: st.DataObject) -> None:
    permutation = shuffled_positions(np.arange(size), size, seed)
    positions = data.draw(st.lists(st.integers(0, size - 1), max_size=20))
    assert (
        shuffled_positions(np.array(positions, dtype=np.int64), size, seed).tolist() == permutation[positions].tolist()
    )


def test_sizes_beyond_memory_are_shuffled() -> None:
    size = 2**40 + 7
    positions = shuffled_positions(np.array([0, 1, 2, size - 1]), size, "seed")
    assert len(set(positions.tolist())) == 4
    assert positions.min() >= 0
    assert positions.max() < size


def test_each_seed_and_epoch_has_its_own_order() -> None:
    orders = [shuffled_positions(np.arange(200), 200, "rows", seed, epoch) for seed in range(5) for epoch in range(5)]
    assert len({tuple(order.tolist()) for order in orders}) == 25


def test_the_permutation_is_well_mixed() -> None:
    """Neighbors are separated, and no more positions are fixed than by chance."""
    size = 10_000
    order = shuffled_positions(np.arange(size), size, 1)
    assert abs(np.corrcoef(np.arange(size), order)[0, 1]) < 0.05
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 0.05
    assert (order == np.arange(size)).sum() < 10
    assert 0.6 < len(set(order[: size // 2] // 2)) / (size // 2) < 0.9  # a random half meets 3/4 of all pairs


def test_hashes_and_generators_are_the_same_on_every_machine() -> None:
    assert stable_hash("order", 1, 0) == 798576947484395671
    assert random_generator("rows", 1, 0).integers(0, 1000, 5).tolist() == [816, 596, 702, 616, 875]
    assert shuffled_positions(np.arange(10), 10, "seed", 1).tolist() == [6, 1, 8, 0, 5, 4, 2, 7, 9, 3]


@given(st.lists(st.text(), min_size=1, max_size=3))
def test_a_stable_hash_has_63_bits(words: list[str]) -> None:
    assert 0 <= stable_hash(*words) < 2**63
