"""Scheduled sampling: which words are replaced, by which, and how often."""

import torch
from hypothesis import given as case
from hypothesis import strategies as st

from seqloom.tasks.scheduled_sampling import mixed

VOCABULARY = 11


def logits_of(wrote: torch.Tensor) -> torch.Tensor:
    """Scores by which these come after each step."""
    return torch.nn.functional.one_hot(wrote, VOCABULARY).float()


@case(st.integers(1, 3), st.integers(1, 6), st.sampled_from([0.0, 0.4, 1.0]), st.integers(0, 99))
def test_each_word_is_the_right_one_or_the_model_s_own(rows: int, time: int, share: float, seed: int) -> None:
    torch.manual_seed(seed)
    given, wrote = torch.randint(VOCABULARY, (2, rows, time))
    found = mixed(given, logits_of(wrote), share)
    assert found[:, 0].equal(given[:, 0])
    own, right = found[:, 1:] == wrote[:, :-1], found[:, 1:] == given[:, 1:]
    assert bool((own | right).all())
    if share == 0:
        assert found.equal(given)
    if share == 1:
        assert bool(own.all())


def test_the_share_is_that_asked_for() -> None:
    torch.manual_seed(1)
    given, wrote = torch.zeros(200, 101, dtype=torch.long), torch.ones(200, 101, dtype=torch.long)
    found = mixed(given, logits_of(wrote), 0.3)[:, 1:].float().mean().item()
    assert abs(found - 0.3) < 0.01  # 20,000 draws: three standard deviations


def test_the_seed_says_which() -> None:
    given, wrote = torch.zeros(5, 20, dtype=torch.long), torch.ones(5, 20, dtype=torch.long)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(mixed(given, logits_of(wrote), 0.5))
    assert found[0].equal(found[1])
    assert not found[0].equal(found[2])


def test_no_gradient_goes_into_the_first_pass() -> None:
    logits = torch.randn(2, 4, VOCABULARY, requires_grad=True)
    assert not mixed(torch.zeros(2, 4, dtype=torch.long), logits, 0.5).requires_grad
