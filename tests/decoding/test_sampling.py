"""Sampling: the sampled tokens, their frequencies, and the noise."""

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from seqloom.decoding.sampling import sample_tokens, uniform_noise

VOCABULARY = 11


# Sampled tokens ------------------------------------------------------------------------------------------------------


@given(noise=st.floats(0, 1, exclude_max=True))
def test_temperature_0_selects_the_argmax(noise: float) -> None:
    logits = torch.randn(4, VOCABULARY)
    chosen = sample_tokens(logits, temperature=0, noise=torch.full((4,), noise))
    assert torch.equal(chosen, logits.argmax(dim=1))
    assert torch.equal(sample_tokens(logits, temperature=1e-300, noise=torch.full((4,), noise)), chosen)
    assert torch.equal(sample_tokens(logits, temperature=5, top_k=1, noise=torch.full((4,), noise)), chosen)
    assert torch.equal(sample_tokens(logits, temperature=5, top_p=1e-9, noise=torch.full((4,), noise)), chosen)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_frequencies_follow_the_softmax(temperature: float) -> None:
    draws, logits = 8000, torch.randn(VOCABULARY)
    noise = uniform_noise(7, range(draws), step=0)
    chosen = sample_tokens(logits.expand(draws, -1), temperature=temperature, noise=noise)
    expected = draws * (logits.double() / temperature).softmax(dim=0)
    counts = chosen.bincount(minlength=VOCABULARY)
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert chi_square < 29.6  # one in a thousand, at 10 degrees of freedom


@given(data=st.data(), top_k=st.none() | st.integers(1, 15), top_p=st.none() | st.floats(0.01, 1))
def test_no_token_outside_top_k_and_top_p_is_sampled(
    data: st.DataObject, top_k: int | None, top_p: float | None
) -> None:
    logits = torch.tensor(data.draw(st.lists(st.floats(-5, 5), min_size=6, max_size=6)), dtype=torch.float64)
    by_rank = sorted(range(6), key=lambda token: -logits[token])
    kept = by_rank[:top_k]
    if top_p is not None:
        p = logits[kept].softmax(dim=0).tolist()
        reach = next((n for n in range(1, len(kept)) if sum(p[:n]) >= top_p + 1e-12), len(kept))
        kept = kept[:reach]
    noise = torch.linspace(0, 1, 200, dtype=torch.float64)
    noise[-1] = 1 - 2**-53
    chosen = sample_tokens(logits.expand(200, -1), temperature=1.0, top_k=top_k, top_p=top_p, noise=noise)
    assert set(chosen.tolist()) <= set(kept)


def test_top_p_keeps_the_smallest_set_of_that_probability() -> None:
    logits = torch.tensor([0.1, 0.5, 0.15, 0.25]).log().expand(1000, -1)
    noise = uniform_noise(0, range(1000), 0)

    def chosen(**limits: float) -> set[int]:
        return set(sample_tokens(logits, temperature=1.0, noise=noise, **limits).tolist())

    assert chosen(top_p=0.4) == {1}
    assert chosen(top_p=0.6) == {1, 3}
    assert chosen(top_p=0.8) == {1, 2, 3}
    assert chosen(top_p=1.0) == {0, 1, 2, 3}
    assert chosen(top_k=2, top_p=0.7) == {1, 3}  # of the two left, the first has only 2/3
    assert chosen(top_k=2, top_p=0.6) == {1}


def test_top_k_keeps_exactly_k_of_equal_tokens() -> None:
    noise = uniform_noise(0, range(500), 0)
    assert set(sample_tokens(torch.zeros(500, 9), temperature=1, top_k=3, noise=noise).tolist()) == {0, 1, 2}


@given(step=st.integers(0, 1000))
def test_a_token_of_probability_0_is_never_sampled(step: int) -> None:
    logits = torch.full((3, 4), float("-inf"))
    logits[:, 2] = -3.0
    noise = torch.tensor([0.0, float(uniform_noise(1, [0], step)), 1 - 2**-53], dtype=torch.float64)
    assert sample_tokens(logits, temperature=1.0, noise=noise).tolist() == [2, 2, 2]


@given(
    scores=st.lists(st.floats(-5, 5), min_size=6, max_size=6),
    min_p=st.floats(0.01, 0.99),
    temperature=st.sampled_from([0.5, 1.0, 2.0]),
)
def test_min_p_keeps_tokens_relative_to_the_most_likely(scores: list[float], min_p: float, temperature: float) -> None:
    logits = torch.tensor(scores, dtype=torch.float64)
    p = (logits / temperature).softmax(dim=0)
    assume(((p / p.max() - min_p).abs() > 1e-9).all())
    kept = p.masked_fill(p < min_p * p.max(), 0)
    noise = torch.linspace(0, 1, 201, dtype=torch.float64)[:-1]
    chosen = sample_tokens(logits.expand(200, -1), temperature=temperature, min_p=min_p, noise=noise)
    expected = torch.searchsorted((kept / kept.sum()).cumsum(dim=0), noise, right=True)
    near = (noise.unsqueeze(1) - (kept / kept.sum()).cumsum(dim=0)).abs().amin(dim=1) < 1e-9  # rounding may decide
    assert torch.equal(chosen[~near], expected[~near])


def test_min_p_is_applied_after_top_k_and_top_p() -> None:
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1]).log().expand(1000, -1)
    noise = uniform_noise(0, range(1000), 0)

    def chosen(**limits: float) -> set[int]:
        return set(sample_tokens(logits, temperature=1.0, noise=noise, **limits).tolist())

    assert chosen(min_p=0.45) == {0, 1, 2}
    assert chosen(min_p=0.55) == {0, 1}
    assert chosen(top_k=1, min_p=0.01) == {0}
    assert chosen(top_p=0.6, min_p=0.01) == {0, 1}


# Noise ---------------------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**63 - 1), number=st.integers(0, 10**6), step=st.integers(0, 10**6))
def test_noise_is_a_function_of_seed_number_and_step(seed: int, number: int, step: int) -> None:
    (drawn,) = uniform_noise(seed, [number], step).tolist()
    torch.manual_seed(step)
    assert 0 <= drawn < 1
    assert uniform_noise(seed, [3, number], step)[1] == drawn
    others = [
        uniform_noise(seed + 1, [number], step),
        uniform_noise(seed, [number + 1], step),
        uniform_noise(seed, [number], step + 1),
    ]
    assert drawn not in [other.item() for other in others]


def test_noise_is_uniform_over_samples_and_steps() -> None:
    for drawn in (uniform_noise(3, range(4000), 5), torch.cat([uniform_noise(3, [2], step) for step in range(4000)])):
        counts = (drawn * 10).long().bincount(minlength=10)
        assert ((counts - 400.0) ** 2 / 400).sum() < 27.9  # one in a thousand, at 9 degrees of freedom
