"""An epoch has each row once, within the budget, in an order that depends on seed and epoch alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data import batches as module
from seqloom.data.batches import ShuffledEpoch, StreamEpoch, batches_by_length

some_lengths = st.lists(st.integers(0, 40), max_size=60).map(lambda batches: np.array(batches, dtype=np.int64))


@given(some_lengths, st.integers(1, 100), st.integers(0, 9), st.integers(0, 9))
def test_every_row_is_in_one_batch(lengths: np.ndarray, budget: int, seed: int, epoch: int) -> None:
    batches = batches_by_length(lengths, budget, seed=seed, epoch=epoch)
    assert sorted(row for batch in batches for row in batch.tolist()) == list(range(len(lengths)))
    assert all(len(batch) for batch in batches)


@given(some_lengths, st.integers(1, 100))
def test_only_a_single_longer_row_exceeds_the_budget(lengths: np.ndarray, budget: int) -> None:
    for batch in batches_by_length(lengths, budget, seed=1, epoch=0):
        assert len(batch) == 1 or len(batch) * max(1, lengths[batch].max()) <= budget


@pytest.mark.parametrize("budget", [256, 2048])
@pytest.mark.parametrize("draw", ["lognormal", "names", "uniform"])
def test_batches_have_little_padding(draw: str, budget: int) -> None:
    random = np.random.default_rng(1)
    lengths = {
        "lognormal": lambda: np.rint(random.lognormal(2.7, 0.7, 5000)).clip(1, budget),
        "names": lambda: random.normal(7, 2, 5000).round().clip(2, 20),
        "uniform": lambda: random.integers(1, 100, 5000),
    }[draw]().astype(np.int64)
    batches = batches_by_length(lengths, budget, seed=1, epoch=0)
    padded = sum(len(batch) * lengths[batch].max() for batch in batches)
    assert 1 - lengths.sum() / padded < 0.05
    assert len(batches) < 1.25 * lengths.sum() / budget + 1  # batches are full


two_sided = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=60).map(np.array)


@given(two_sided, st.integers(1, 200))
def test_the_budget_is_for_both_sides_together(lengths: np.ndarray, budget: int) -> None:
    batches = batches_by_length(lengths, budget, seed=1, epoch=0)
    assert sorted(row for batch in batches for row in batch.tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(1, lengths[batch].max(axis=0).sum()) <= budget


@given(some_lengths, st.integers(1, 100))
def test_lengths_of_one_side_may_be_a_column(lengths: np.ndarray, budget: int) -> None:
    flat, column = (
        batches_by_length(side_lengths, budget, seed=1, epoch=0) for side_lengths in (lengths, lengths[:, None])
    )
    assert [batch.tolist() for batch in flat] == [batch.tolist() for batch in column]


@pytest.mark.parametrize(("budget", "padding"), [(1024, 0.02), (4096, 0.06)])
def test_batches_of_pairs_have_little_padding(budget: int, padding: float) -> None:
    random = np.random.default_rng(1)
    source = random.lognormal(2.6, 0.4, 20_000)
    target = source * random.lognormal(0.1, 0.2, 20_000)
    lengths = np.stack([source, target], axis=1).round().clip(1, 200).astype(np.int64)
    batches = batches_by_length(lengths, budget, seed=1, epoch=0)
    padded = sum(len(batch) * lengths[batch].max(axis=0).sum() for batch in batches)
    assert 1 - lengths.sum() / padded < padding
    assert len(batches) < (1 + 2 * padding) * lengths.sum() / budget + 1


def test_the_order_is_a_function_of_seed_and_epoch() -> None:
    lengths = np.arange(300) % 17 + 1

    def order_of(seed: int, epoch: int) -> str:
        return str([batch.tolist() for batch in batches_by_length(lengths, 64, seed=seed, epoch=epoch)])

    assert order_of(1, 0) == order_of(1, 0)
    assert len({order_of(seed, epoch) for seed in range(3) for epoch in range(3)}) == 9


def test_batches_are_not_ordered_by_length() -> None:
    lengths = np.arange(1000) % 50 + 1
    longest = [lengths[batch].max() for batch in batches_by_length(lengths, 128, seed=1, epoch=0)]
    assert abs(np.corrcoef(np.arange(len(longest)), longest)[0, 1]) < 0.2


def test_rows_are_sorted_within_a_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POOL", 10)
    lengths = np.arange(35) % 7
    batches = batches_by_length(lengths, 12, seed=1, epoch=0)
    assert sorted(row for batch in batches for row in batch.tolist()) == list(range(35))


sizes = st.integers(2, 300)


@given(sizes, st.integers(1, 12), st.integers(1, 40), st.booleans(), st.integers(0, 5))
def test_carried_streams_are_read_from_start_to_end(
    tokens: int, rows: int, k: int, random_lengths: bool, epoch: int
) -> None:
    chunks = StreamEpoch(tokens, rows, k, random_lengths=random_lengths, seed=3, epoch=epoch)
    streams: list[list[int]] = [[] for _ in range(chunks.rows)]
    for number, chunk in enumerate(chunks):
        assert chunk.continues == (number > 0)
        assert chunk.steps > 0
        assert len(chunk.starts) == chunks.rows <= rows
        for stream, start in zip(streams, chunk.starts.tolist(), strict=True):
            stream += range(start, start + chunk.steps)
    assert [location for stream in streams for location in stream] == list(range(chunks.rows * chunks.length))
    assert 0 <= tokens - 1 - chunks.rows * chunks.length < chunks.rows  # less than one token per stream


@given(sizes, st.integers(1, 12), st.integers(1, 40))
def test_without_random_lengths_all_chunks_but_the_last_have_k_steps(tokens: int, rows: int, k: int) -> None:
    *chunks, last = StreamEpoch(tokens, rows, k, random_lengths=False, seed=3, epoch=0)
    assert all(chunk.steps == k for chunk in chunks)
    assert last.steps <= k


def test_random_lengths_vary_around_k_and_by_epoch() -> None:
    def steps(epoch: int, seed: int = 1) -> list[int]:
        chunks = StreamEpoch(100_000, 2, 70, random_lengths=True, seed=seed, epoch=epoch)
        return [chunk.steps for chunk in chunks][:-1]

    assert steps(0) == steps(0)
    assert steps(0) != steps(1) != steps(1, seed=2)
    assert 65 < np.mean(steps(0)) < 71
    assert 3 < np.std(np.array([length for length in steps(0) if length > 53])) < 7
    assert min(steps(0)) >= 70 // 4


@given(sizes, st.integers(1, 12), st.integers(1, 40), st.integers(0, 5))
def test_every_shuffled_chunk_is_in_one_batch(tokens: int, rows: int, k: int, epoch: int) -> None:
    shuffled_epoch = ShuffledEpoch(tokens, rows, k, seed=3, epoch=epoch)
    batches = list(shuffled_epoch)
    assert len(batches) == len(shuffled_epoch) > 0
    starts = sorted(start for chunk in batches for start in chunk.starts.tolist())
    assert starts == [shuffled_epoch.offset + i * shuffled_epoch.k for i in range(shuffled_epoch.chunks)]
    assert starts[-1] + shuffled_epoch.k <= tokens - 1 < starts[-1] + 2 * shuffled_epoch.k  # every token has a target
    assert not any(chunk.continues for chunk in batches)
    assert all(chunk.steps == shuffled_epoch.k <= k and 0 < len(chunk.starts) <= rows for chunk in batches)


def test_the_offset_and_the_order_change_with_the_epoch() -> None:
    epochs = [ShuffledEpoch(1000, 4, 32, seed=1, epoch=epoch) for epoch in range(20)]
    assert len({epoch.offset for epoch in epochs}) > 10
    assert len({tuple(epoch[0].starts.tolist()) for epoch in epochs}) == 20
    again = ShuffledEpoch(1000, 4, 32, seed=1, epoch=3)
    assert again[2].starts.tolist() == epochs[3][2].starts.tolist()


@pytest.mark.parametrize(
    "epoch",
    [
        StreamEpoch(100, 4, 8, random_lengths=False, seed=1, epoch=0),
        StreamEpoch(100, 4, 8, random_lengths=True, seed=1, epoch=0),
        ShuffledEpoch(100, 4, 8, seed=1, epoch=0),
    ],
)
def test_an_epoch_is_a_sequence(epoch: StreamEpoch | ShuffledEpoch) -> None:
    """It has a length and negative indices, so a run can resume in the middle of an epoch."""
    assert epoch[-1].starts.tolist() == epoch[len(epoch) - 1].starts.tolist()
    assert len(list(epoch)) == len(epoch)
    for outside in (len(epoch), -len(epoch) - 1):
        with pytest.raises(IndexError):
            epoch[outside]
