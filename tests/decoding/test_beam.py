"""The likeliest of a row, and the best of a source."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.decoding.beam import WIDTH, Branch, Places, likeliest, ranked


@given(
    seed=st.integers(0, 10**6),
    vocabulary=st.sampled_from([1, 2, 7, WIDTH * 9, WIDTH * 12 + 5]),
    count=st.integers(1, 9),
    kinds=st.sampled_from([2, 50, 10**6]),
)
def test_the_likeliest_are_those_that_sorting_finds(seed: int, vocabulary: int, count: int, kinds: int) -> None:
    """By blocks or not; with few kinds of scores there are many equals, of which the first are taken."""
    random = torch.Generator().manual_seed(seed)
    log_p = torch.randint(kinds, (3, vocabulary), generator=random).float() - kinds
    log_p[0, : vocabulary // 2] = -torch.inf
    values, tokens = likeliest(log_p, count)
    expected = log_p.argsort(dim=1, descending=True, stable=True)[:, :count]
    best = log_p.gather(1, expected).numpy()
    np.testing.assert_array_equal(values, best)
    order = np.lexsort((tokens, -values), axis=1)  # equals may come in any order: who ranks them looks at the token
    possible = best > -np.inf
    assert (np.take_along_axis(tokens, order, 1) == expected.numpy())[possible].all()


def test_a_source_keeps_as_many_as_it_has_room_for() -> None:
    live = [Branch(0, 0, total=-1.0), Branch(0, 0, total=-1.0, place=1), Branch(1, 0, total=-5.0)]
    values = np.array([[-1.0, -2.0], [-0.5, -2.0], [-1.0, -np.inf]])
    tokens = np.array([[7, 3], [4, 1], [2, 0]])
    found = ranked(live, values, tokens, rooms=np.array([2, 3]), beside=1)
    assert [(each.row, each.token, each.kept) for each in found] == [
        (0, 3, False),  # as good as (1, 1), and before it
        (0, 7, True),
        (1, 4, True),
        (2, 2, True),
    ]
    assert [each.total for each in found] == [-3.0, -2.0, -1.5, -6.0]


@pytest.mark.parametrize(("penalty", "decided"), [(0.0, True), (1.0, False)])
def test_whether_more_may_come_depends_on_the_penalty(penalty: float, decided: bool) -> None:
    """A text of total −3 may still reach −3/10, better than −2/1; without a penalty it stays below −2."""
    places = Places(places=2, n_best=1, limit=10, penalty=penalty)
    assert not places.decided([Branch(0, 0, total=-9.0, steps=1)])
    places.ended.append(Branch(0, 0, total=-2.0, steps=1))
    assert places.decided([Branch(0, 0, total=-3.0, steps=1)]) == decided
    assert places.decided([])
    assert places.room == 1


def test_texts_that_were_cut_come_after_those_that_ended() -> None:
    short, long, cut = (Branch(0, 0, total=total, steps=steps) for total, steps in ((-3.0, 2), (-4.0, 4), (-1.0, 5)))
    places = Places(places=3, n_best=3, limit=5, penalty=1.0, ended=[short, long], cut=[cut])
    assert places.best() == [long, short, cut]
