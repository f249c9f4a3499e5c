"""The penalty of Xu et al. against plain loops, with unequal lengths on both sides."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.tasks.attention_penalty import doubly_stochastic

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), min_size=1, max_size=3)


@given(ROWS, st.integers(1, 3), st.integers(1, 2))
def test_a_plain_loop(rows: list[tuple[int, int]], heads: int, layers: int) -> None:
    target_lengths, source_lengths = (torch.tensor(lengths) for lengths in zip(*rows, strict=True))
    attention = [torch.randn(len(rows), heads, 4, 3).softmax(dim=3).requires_grad_() for _ in range(layers)]
    expected = 0.0
    for weights in attention:
        for row, (steps, regions) in enumerate(rows):
            for head in range(heads):
                for i in range(regions):
                    looked = sum(weights[row, head, t, i].item() for t in range(steps))
                    expected += (1 - looked) ** 2 / heads / layers
    found = doubly_stochastic(attention, target_lengths, source_lengths)
    assert found.item() == pytest.approx(expected, rel=1e-4, abs=1e-5)
    found.backward()
    for weights in attention:
        assert weights.grad is not None
        for grad, (steps, regions) in zip(weights.grad, rows, strict=True):
            assert not grad[:, steps:].any()  # nothing beyond a row's end
            assert not grad[:, :, regions:].any()


def test_without_lengths_all_is_real() -> None:
    weights = torch.rand(2, 1, 4, 3)
    whole = doubly_stochastic([weights], torch.tensor([4, 4]), torch.tensor([3, 3]))
    assert doubly_stochastic([weights]).item() == pytest.approx(whole.item())


def test_looking_at_each_place_once_costs_nothing() -> None:
    assert doubly_stochastic([torch.eye(3).expand(2, 1, 3, 3)]).item() == 0.0


def test_learning_by_it_spreads_the_looks() -> None:
    torch.manual_seed(0)
    scores = torch.randn(1, 1, 3, 3)
    scores[..., 0] += 3  # all three steps look at the first
    scores.requires_grad_()
    before = doubly_stochastic([scores.softmax(dim=3)]).item()
    for _ in range(200):
        found = doubly_stochastic([scores.softmax(dim=3)])
        (slope,) = torch.autograd.grad(found, scores)
        scores = (scores - 0.5 * slope).detach().requires_grad_()
    assert before > 1
    assert found.item() < 0.01


def test_in_half_precision_sums_are_exact_enough() -> None:
    weights = torch.full((1, 1, 300, 300), 1 / 300).bfloat16()
    assert doubly_stochastic([weights]).item() == pytest.approx(doubly_stochastic([weights.float()]).item())
