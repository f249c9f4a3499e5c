"""Top tokens of a row, and the beams of a source."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.decoding.beam import BLOCK, Beams, PartialHypothesis, rank_extensions, top_tokens


@given(
    seed=st.integers(0, 10**6),
    vocabulary=st.sampled_from([1, 2, 7, BLOCK * 9, BLOCK * 12 + 5]),
    count=st.integers(1, 9),
    kinds=st.sampled_from([2, 50, 10**6]),
)
def test_top_tokens_equal_those_of_a_stable_sort(seed: int, vocabulary: int, count: int, kinds: int) -> None:
    """With and without blocks; few distinct scores give many ties, of which the first tokens win."""
    random = torch.Generator().manual_seed(seed)
    log_p = torch.randint(kinds, (3, vocabulary), generator=random).float() - kinds
    log_p[0, : vocabulary // 2] = -torch.inf
    values, tokens = top_tokens(log_p, count)
    expected = log_p.argsort(dim=1, descending=True, stable=True)[:, :count]
    best = log_p.gather(1, expected).numpy()
    np.testing.assert_array_equal(values, best)
    order = np.lexsort((tokens, -values), axis=1)  # ties may be in any order: rank_extensions compares tokens
    possible = best > -np.inf
    assert (np.take_along_axis(tokens, order, 1) == expected.numpy())[possible].all()


def test_a_source_keeps_as_many_extensions_as_its_free_beams() -> None:
    live = [
        PartialHypothesis(0, 0, total=-1.0),
        PartialHypothesis(0, 0, total=-1.0, rank=1),
        PartialHypothesis(1, 0, total=-5.0),
    ]
    values = np.array([[-1.0, -2.0], [-0.5, -2.0], [-1.0, -np.inf]])
    tokens = np.array([[7, 3], [4, 1], [2, 0]])
    extensions = rank_extensions(live, values, tokens, free=np.array([2, 3]), pruned=1)
    assert [(extended.row, extended.token, is_kept) for extended, is_kept in extensions] == [
        (0, 3, False),  # as good as (1, 1), and before it
        (0, 7, True),
        (1, 4, True),
        (2, 2, True),
    ]
    assert [extended.total for extended, _ in extensions] == [-3.0, -2.0, -1.5, -6.0]
    assert all(extended.parent is live[extended.row] and extended.steps == 1 for extended, _ in extensions)


@pytest.mark.parametrize(("penalty", "decided"), [(0.0, True), (1.0, False)])
def test_early_stopping_depends_on_the_length_penalty(penalty: float, decided: bool) -> None:
    """A hypothesis of total −3 may reach −3/10, better than −2/1; without a penalty it stays below −2."""
    beams = Beams(size=2, n_best=1, max_steps=10, penalty=penalty)
    assert not beams.is_done([PartialHypothesis(0, 0, total=-9.0, steps=1)])
    beams.ended.append(PartialHypothesis(0, 0, total=-2.0, steps=1))
    assert beams.is_done([PartialHypothesis(0, 0, total=-3.0, steps=1)]) == decided
    assert beams.is_done([])
    assert beams.free == 1


def test_cut_hypotheses_rank_after_ended_ones() -> None:
    short, long, cut = (
        PartialHypothesis(0, 0, total=total, steps=steps) for total, steps in ((-3.0, 2), (-4.0, 4), (-1.0, 5))
    )
    beams = Beams(size=3, n_best=3, max_steps=5, penalty=1.0, ended=[short, long], cut=[cut])
    assert beams.best() == [long, short, cut]
