"""Scheduled sampling: which words are replaced, by which, and how often."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.tasks.scheduled_sampling import sample_inputs

VOCABULARY = 11


def logits_of(predicted: torch.Tensor) -> torch.Tensor:
    """Scores by which these come after each step."""
    return torch.nn.functional.one_hot(predicted, VOCABULARY).float()


@given(st.integers(1, 3), st.integers(1, 6), st.sampled_from([0.0, 0.4, 1.0]), st.integers(0, 99))
def test_each_word_is_the_right_one_or_the_model_s_own(rows: int, time: int, probability: float, seed: int) -> None:
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


def test_the_share_is_that_asked_for() -> None:
    torch.manual_seed(1)
    tokens, predicted = torch.zeros(200, 101, dtype=torch.long), torch.ones(200, 101, dtype=torch.long)
    sampled = sample_inputs(tokens, logits_of(predicted), 0.3)[:, 1:].float().mean().item()
    assert abs(sampled - 0.3) < 0.01  # 20,000 draws: three standard deviations


def test_the_seed_says_which() -> None:
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
