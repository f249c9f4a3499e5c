"""Every backend computes what the loop over a cell's step computes; which backend runs when."""

import threading
from unittest.mock import patch

import pytest
import torch

from seqloom.core.problem import UnavailableBackend, UnknownName
from seqloom.kernels.recurrence import BACKENDS, REFERENCE, Recurrence, Vendor, choose_backend, use
from seqloom.nn.cells import CELLS, GRU, LSTM, RNN, ReluRNN
from seqloom.nn.conformance import Result, forward_backward
from seqloom.nn.layer import Layer
from seqloom.nn.recurrent import Backwards, Recurrent
from seqloom.nn.state import State

equations = pytest.mark.parametrize("equation", Vendor.equations)

# Equality with the loop -------------------------------------------------------------------------------------------


def run_on(backend: str, layer: Layer, x: torch.Tensor, lengths: tuple[int, ...] | None, state: State | None) -> Result:
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
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize(
    ("dtype", "atol"), [(torch.float64, 1e-12), (torch.float32, 2e-5), (torch.bfloat16, 0.1)], ids=str
)
def test_outputs_states_and_gradients_equal_the_loop(equation, bias, dtype, atol) -> None:
    for lengths in (None, (7, 0, 1, 4, 6), (3, 2, 0, 0, 1)):
        layer = random_layer(equation, dtype, bias)
        x, state = torch.randn(5, 7, 3).to(dtype), random_state(layer, 5, dtype)
        results, state_gradients = [], []
        for backend in ("vendor", "reference"):
            for tensor in state.values():
                tensor.grad = None
            results.append(run_on(backend, layer, x, lengths, state))
            state_gradients.append({name: tensor.grad for name, tensor in state.items()})
        tolerance = {"rtol": atol, "atol": atol}
        vendor, loop = results
        torch.testing.assert_close(vendor.y, loop.y, **tolerance)
        torch.testing.assert_close(dict(vendor.state), dict(loop.state), **tolerance)
        if equation == "rnn-relu" and dtype == torch.bfloat16:
            continue  # rounding may switch a gradient on or off
        torch.testing.assert_close(vendor.x_grad, loop.x_grad, **tolerance)
        torch.testing.assert_close(vendor.weight_grads, loop.weight_grads, **tolerance)
        torch.testing.assert_close(*state_gradients, **tolerance)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_an_lstms_cell_is_constant_on_padding(dtype) -> None:
    """c at the end of a row and its gradient have the same bits, whatever follows."""
    layer = random_layer("lstm", dtype)
    x, lengths = torch.randn(4, 5, 3).to(dtype), (5, 3, 0, 1)
    state = random_state(layer, 4, dtype)
    short = run_on("vendor", layer, x, lengths, state)
    for row, length in enumerate(lengths):
        assert length or torch.equal(short.state["cell"][row], state["cell"][row])
    padded = torch.cat([x, torch.randn(4, 20, 3).to(dtype)], dim=1)
    longer = run_on("vendor", layer, padded, lengths, state)
    assert torch.equal(longer.state["cell"], short.state["cell"])
    assert torch.equal(longer.state["hidden"], short.state["hidden"])
    assert torch.equal(longer.x_grad[:, :5], short.x_grad)


@equations
def test_gradients_in_eval_mode_and_outputs_without_gradients(equation) -> None:
    layer, x = random_layer(equation, torch.float32).eval(), torch.randn(2, 5, 3)
    with use("vendor"):
        with torch.no_grad():
            without_gradients, _ = layer(x)
        y, _ = layer(x)
        y.sum().backward()
    torch.testing.assert_close(y, without_gradients)
    assert all(weight.grad.isfinite().all() for weight in layer.parameters())


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_growing_state_does_not_overflow_on_padding(backend) -> None:
    cell = ReluRNN(3, 4)
    with torch.no_grad():
        cell.recurrent_weight.copy_(3 * torch.eye(4))
        cell.bias.fill_(1.0)
    result = run_on(backend, Recurrent(cell), torch.randn(2, 300, 3), (3, 2), None)
    assert all(gradient.isfinite().all() for gradient in result.weight_grads.values())


