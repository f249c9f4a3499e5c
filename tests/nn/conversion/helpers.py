"""Helpers of the tests against torch.nn: random weights, gradients, masks."""

from collections.abc import Callable

import torch
from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy
from torch import Tensor, nn

ROWS, STEPS = 3, 6
LENGTHS = torch.tensor([6, 1, 4])
PADDING = torch.arange(STEPS) >= LENGTHS.unsqueeze(1)


def few_examples(**strategies: SearchStrategy) -> Callable:
    """`given` with half as many examples, since each runs torch's module and ours, forward and backward."""
    return lambda test: settings(max_examples=settings.default.max_examples // 2)(given(**strategies)(test))


def perturbed(module: nn.Module) -> nn.Module:
    """In float64 and eval mode, with no weight at zero or one, since initialized biases and norms would hide errors."""
    with torch.no_grad():
        for weight in module.double().eval().parameters():
            weight += 0.3 * torch.randn_like(weight)
    return module


def gradients(y: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    weights = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view_as(y)
    return torch.autograd.grad((y * weights).sum(), inputs, retain_graph=True)


def assert_close(actual: object, expected: object, atol: float = 1e-12) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


def assert_same_weights(actual: nn.Module, expected: nn.Module) -> None:
    """The weights are equal bit for bit."""
    assert_close(dict(actual.named_parameters()), dict(expected.named_parameters()), atol=0)


def assert_same_kind(actual: nn.Module, expected: nn.Module) -> None:
    """The modules have the same submodules with the same settings."""
    assert repr(actual) == repr(expected)


def causal_mask(causal: bool) -> Tensor | None:
    """The mask as torch expects it: True if a step is masked."""
    return torch.ones(STEPS, STEPS, dtype=torch.bool).triu(1) if causal else None
