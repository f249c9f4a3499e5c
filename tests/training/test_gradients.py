"""Gradients made ready: the mean, the norm, both clips; and what is not finite."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from seqloom.core.config.train import Train
from seqloom.nn.heads.head import Loss
from seqloom.training import optimization
from seqloom.training.optimization import loss_and_norm
from tests.training.small import tiny


def part(clip_norm: float | str = "none", clip_value: float | None = None) -> Train:
    return tiny("language", train={"clip_norm": clip_norm, "clip_value": clip_value}).train


def weights(seed: int = 0, scale: float = 1.0) -> list[Tensor]:
    """Weights with gradients, one without."""
    generator = torch.Generator().manual_seed(seed)
    made = [nn.Parameter(torch.zeros(size)) for size in ((3, 2), (4,), (2,))]
    for weight in made[:2]:
        weight.grad = scale * torch.randn(weight.shape, generator=generator)
    return list(made)


def norm(of: list[Tensor]) -> float:
    return loss_and_norm([Loss(torch.tensor(0.0), torch.tensor(1))], of)[2]


def clip(of: list[Tensor], count: int, train: Train) -> tuple[float, bool]:
    """As a step does it."""
    length = norm(gradients(of)) / max(count, 1)
    return length, optimization.average_and_clip(gradients(of), length, count, train)


def gradients(of: list[Tensor]) -> list[Tensor]:
    return [weight.grad for weight in of if weight.grad is not None]


@given(st.integers(0, 1000), st.floats(0.01, 10), st.integers(1, 500), st.floats(0.1, 1000))
def test_clip_by_norm_equals_torchs_on_the_mean(seed: int, most: float, count: int, scale: float) -> None:
    came, expected = weights(seed, scale), weights(seed, scale)
    length, clipped = clip(came, count, part(most))
    for weight in expected:
        if weight.grad is not None:
            weight.grad /= count
    theirs = float(nn.utils.clip_grad_norm_(expected, most))
    assert length == pytest.approx(theirs, rel=1e-5)
    assert clipped == (length > most)
    for one, other in zip(gradients(came), gradients(expected), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)
    assert norm(gradients(came)) <= most * (1 + 1e-5)


@given(st.integers(0, 1000), st.floats(0.01, 2))
def test_clip_by_value_equals_torchs(seed: int, most: float) -> None:
    came, expected = weights(seed), weights(seed)
    length, clipped = clip(came, 1, part(clip_value=most))
    nn.utils.clip_grad_value_(expected, most)
    assert not clipped  # which is told of the norm
    assert length == pytest.approx(norm(gradients(weights(seed))))
    for one, other in zip(gradients(came), gradients(expected), strict=True):
        torch.testing.assert_close(one, other)


def test_by_norm_first_then_by_value() -> None:
    weight = nn.Parameter(torch.zeros(2))
    weight.grad = torch.tensor([30.0, -40.0])
    assert clip([weight], 10, part(1.0, 0.7)) == (pytest.approx(5.0), True)
    torch.testing.assert_close(weight.grad, torch.tensor([0.6, -0.7]), rtol=1e-5, atol=0)


def test_without_clipping_it_is_the_mean() -> None:
    came, before = weights(), gradients(weights())
    assert clip(came, 4, part()) == (pytest.approx(norm(before) / 4), False)
    for one, other in zip(gradients(came), before, strict=True):
        torch.testing.assert_close(one, other / 4)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_left_as_it_is(wrong: float) -> None:
    came = weights()
    gradients(came)[1][2] = wrong
    before = [gradient.clone() for gradient in gradients(came)]
    length, clipped = clip(came, 3, part(0.1, 0.1))
    assert not math.isfinite(length)
    assert not clipped
    for one, other in zip(gradients(came), before, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


def test_nothing_to_make_ready() -> None:
    assert clip([nn.Parameter(torch.zeros(2))], 3, part(1.0, 1.0)) == (0.0, False)
    assert clip(weights(), 0, part())[0] == pytest.approx(norm(gradients(weights())))  # no item: nothing to divide by


def test_sums_over_batches_are_read_together() -> None:
    losses = [Loss(torch.tensor(0.1), torch.tensor(3)), Loss(torch.tensor(2.0), torch.tensor(16_777_216))]
    total, count, length = loss_and_norm(losses, [torch.tensor([[3.0]]), torch.tensor([4.0])])
    assert total == float(torch.tensor(0.1)) + 2.0  # in double, as a person would add them
    assert count == 16_777_219
    assert length == 5.0