@equations
def test_backwards_in_time_equals_the_loop(equation) -> None:
    layer, x, lengths = Backwards(random_layer(equation, torch.float64)), torch.randn(5, 7, 3).double(), (7, 0, 1, 4, 6)
    vendor, loop = (run_on(backend, layer, x, lengths, None) for backend in ("vendor", "reference"))
    torch.testing.assert_close(vendor.y, loop.y, rtol=0, atol=1e-12)
    torch.testing.assert_close(vendor.weight_grads, loop.weight_grads, rtol=0, atol=1e-12)


def test_weight_drop_drops_the_same_weights_on_every_backend() -> None:
    layer = Recurrent(LSTM(3, 4), weight_drop=0.5).double()
    x = torch.randn(2, 5, 3).double()
    vendor, loop = (run_on(backend, layer, x, (5, 2), None) for backend in ("vendor", "reference"))
    torch.testing.assert_close(vendor.y, loop.y, rtol=0, atol=1e-12)
    torch.testing.assert_close(vendor.weight_grads, loop.weight_grads, rtol=0, atol=1e-12)


def test_the_loop_runs_every_cell() -> None:
    for cell in CELLS.values():
        layer = Recurrent(cell(3, 4), zoneout=0.1)
        with use("reference"):
            assert layer(torch.randn(2, 5, 3))[0].shape == (2, 5, 4)


# Choice of a backend ----------------------------------------------------------------------------------------------


def recurrence(equation: str | None) -> Recurrence:
    cell = RNN(3, 4)
    return Recurrence(equation, torch.randn(2, 3, 3), State(), None, cell.project, cell.step, cell.operands)


def test_the_fastest_available_backend_is_chosen() -> None:
    assert choose_backend(recurrence("lstm")).name == "vendor"
    assert choose_backend(recurrence("gru")).name == "reference"
    assert choose_backend(recurrence(None)).name == "reference"
    assert list(BACKENDS)[-1] == "reference"
    assert all(BACKENDS[name].name == name for name in BACKENDS)


def test_use_requests_a_backend_within_the_block() -> None:
    with use("reference"):
        assert choose_backend(recurrence("lstm")) is REFERENCE
        with use("vendor"):
            assert choose_backend(recurrence("lstm")).name == "vendor"
        assert choose_backend(recurrence("lstm")) is REFERENCE
    assert choose_backend(recurrence("lstm")).name == "vendor"


def test_an_error_within_the_block_ends_the_request() -> None:
    with pytest.raises(ZeroDivisionError), use("reference"):
        raise ZeroDivisionError
    assert choose_backend(recurrence("lstm")).name == "vendor"


def test_an_unknown_backend_is_an_error_at_once() -> None:
    with pytest.raises(UnknownName, match=r"unknown backend 'vender'\. Did you mean 'vendor'\?"), use("vender"):
        pytest.fail("the block should not run")


def test_a_requested_backend_says_why_it_cannot_run() -> None:
    with use("vendor"):
        with pytest.raises(UnavailableBackend) as caught:
            choose_backend(recurrence("gru-minimal"))
        assert str(caught.value) == (
            "backend 'vendor' can't run this recurrence: torch has no kernel for the equation 'gru-minimal'; "
            "it has lstm, gru-after, rnn, rnn-relu."
        )
        with pytest.raises(UnavailableBackend, match=r"for the equation 'gru'; it has lstm"):
            Recurrent(GRU(3, 4))(torch.randn(2, 5, 3))
        with pytest.raises(UnavailableBackend, match="it names no equation"):  # zoneout changes the equation
            Recurrent(LSTM(3, 4), zoneout=0.1)(torch.randn(2, 5, 3))


def test_each_thread_has_its_own_request() -> None:
    chosen = {}

    def choose(thread: str) -> None:
        chosen[thread] = choose_backend(recurrence("lstm")).name

    with use("reference"):
        thread = threading.Thread(target=choose, args=("other",))
        thread.start()
        thread.join()
        choose("main")
    assert chosen == {"other": "vendor", "main": "reference"}


def test_a_layer_runs_on_the_requested_backend_and_one_step_on_the_loop() -> None:
    layer = Recurrent(LSTM(3, 4))
    with patch.object(BACKENDS["vendor"], "run", side_effect=AssertionError("the vendor's kernel ran")):
        layer(torch.randn(2, 1, 3))
        with use("reference"):
            layer(torch.randn(2, 2, 3))
        with pytest.raises(AssertionError, match="the vendor's kernel ran"):
            layer(torch.randn(2, 2, 3))
