"""Scheduled sampling replaces the right share of the tokens; the attention penalty equals a plain loop."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.tasks.generation_training import doubly_stochastic, sample_inputs

VOCABULARY = 11


def logits_of(predicted: torch.Tensor) -> torch.Tensor:
    """Logits whose argmax is `predicted`."""
    return torch.nn.functional.one_hot(predicted, VOCABULARY).float()


@given(st.integers(1, 3), st.integers(1, 6), st.sampled_from([0.0, 0.4, 1.0]), st.integers(0, 99))
def test_each_input_is_a_target_token_or_a_prediction(rows: int, time: int, probability: float, seed: int) -> None:
    torch.manual_seed(seed)
    tokens, predicted = torch.randint(VOCABULARY, (2, rows, time))
    sampled = sample_inputs(tokens, logits_of(predicted), probability)
    assert sampled[:, 0].equal(tokens[:, 0])
    own, right = sampled[:, 1:] == predicted[:, :-1], sampled[:, 1:] == tokens[:, 1:]
    assert bool((own | right).all())
    if probability == 0:
        assert sampled.equal(tokens)
    if probability == 1:
        assert bool(own.all())


def test_the_share_of_sampled_tokens_is_the_probability() -> None:
    torch.manual_seed(1)
    tokens, predicted = torch.zeros(200, 101, dtype=torch.long), torch.ones(200, 101, dtype=torch.long)
    sampled = sample_inputs(tokens, logits_of(predicted), 0.3)[:, 1:].float().mean().item()
    assert abs(sampled - 0.3) < 0.01  # 20,000 draws: three standard deviations


def test_the_seed_determines_the_sampled_tokens() -> None:
    tokens, predicted = torch.zeros(5, 20, dtype=torch.long), torch.ones(5, 20, dtype=torch.long)
    sampled = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        sampled.append(sample_inputs(tokens, logits_of(predicted), 0.5))
    assert sampled[0].equal(sampled[1])
    assert not sampled[0].equal(sampled[2])


def test_no_gradient_goes_into_the_first_pass() -> None:
    logits = torch.randn(2, 4, VOCABULARY, requires_grad=True)
    assert not sample_inputs(torch.zeros(2, 4, dtype=torch.long), logits, 0.5).requires_grad


# Attention penalty -------------------------------------------------------------------------------------------------

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), min_size=1, max_size=3)


@given(ROWS, st.integers(1, 3), st.integers(1, 2))
def test_the_attention_penalty_equals_a_loop(rows: list[tuple[int, int]], heads: int, layers: int) -> None:
    target_lengths, source_lengths = (torch.tensor(lengths) for lengths in zip(*rows, strict=True))
    attention = [torch.randn(len(rows), heads, 4, 3).softmax(dim=3).requires_grad_() for _ in range(layers)]
    expected = 0.0
    for weights in attention:
        for row, (steps, regions) in enumerate(rows):
            for head in range(heads):
                for i in range(regions):
                    attended = sum(weights[row, head, t, i].item() for t in range(steps))
                    expected += (1 - attended) ** 2 / heads / layers
    penalty = doubly_stochastic(attention, target_lengths, source_lengths)
    assert penalty.item() == pytest.approx(expected, rel=1e-4, abs=1e-5)
    penalty.backward()
    for weights in attention:
        assert weights.grad is not None
        for grad, (steps, regions) in zip(weights.grad, rows, strict=True):
            assert not grad[:, steps:].any()  # no gradient beyond the end of a row
            assert not grad[:, :, regions:].any()


def test_without_lengths_nothing_is_padding() -> None:
    weights = torch.rand(2, 1, 4, 3)
    whole = doubly_stochastic([weights], torch.tensor([4, 4]), torch.tensor([3, 3]))
    assert doubly_stochastic([weights]).item() == pytest.approx(whole.item())


def test_attending_each_region_once_has_no_penalty() -> None:
    assert doubly_stochastic([torch.eye(3).expand(2, 1, 3, 3)]).item() == 0.0


def test_gradient_descent_on_the_penalty_spreads_the_attention() -> None:
    torch.manual_seed(0)
    scores = torch.randn(1, 1, 3, 3)
    scores[..., 0] += 3  # all three steps attend to the first region
    scores.requires_grad_()
    before = doubly_stochastic([scores.softmax(dim=3)]).item()
    for _ in range(200):
        penalty = doubly_stochastic([scores.softmax(dim=3)])
        (gradient,) = torch.autograd.grad(penalty, scores)
        scores = (scores - 0.5 * gradient).detach().requires_grad_()
    assert before > 1
    assert penalty.item() < 0.01


def test_sums_are_exact_in_half_precision() -> None:
    weights = torch.full((1, 1, 300, 300), 1 / 300).bfloat16()
    assert doubly_stochastic([weights]).item() == pytest.approx(doubly_stochastic([weights.float()]).item())
