"""Every activation equals its formula in plain floats."""

import math

import pytest
import torch
from torch import nn

from seqloom.core.problem import UnknownName
from seqloom.nn.activations import ACTIVATIONS, activation

λ, α = 1.0507009873554805, 1.6732632423543772  # of SELU (Klambauer et al. 2017)


def σ(x: float) -> float:
    return 1 / (1 + math.exp(-x))


formulas = {
    "relu": lambda x: max(0, x),
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "gelu-tanh": lambda x: x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "prelu": lambda x: max(0, x) + 0.25 * min(0, x),
    "elu": lambda x: x if x > 0 else math.exp(x) - 1,
    "swish": lambda x: x * σ(x),
    "selu": lambda x: λ * (x if x > 0 else α * (math.exp(x) - 1)),
    "softplus": lambda x: math.log(1 + math.exp(x)),
    "mish": lambda x: x * math.tanh(math.log(1 + math.exp(x))),
    "rrelu": lambda x: max(0, x) + (1 / 8 + 1 / 3) / 2 * min(0, x),
    "hardswish": lambda x: x * min(max(0, x + 3), 6) / 6,
    "sigmoid": σ,
    "softsign": lambda x: x / (1 + abs(x)),
    "tanh": math.tanh,
    "hardtanh": lambda x: min(max(-1, x), 1),
    "hardsigmoid": lambda x: min(max(0, x + 3), 6) / 6,
    "tanhshrink": lambda x: x - math.tanh(x),
    "softshrink": lambda x: math.copysign(max(0, abs(x) - 0.5), x),
    "hardshrink": lambda x: x if abs(x) > 0.5 else 0,
    "identity": lambda x: x,
}


def test_every_activation_has_a_formula() -> None:
    assert set(formulas) == set(ACTIVATIONS)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_equals_its_formula(name: str) -> None:
    x = torch.linspace(-7, 7, 141).double() + 0.01
    expected = torch.tensor([formulas[name](value) for value in x.tolist()], dtype=torch.float64)
    torch.testing.assert_close(activation(name).double().eval()(x), expected, rtol=0, atol=1e-12)


def test_rrelu_samples_its_slope_in_training() -> None:
    slopes = -activation("rrelu").train()(-torch.ones(1000))
    assert slopes.min() >= 1 / 8
    assert slopes.max() <= 1 / 3
    assert slopes.std() > 0.03


def test_each_call_returns_a_new_module() -> None:
    first, second = activation("prelu"), activation("prelu")
    assert isinstance(first, nn.PReLU)
    assert first.weight is not second.weight


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(UnknownName, match=r"unknown activation 'silu'"):
        activation("silu")
