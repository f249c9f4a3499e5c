"""On a CUDA device every layer equals itself on the CPU, and no step synchronizes."""

import contextlib

import pytest
import torch

from seqloom import kernels
from seqloom.core.problem import ArgumentError
from seqloom.nn import GRU, LSTM, Recurrent
from seqloom.nn.cells import CELLS
from seqloom.nn.conformance import forward_backward
from tests.nn.suite import causal, every, random_batch

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype"),
]


@pytest.fixture(autouse=True)
def exact():
    """Disable TF32, which keeps three digits of float32 products."""
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        yield


@contextlib.contextmanager
def no_waiting():
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@every()
def test_outputs_equal_those_of_the_cpu(case):
    layer = case.layer(torch.float64)
    x, lengths = random_batch(layer)
    expected = forward_backward(layer, x, lengths, case.initial_state(layer, len(x)))
    layer = layer.cuda()
    actual = forward_backward(layer, x.cuda(), lengths.cuda(), case.initial_state(layer, len(x)))
    torch.testing.assert_close(actual.y.cpu(), expected.y, rtol=0, atol=1e-9)
    torch.testing.assert_close(actual.x_grad.cpu(), expected.x_grad, rtol=0, atol=1e-8)
    for name, gradient in actual.weight_grads.items():
        torch.testing.assert_close(gradient.cpu(), expected.weight_grads[name], rtol=1e-8, atol=1e-8)


@every(having=causal)
def test_steps_do_not_synchronize(case):
    layer = case.layer(torch.float32)
    x, lengths = random_batch(layer, dtype=torch.float32)
    layer, x, lengths = layer.cuda(), x.cuda(), lengths.cuda()
    state = case.initial_state(layer, len(x))
    half = x.shape[1] // 2
    first, rest = lengths.clamp(max=half), (lengths - half).clamp(min=0)
    with torch.no_grad(), no_waiting():
        _, state = layer(x[:, :half], first, state)
        layer(x[:, half:], rest, state)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["lstm", "gru-after", "rnn", "rnn-relu"])
def test_the_vendor_kernel_equals_the_reference(name, dtype):
    layer = Recurrent(CELLS[name](16, 32)).cuda().to(dtype)
    x, lengths = torch.randn(5, 20, 16, device="cuda", dtype=dtype), torch.tensor([20, 0, 1, 7, 19], device="cuda")
    with kernels.use("vendor"):
        fast = forward_backward(layer, x, lengths)
    with kernels.use("reference"):
        plain = forward_backward(layer, x, lengths)
    atol = {torch.float64: 1e-10, torch.float32: 1e-4, torch.bfloat16: 0.5}[dtype]
    torch.testing.assert_close(fast.y, plain.y, rtol=0, atol=atol / 5)
    torch.testing.assert_close(dict(fast.state), dict(plain.state), rtol=0, atol=atol / 5)
    torch.testing.assert_close(fast.x_grad, plain.x_grad, rtol=0, atol=atol)
    torch.testing.assert_close(
        fast.weight_grads, plain.weight_grads, rtol=0.1 if dtype == torch.bfloat16 else 0, atol=10 * atol
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_a_frozen_cell_is_kept_bit_for_bit(dtype):
    layer = Recurrent(LSTM(16, 64)).cuda().to(dtype)
    x = torch.randn(3, 12, 16, device="cuda", dtype=dtype)
    _, short = layer(x[:, :5])
    _, padded = layer(x, lengths=torch.full((3,), 5, device="cuda"))
    torch.testing.assert_close(padded["cell"], short["cell"], rtol=0, atol=1e-2 if dtype != torch.float32 else 1e-5)
    _, again = layer(torch.cat([x, x], dim=1), lengths=torch.full((3,), 5, device="cuda"))
    assert torch.equal(again["cell"], padded["cell"])


def test_gradients_flow_in_eval_mode():
    layer = Recurrent(LSTM(4, 8)).cuda().eval()
    y, _ = layer(torch.randn(2, 3, 4, device="cuda"))
    y.sum().backward()
    assert layer.cell.recurrent_weight.grad.abs().sum() > 0


def test_mixed_devices_are_an_error():
    layer, x = Recurrent(GRU(3, 4)).cuda(), torch.randn(2, 5, 3)
    with pytest.raises(ArgumentError, match=r"x is on cpu; expected cuda:0, where the weights are"):
        layer(x)
    _, state = layer(x.cuda())
    with pytest.raises(ArgumentError, match=r"state\['hidden'\] is on cpu; expected cuda:0"):
        layer(x.cuda(), state=state.to("cpu"))


def test_lengths_on_the_cpu_are_checked_and_moved():
    layer = Recurrent(GRU(3, 4)).cuda()
    y, state = layer(torch.randn(2, 5, 3, device="cuda"), lengths=torch.tensor([5, 2]))
    assert y[1, 2:].abs().sum() == 0
    assert state.position.tolist() == [5, 2]
