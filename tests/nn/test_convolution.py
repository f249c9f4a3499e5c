"""Convolution over time, beyond the tests of every layer in the conformance suite."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from seqloom.core.problem import ArgumentError, CannotStep
from seqloom.nn.convolution import (
    CausalConvolution,
    CenteredConvolution,
    GatedLinearConvolution,
    GatedLinearUnit,
    GatedTanhConvolution,
)
from seqloom.nn.record import record
from seqloom.nn.stack import Stack


def reaches(layer, t, time=40):
    """The positions that y_t depends on."""
    x = torch.randn(1, time, layer.input_size, requires_grad=True)
    layer(x)[0][0, t].sum().backward()
    return (x.grad.abs().sum(dim=(0, 2)) > 0).nonzero().flatten().tolist()


def test_dilations_of_powers_of_two_reach_exponentially_far():
    """2^L steps from L layers with two weights each (WaveNet, figure 3)."""
    wavenet = Stack([GatedTanhConvolution(2, 2, kernel_size=2, dilation=2**level) for level in range(4)])
    assert reaches(wavenet, 30) == list(range(30 - 2**4 + 1, 31))


@pytest.mark.parametrize(("kernel_size", "dilation"), [(1, 1), (3, 1), (3, 4), (2, 7)])
def test_a_causal_kernel_sees_its_step_and_earlier_ones_at_the_dilation(kernel_size, dilation):
    layer = CausalConvolution(2, 3, kernel_size, dilation=dilation)
    assert reaches(layer, 30) == sorted(30 - k * dilation for k in range(kernel_size))


def test_a_centered_kernel_sees_both_sides():
    assert reaches(CenteredConvolution(2, 3, kernel_size=5, dilation=2), 20) == [16, 18, 20, 22, 24]


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")  # of the copy that it costs torch
@pytest.mark.parametrize(("kernel_size", "dilation"), [(1, 1), (2, 1), (5, 1), (3, 2), (4, 3)])
def test_centered_equals_same_padding_of_torch(kernel_size, dilation):
    layer = CenteredConvolution(3, 4, kernel_size, dilation=dilation).double()
    same = nn.Conv1d(3, 4, kernel_size, dilation=dilation, padding="same").double()
    same.load_state_dict(layer.convolution.state_dict())
    x = torch.randn(2, 12, 3, dtype=torch.float64)
    assert_close(layer(x)[0], same(x.transpose(1, 2)).transpose(1, 2))


@pytest.mark.parametrize("kind", [GatedLinearConvolution, GatedTanhConvolution])
def test_a_closed_gate_gives_zero_and_an_open_gate_the_candidate(kind):
    layer = kind(3, 4, kernel_size=2)
    x = torch.randn(2, 5, 3)
    values, _ = layer.layers["convolution"](x)
    candidate = layer.layers["unit"].candidate(values[..., :4])
    with torch.no_grad():
        layer.layers["convolution"].convolution.weight[4:] = 0
        layer.layers["convolution"].convolution.bias[4:] = -1e4
        assert layer(x)[0].abs().max() == 0
        layer.layers["convolution"].convolution.bias[4:] = 1e4
        assert_close(layer(x)[0], candidate)


def test_the_linear_unit_equals_torch():
    x = torch.randn(2, 5, 8)
    assert_close(GatedLinearUnit(4)(x)[0], F.glu(x, dim=2))


def test_recorded_gates_do_not_depend_on_the_chunks():
    layer, x = GatedTanhConvolution(3, 4, kernel_size=2), torch.randn(2, 5, 3)
    with record("gates") as whole:
        y, _ = layer(x)
    with record("gates") as split:
        _, state = layer(x[:, :2])
        layer(x[:, 2:], state=state)
    gates = whole["gates"]["unit"]
    assert_close(split["gates"]["unit"], gates)
    assert_close(gates["gate"] * gates["candidate"], y)


def test_recorded_gates_are_zero_beyond_a_rows_length():
    layer, x = GatedLinearConvolution(3, 4, kernel_size=2), torch.randn(2, 5, 3)
    with record("gates") as seen:
        layer(x, torch.tensor([5, 2]))
    assert seen["gates"]["unit"]["gate"][1, 2:].abs().max() == 0


def test_kernel_size_and_dilation_are_at_least_one():
    with pytest.raises(ArgumentError, match=r"^CausalConvolution: kernel_size is 0; expected a whole number, at"):
        CausalConvolution(3, 4, kernel_size=0)
    with pytest.raises(
        ArgumentError, match=r"^CenteredConvolution: dilation is 0; expected a whole number, at least 1"
    ):
        CenteredConvolution(3, 4, kernel_size=3, dilation=0)
    with pytest.raises(ArgumentError, match=r"^CausalConvolution: kernel_size is -1; expected a whole number"):
        GatedLinearConvolution(3, 4, kernel_size=-1)


def test_a_centered_convolution_cannot_step():
    layer = CenteredConvolution(3, 4, kernel_size=3)
    _, state = layer(torch.randn(2, 1, 3))
    with pytest.raises(CannotStep, match="use a causal layer"):
        layer(torch.randn(2, 1, 3), state=state)


def test_a_state_of_another_dilation_is_an_error():
    _, state = CausalConvolution(3, 4, kernel_size=2, dilation=4)(torch.randn(2, 5, 3))
    with pytest.raises(ArgumentError, match=r"expected \[2, 2, 3\]: is it the state of another layer\?"):
        CausalConvolution(3, 4, kernel_size=2, dilation=2)(torch.randn(2, 5, 3), state=state)
