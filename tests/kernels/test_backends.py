"""Every backend gives what the plain loop over a cell's own step gives: outputs, final states and every gradient."""

import pytest
import torch

from seqloom.kernels.vendor import BACKENDS, Vendor, use
from seqloom.nn.cells import CELLS, LSTM, ReluRNN
from seqloom.nn.conformance import Result, forward_backward
from seqloom.nn.layer import Layer
from seqloom.nn.recurrent import Backwards, Recurrent
from seqloom.nn.state import State

equations = pytest.mark.parametrize("equation", Vendor.equations)
biases = pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
raggeds = pytest.mark.parametrize("lengths", [None, (7, 0, 1, 4, 6), (3, 2, 0, 0, 1)], ids=["full", "ragged", "short"])


def on(backend: str, layer: Layer, x: torch.Tensor, lengths: tuple[int, ...] | None, state: State) -> Result:
    with use(backend):
        return forward_backward(layer, x, None if lengths is None else torch.tensor(lengths), state)


def random_layer(equation: str, dtype: torch.dtype, bias: bool = True) -> Recurrent:
    layer = Recurrent(CELLS[equation](3, 4, bias=bias)).to(dtype)
    with torch.no_grad():
        for weight in layer.parameters():
            weight += 0.3 * torch.randn_like(weight)
    return layer


def random_state(layer: Recurrent, rows: int, dtype: torch.dtype) -> State:
    return State({name: torch.randn(rows, 4, dtype=dtype).requires_grad_() for name in layer.cell.carries})


@equations
@biases
@raggeds
@pytest.mark.parametrize(
    ("dtype", "atol"), [(torch.float64, 1e-12), (torch.float32, 2e-5), (torch.bfloat16, 0.1)], ids=str
)
def test_the_vendor_equals_the_loop(equation, bias, lengths, dtype, atol) -> None:
    layer = random_layer(equation, dtype, bias)
    x, state = torch.randn(5, 7, 3).to(dtype), random_state(layer, 5, dtype)
    results, to_states = [], []
    for backend in ("vendor", "reference"):
        for tensor in state.values():
            tensor.grad = None
        results.append(on(backend, layer, x, lengths, state))
        to_states.append({name: tensor.grad for name, tensor in state.items()})
    near = {"rtol": atol, "atol": atol}
    vendor, loop = results
    torch.testing.assert_close(vendor.y, loop.y, **near)
    torch.testing.assert_close(dict(vendor.state), dict(loop.state), **near)
    if equation == "rnn-relu" and dtype == torch.bfloat16:
        return  # a gradient goes through or does not, and one rounding decides
    torch.testing.assert_close(vendor.to_x, loop.to_x, **near)
    torch.testing.assert_close(vendor.to_weights, loop.to_weights, **near)
    torch.testing.assert_close(*to_states, **near)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_an_lstms_cell_is_held_still_exactly(dtype) -> None:
    """c at a row's end has the same bits whatever comes after it, and so has its gradient."""
    layer = random_layer("lstm", dtype)
    x, lengths = torch.randn(4, 5, 3).to(dtype), (5, 3, 0, 1)
    state = random_state(layer, 4, dtype)
    whole = on("vendor", layer, x, lengths, state)
    for row, length in enumerate(lengths):
        assert length or torch.equal(whole.state["cell"][row], state["cell"][row])
    padded = torch.cat([x, torch.randn(4, 20, 3).to(dtype)], dim=1)
    longer = on("vendor", layer, padded, lengths, state)
    assert torch.equal(longer.state["cell"], whole.state["cell"])
    assert torch.equal(longer.state["hidden"], whole.state["hidden"])
    assert torch.equal(longer.to_x[:, :5], whole.to_x)


@equations
def test_gradients_come_in_eval_mode_and_without_any(equation) -> None:
    layer, x = random_layer(equation, torch.float32).eval(), torch.randn(2, 5, 3)
    with use("vendor"):
        with torch.no_grad():
            quiet, _ = layer(x)
        y, _ = layer(x)
        y.sum().backward()
    torch.testing.assert_close(y, quiet)
    assert all(weight.grad.isfinite().all() for weight in layer.parameters())


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_state_that_would_grow_without_end_does_not_on_padding(backend) -> None:
    cell = ReluRNN(3, 4)
    with torch.no_grad():
        cell.recurrent_weight.copy_(3 * torch.eye(4))
        cell.bias.fill_(1.0)
    result = on(backend, Recurrent(cell), torch.randn(2, 300, 3), (3, 2), None)
    assert all(gradient.isfinite().all() for gradient in result.to_weights.values())


@equations
def test_backwards_in_time(equation) -> None:
    layer, x, lengths = Backwards(random_layer(equation, torch.float64)), torch.randn(5, 7, 3).double(), (7, 0, 1, 4, 6)
    vendor, loop = (on(backend, layer, x, lengths, None) for backend in ("vendor", "reference"))
    torch.testing.assert_close(vendor.y, loop.y, rtol=0, atol=1e-12)
    torch.testing.assert_close(vendor.to_weights, loop.to_weights, rtol=0, atol=1e-12)


def test_weight_drop_runs_on_the_vendors_kernel_with_the_same_weights_left_out() -> None:
    layer = Recurrent(LSTM(3, 4), weight_drop=0.5).double()
    x = torch.randn(2, 5, 3).double()
    vendor, loop = (on(backend, layer, x, (5, 2), None) for backend in ("vendor", "reference"))
    torch.testing.assert_close(vendor.y, loop.y, rtol=0, atol=1e-12)
    torch.testing.assert_close(vendor.to_weights, loop.to_weights, rtol=0, atol=1e-12)


def test_the_loop_takes_everything() -> None:
    for cell in CELLS.values():
        layer = Recurrent(cell(3, 4), zoneout=0.1)
        with use("reference"):
            assert layer(torch.randn(2, 5, 3))[0].shape == (2, 5, 4)
