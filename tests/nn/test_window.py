"""The fixed-window model, beyond the tests of every layer in the conformance suite."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F
from torch.testing import assert_close

from seqloom.core.problem import ArgumentError
from seqloom.nn.convolution import CausalConvolution
from seqloom.nn.window import FixedWindow, FixedWindowDirect, Window, prepend_recent


@given(st.integers(0, 5), st.integers(1, 6), st.data())
def test_the_recent_steps_are_those_before_the_end_of_each_row(reach, time, data):
    lengths = data.draw(st.lists(st.integers(0, time), min_size=1, max_size=4))
    x, recent = torch.randn(len(lengths), time, 2), torch.randn(len(lengths), reach, 2)
    whole, after = prepend_recent(x, torch.tensor(lengths), recent)
    assert_close(whole, torch.cat([recent, x], dim=1))
    for row, length in enumerate(lengths):
        seen = torch.cat([recent[row], x[row, :length]])
        assert_close(after[row], seen[len(seen) - reach :])


@given(st.integers(0, 5), st.integers(1, 6))
def test_no_lengths_equal_full_lengths(reach, time):
    x, recent = torch.randn(3, time, 2), torch.randn(3, reach, 2)
    _, without = prepend_recent(x, None, recent)
    _, full = prepend_recent(x, torch.full((3,), time), recent)
    assert_close(without, full)


def test_the_recent_steps_do_not_keep_a_long_input_in_memory():
    _, recent = prepend_recent(torch.randn(1, 1000, 2), None, torch.zeros(1, 3, 2))
    assert recent.untyped_storage().nbytes() == recent.numel() * recent.element_size()


def test_a_state_continues_in_another_precision():
    layer = FixedWindow(3, 4, width=3)
    _, state = layer(torch.randn(2, 5, 3))
    layer, x = layer.to(torch.bfloat16), torch.randn(2, 1, 3, dtype=torch.bfloat16)
    with pytest.raises(ArgumentError, match=r"\['window.recent'\] has type torch\.float32; expected torch\.bfloat16"):
        layer(x, state=state)
    y, state = layer(x, state=state.to(dtype=torch.bfloat16))
    assert y.dtype == state["window.recent"].dtype == torch.bfloat16


def test_a_fixed_window_is_a_causal_convolution():
    window = FixedWindow(3, 4, width=5).double()
    convolution = CausalConvolution(3, 4, kernel_size=5, activation="tanh").double()
    linear = window.layers["hidden"].linear
    with torch.no_grad():
        convolution.convolution.weight.copy_(linear.weight.unflatten(1, (5, 3)).transpose(1, 2))
        convolution.convolution.bias.copy_(linear.bias)
    x, lengths = torch.randn(2, 9, 3, dtype=torch.float64), torch.tensor([9, 2])
    ours, ours_after = window(x, lengths)
    theirs, theirs_after = convolution(x, lengths)
    assert_close(ours, theirs)
    assert_close(ours_after["window.recent"], theirs_after["recent"])


def test_direct_connections_with_a_linear_head_equal_the_paper():
    """b + W z + U tanh(d + H z)"""
    layer = FixedWindowDirect(3, 4, width=2).double()
    head = torch.nn.Linear(layer.output_size, 7).double()
    x = torch.randn(1, 6, 3, dtype=torch.float64)
    W, U = head.weight.split([2 * 3, 4], dim=1)
    hidden = layer.layers["direct"].layers["hidden"].linear
    logits = head(layer(x)[0])
    for t in range(1, 6):
        z = torch.cat([x[0, t - 1], x[0, t]])
        assert_close(logits[0, t], head.bias + W @ z + U @ torch.tanh(hidden.bias + hidden.weight @ z))


def test_a_position_sees_only_its_window():
    layer = FixedWindow(2, 3, width=4)
    x = torch.randn(1, 10, 2, requires_grad=True)
    layer(x)[0][0, 7].sum().backward()
    seen = x.grad.abs().sum(dim=(0, 2)) > 0
    assert seen.nonzero().flatten().tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize("make", [Window, lambda size, width: FixedWindow(size, 4, width)])
def test_an_invalid_width_is_an_error(make):
    with pytest.raises(ArgumentError, match=r"^Window: width is 0; expected a whole number, at least 1\.$"):
        make(3, width=0)


def test_a_state_of_another_width_is_an_error():
    _, state = Window(3, width=4)(torch.randn(2, 5, 3))
    with pytest.raises(ArgumentError, match=r"state\['recent'\] has shape \[2, 3, 3\]; expected \[2, 1, 3\]"):
        Window(3, width=2)(torch.randn(2, 5, 3), state=state)


def test_a_window_equals_unfold():
    x = torch.randn(2, 6, 3)
    unfolded = F.pad(x, (0, 0, 2, 0)).unfold(1, 3, 1).transpose(2, 3).flatten(2)
    assert_close(Window(3, width=3)(x)[0], unfolded)
