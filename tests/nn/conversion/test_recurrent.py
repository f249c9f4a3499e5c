"""`nn.RNN`, `nn.LSTM` and `nn.GRU` equal our recurrent layers: outputs, gradients, states, rows of unequal length."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seqloom.nn.cells import LSTM, RNN, GRUAfter
from seqloom.nn.conversion import from_torch, to_torch
from seqloom.nn.deep_recurrent import recurrent_stack
from seqloom.nn.dropout import Dropout, VariationalDropout
from seqloom.nn.layer import Layer
from seqloom.nn.recurrent import Bidirectional, Recurrent
from seqloom.nn.stack import Stack
from seqloom.nn.state import State
from tests.nn.conversion.helpers import (
    LENGTHS,
    ROWS,
    STEPS,
    assert_close,
    assert_same_kind,
    assert_same_weights,
    few_examples,
    gradients,
    perturbed,
)

MODULES: dict[str, Callable[..., nn.RNNBase]] = {
    "rnn": nn.RNN,
    "rnn-relu": lambda *sizes, **settings: nn.RNN(*sizes, nonlinearity="relu", **settings),
    "lstm": nn.LSTM,
    "gru-after": nn.GRU,
}
recurrences = few_examples(
    cell=st.sampled_from(sorted(MODULES)),
    depth=st.integers(1, 3),
    bidirectional=st.booleans(),
    bias=st.booleans(),
    batch_first=st.booleans(),
    ragged=st.booleans(),
)


def their_state(state: State, depth: int, bidirectional: bool, name: str) -> Tensor:
    """Our named tensors in torch's order: [depth * directions, batch, hidden]."""
    directions = ("forwards.", "backwards.reversed.") if bidirectional else ("",)
    return torch.stack([state[f"{k}.{direction}{name}"] for k in range(depth) for direction in directions])


def run_theirs(module: nn.RNNBase, x: Tensor, lengths: Tensor | None) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Run a batch-first module, with rows of unequal lengths packed."""
    x_in_their_order = x if module.batch_first else x.transpose(0, 1)
    if lengths is None:
        y, end = module(x_in_their_order)
    else:
        packed = pack_padded_sequence(x_in_their_order, lengths, batch_first=module.batch_first, enforce_sorted=False)
        y, end = module(packed)
        y, _ = pad_packed_sequence(y, batch_first=module.batch_first, total_length=STEPS)
    return y if module.batch_first else y.transpose(0, 1), end if isinstance(end, tuple) else (end,)


@recurrences
def test_recurrent_from_torch(
    cell: str, depth: int, bidirectional: bool, bias: bool, batch_first: bool, ragged: bool
) -> None:
    module = perturbed(MODULES[cell](3, 4, depth, bias=bias, batch_first=batch_first, bidirectional=bidirectional))
    layer = from_torch(module)
    assert_same_kind(layer, recurrent_stack(cell, 3, 4, depth=depth, bidirectional=bidirectional, bias=bias))
    x = torch.randn(ROWS, STEPS, 3, dtype=torch.float64, requires_grad=True)
    lengths = LENGTHS if ragged else None
    y, state = layer(x, lengths)
    expected, end = run_theirs(module, x, lengths)
    assert_close(y, expected)
    assert_close(gradients(y, x), gradients(expected, x))
    for name, final in zip(("hidden", "cell"), end, strict=False):
        assert_close(their_state(state, depth, bidirectional, name), final)


@recurrences
def test_recurrent_to_torch(
    cell: str, depth: int, bidirectional: bool, bias: bool, batch_first: bool, ragged: bool
) -> None:
    layer = perturbed(recurrent_stack(cell, 3, 4, depth=depth, bidirectional=bidirectional, bias=bias))
    module = to_torch(layer)
    assert_same_kind(module, MODULES[cell](3, 4, depth, bias=bias, batch_first=True, bidirectional=bidirectional))
    x = torch.randn(ROWS, STEPS, 3, dtype=torch.float64, requires_grad=True)
    lengths = LENGTHS if ragged else None
    y, state = layer(x, lengths)
    expected, end = run_theirs(module, x, lengths)
    assert_close(y, expected)
    assert_close(gradients(y, x), gradients(expected, x))
    for name, final in zip(("hidden", "cell"), end, strict=False):
        assert_close(their_state(state, depth, bidirectional, name), final)
    assert_same_weights(from_torch(module), layer)


@pytest.mark.parametrize("cell", sorted(MODULES))
def test_recurrent_round_trip(cell: str) -> None:
    """Every weight and the sum of the two biases are equal bit for bit; the candidate of a GRU keeps both biases."""
    module = perturbed(MODULES[cell](3, 4, 2, bidirectional=True, batch_first=True))
    back = to_torch(from_torch(module))
    for name, weight in module.named_parameters():
        if name.startswith("weight"):
            assert torch.equal(getattr(back, name), weight)
        if name.startswith("bias_ih"):
            other = name.replace("ih", "hh")
            actual, expected = (
                module_.get_parameter(name) + module_.get_parameter(other) for module_ in (back, module)
            )
            gates = 8 if cell == "gru-after" else None
            assert torch.equal(actual[:gates], expected[:gates])
    if cell == "gru-after":
        assert torch.equal(back.bias_ih_l0[8:], module.bias_ih_l0[8:])
        assert torch.equal(back.bias_hh_l0[8:], module.bias_hh_l0[8:])


@pytest.mark.parametrize(
    "layer",
    [
        Recurrent(LSTM(3, 4)),
        Bidirectional(Recurrent(GRUAfter(3, 4)), Recurrent(GRUAfter(3, 4))),
        Stack([Recurrent(RNN(3, 4)), Dropout(4, 0.0), Recurrent(RNN(4, 4)), VariationalDropout(4, 0.0)]),
    ],
    ids=["alone", "both directions", "with dropouts of nothing"],
)
def test_user_built_recurrent_layers_are_converted(layer: Layer) -> None:
    x = torch.randn(ROWS, STEPS, 3, dtype=torch.float64)
    assert_close(to_torch(perturbed(layer))(x)[0], layer(x)[0])


@pytest.mark.parametrize("name", ["gru-after", "lstm"])
def test_dropout_between_layers_is_converted(name: str) -> None:
    layer = from_torch(MODULES[name](3, 4, 3, dropout=0.25))
    assert_same_kind(layer, recurrent_stack(name, 3, 4, depth=3, dropout=0.25))
    assert to_torch(layer).dropout == 0.25


def test_an_initial_state_gives_the_same_output() -> None:
    module = perturbed(nn.LSTM(3, 4, 2, batch_first=True))
    x, hidden, memory = (
        torch.randn(*sizes, dtype=torch.float64) for sizes in ((ROWS, 5, 3), (2, ROWS, 4), (2, ROWS, 4))
    )
    state = State({f"{k}.{n}": t[k] for k in range(2) for n, t in (("hidden", hidden), ("cell", memory))})
    assert_close(from_torch(module)(x, state=state)[0], module(x, (hidden, memory))[0])
