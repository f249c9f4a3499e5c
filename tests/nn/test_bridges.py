"""Bridges from the final state of every encoder to the initial state of every decoder."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.nn.attention_decoder import AttentionDecoder, ConcatCombine, TanhCombine
from seqloom.nn.bridges import (
    BRIDGES,
    Bridge,
    LastBridge,
    LastMapBridge,
    LearnedBridge,
    MeanBridge,
    NoBridge,
    choose_bridge,
)
from seqloom.nn.cells import GRU, LSTM, RNN, Cell, GRUAfter, LSTMCoupled
from seqloom.nn.convolution import CausalConvolution, CenteredConvolution
from seqloom.nn.decoder_context import AttentionAfter, AttentionBefore, Context, NoContext, PooledContext
from seqloom.nn.deep_recurrent import recurrent_stack
from seqloom.nn.layer import Identity, Layer
from seqloom.nn.mixer import MixerBlock
from seqloom.nn.multihead import SelfAttention
from seqloom.nn.recurrent import Bidirectional, Recurrent
from seqloom.nn.stack import Stack
from seqloom.nn.state import State
from seqloom.nn.transformer import TransformerConfig, cross_decoder, encoder
from seqloom.nn.window import Window
from tests.nn.references import Array, final

SIZE = 4  # of x, and of a direction's or a layer's output


def gru(width: int = SIZE) -> Recurrent:
    return Recurrent(GRU(width, SIZE))


def lstm(width: int = SIZE) -> Recurrent:
    return Recurrent(LSTM(width, SIZE))


def ragged(layer: Layer) -> tuple[Tensor, Tensor, State]:
    """A memory, its lengths, and the final state of the layer that computed it."""
    x, lengths = torch.randn(3, 5, layer.input_size), torch.tensor([3, 5, 0])
    memory, final = layer(x, lengths)
    return memory, lengths, final


# Each bridge ------------------------------------------------------------------------------------------------------


DEEP = list(product(("gru", "lstm"), (1, 2), (1, 2), ("plain", "residual", "dense")))
every_deep_encoder = pytest.mark.parametrize(("cell", "directions", "depth", "connection"), DEEP)
LENGTHS = torch.tensor([3, 5, 1, 0])


def deep_encoder(cell: str, directions: int, depth: int, connection: str) -> Stack:
    """Of input size 6, which is also the width of a bidirectional layer."""
    layer = recurrent_stack(
        cell, 6, 3, depth=depth, bidirectional=directions == 2, connection=connection, dropout=0.1, input_dropout=0.1
    )
    return layer.double().eval()


def references(encoder: Stack, directions: int, connection: str, x: Tensor) -> list[tuple[list, Array, Array]]:
    """The states of all layers, the outputs and the last output, for each row."""
    cells = [module for module in encoder.modules() if isinstance(module, Cell)]
    rows = zip(x.numpy(), LENGTHS.tolist(), strict=True)
    return [final.deep(cells, directions, connection, row[:length]) for row, length in rows]


def check_rows(bridge: Bridge, encoder: Layer, body: Layer, x: Tensor, expected: list[list[Array]]) -> None:
    """The state equals the reference, tensor by tensor, row by row, and that of each row alone."""
    memory, end = encoder(x, LENGTHS)
    begun = bridge(body, memory, LENGTHS, end)
    assert set(begun) == set(body.state_shapes())
    assert (begun.position.tolist(), begun.max_position) == ([0] * len(x), 0)
    for row, length in enumerate(LENGTHS.tolist()):
        short = x[row : row + 1, : max(length, 1)]
        memory, end = encoder(short, LENGTHS[row : row + 1])
        alone = bridge(body, memory, LENGTHS[row : row + 1], end)
        for name, values in zip(body.state_shapes(), expected[row], strict=True):
            torch.testing.assert_close(begun[name][row], torch.from_numpy(values))
            torch.testing.assert_close(alone[name][0], begun[name][row], rtol=0, atol=1e-14)


def source() -> Tensor:
    return torch.randn(len(LENGTHS), 5, 6, dtype=torch.float64)


@every_deep_encoder
def test_last_copies_the_final_state(cell: str, directions: int, depth: int, connection: str) -> None:
    encoder, x = deep_encoder(cell, directions, depth, connection), source()
    body = recurrent_stack(cell, 2, 3 * directions, depth=depth, connection=connection).double()
    expected = [
        [state[name] for state in states for name in state]
        for states, _, _ in references(encoder, directions, connection, x)
    ]
    check_rows(LastBridge(encoder, body), encoder, body, x, expected)


def test_with_a_copied_state_the_decoder_continues_the_encoder() -> None:
    """With equal weights and no context, source and target form one sequence."""
    layer = Stack([lstm(), lstm()]).double()
    decoder = AttentionDecoder(layer, NoContext(), ConcatCombine(0, SIZE), LastBridge(layer, layer))
    x = torch.randn(2, 9, SIZE, dtype=torch.float64)
    memory, end = layer(x[:, :5])
    y, _ = decoder(x[:, 5:], state=decoder.start(memory, final=end))
    torch.testing.assert_close(y, layer(x)[0][:, 5:])


@pytest.mark.parametrize("to_cell", ["gru", "lstm"])
@pytest.mark.parametrize("to_depth", [1, 2])
@every_deep_encoder
def test_last_map_maps_the_final_state_of_each_layer_or_of_the_top(
    cell: str, directions: int, depth: int, connection: str, to_cell: str, to_depth: int
) -> None:
    encoder, x = deep_encoder(cell, directions, depth, connection), source()
    body = recurrent_stack(to_cell, 2, 4, depth=to_depth, connection=connection).double()
    bridge = LastMapBridge(encoder, body).double()
    expected = []
    for states, _, _ in references(encoder, directions, connection, x):
        states = states if depth == to_depth else [states[-1]] * to_depth
        names = ("hidden", "cell") if to_cell == "lstm" else ("hidden",)
        vectors = [state.get(name, state["hidden"]) for state in states for name in names]
        expected.append([mapped(linear, e) for linear, e in zip(bridge.maps.values(), vectors, strict=True)])
    check_rows(bridge, encoder, body, x, expected)


def mapped(linear: nn.Module, e: Array) -> Array:
    """tanh(W e + b)"""
    return np.tanh(linear.weight.detach().numpy() @ e + linear.bias.detach().numpy())


def mean(y: Array) -> Array:
    return y.sum(axis=0) / max(len(y), 1)


@every_deep_encoder
def test_mean_and_mean_map(cell: str, directions: int, depth: int, connection: str) -> None:
    encoder, x = deep_encoder(cell, directions, depth, connection), source()
    means = [mean(y) for _, y, _ in references(encoder, directions, connection, x)]
    body = recurrent_stack(cell, 2, encoder.output_size, depth=2).double()
    zeros = [np.zeros(encoder.output_size)] if cell == "lstm" else []  # c_0
    check_rows(MeanBridge(encoder, body), encoder, body, x, [[c, *zeros, c, *zeros] for c in means])
    bridge = BRIDGES["mean-map"](encoder, body).double()
    check_rows(bridge, encoder, body, x, [[mapped(linear, c) for linear in bridge.maps.values()] for c in means])


@pytest.mark.parametrize(
    ("encoder", "body", "role"),
    [
        (CenteredConvolution(6, 4, kernel_size=3), gru(), "the encoder"),
        (Identity(6), gru(), "the encoder"),
        (gru(), Window(SIZE, width=2), "the decoder's body"),
    ],
)
def test_last_map_needs_vectors(encoder: Layer, body: Layer, role: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        LastMapBridge(encoder, body)
    message = f"LastMapBridge: the state of {role} has no vectors; expected at least one vector per row, such as an h"
    assert str(caught.value) == f"{message}; or use LearnedBridge (mean-map)."


def test_directions_may_have_different_cells() -> None:
    encoder, body = Bidirectional(gru(), lstm()), Recurrent(LSTM(2, 3))
    memory, lengths, end = ragged(encoder)
    bridge = LastMapBridge(encoder, body)
    assert [linear.in_features for linear in bridge.maps.values()] == [2 * SIZE, SIZE]
    begun = bridge(body, memory, lengths, end)
    torch.testing.assert_close(begun["cell"], bridge.maps["cell"](end["backwards.reversed.cell"]).tanh())


@pytest.mark.parametrize(
    ("pool", "pooled"), [("mean", [2.0, 3.0, 0.0]), ("max", [3.0, 5.0, 0.0]), ("last", [3.0, 5.0, 0.0])]
)
def test_a_learned_bridge_equals_its_formula(pool: str, pooled: list[float]) -> None:
    body = Stack([lstm(), gru()])
    learned = LearnedBridge(1, body, pool=pool)
    memory = torch.tensor([[[1.0], [2.0], [3.0], [9.0], [9.0]], [[1.0], [2.0], [3.0], [4.0], [5.0]], [[9.0]] * 5])
    begun = learned(body, memory, torch.tensor([3, 5, 0]), None)
    assert set(begun) == set(body.state_shapes())
    for name, linear in zip(("0.hidden", "0.cell", "1.hidden"), learned.maps.values(), strict=True):
        expected = torch.tanh(torch.tensor(pooled).unsqueeze(1) * linear.weight.T + linear.bias)
        torch.testing.assert_close(begun[name], expected)
    assert begun.position.tolist() == [0, 0, 0]


def test_a_learned_bridge_maps_vectors_only() -> None:
    body = Stack([Window(SIZE, width=3), gru(3 * SIZE), SelfAttention(SIZE, heads=2, causal=True)])
    begun = LearnedBridge(6, body)(body, torch.randn(3, 5, 6), torch.tensor([3, 5, 0]), None)
    assert begun["0.recent"].eq(0).all()
    assert begun["1.hidden"].ne(0).all()
    assert begun["2.keys"].shape == (3, 2, 0, 2)


def test_without_a_bridge_the_state_is_independent_of_the_source() -> None:
    begun = NoBridge()(lstm(), torch.randn(3, 5, 6), torch.tensor([3, 5, 0]), None)
    assert begun["hidden"].eq(0).all()
    assert begun["cell"].eq(0).all()


# Which one is chosen ----------------------------------------------------------------------------------------------

same = {
    "one layer": lambda: (gru(), gru(7)),
    "deep": lambda: (Stack([lstm(), gru()]), Stack([lstm(7), gru()])),
    "with dropout in one": lambda: (
        recurrent_stack("lstm", 3, 4, depth=2, dropout=0.1),
        recurrent_stack("lstm", 7, 4, depth=2),
    ),
}
different = {
    "cells": lambda: (gru(), lstm()),
    "cells with states alike": lambda: (gru(), Recurrent(RNN(SIZE, SIZE))),
    "variants of a cell": lambda: (lstm(), Recurrent(LSTMCoupled(SIZE, SIZE))),
    "cells above": lambda: (Stack([gru(), gru()]), Stack([gru(), Recurrent(GRUAfter(SIZE, SIZE))])),
    "depth": lambda: (recurrent_stack("gru", 4, 4, depth=2), recurrent_stack("gru", 4, 4, depth=3)),
    "width": lambda: (gru(), Recurrent(GRU(SIZE, 5))),
    "directions": lambda: (Bidirectional(gru(), gru()), gru()),
    "no state to carry": lambda: (encoder(TransformerConfig(depth=1, size=4, heads=2, hidden_size=4)), gru()),
    "no cells": lambda: (CausalConvolution(4, 4, kernel_size=2), CausalConvolution(4, 4, kernel_size=2)),
    "a cache beside": lambda: (
        Stack([gru(), SelfAttention(SIZE, heads=2, causal=True)]),
        Stack([gru(), SelfAttention(SIZE, heads=2, causal=True)]),
    ),
}


@pytest.mark.parametrize("pair", same.values(), ids=same)
def test_the_state_is_copied_if_cells_sizes_and_depth_agree(pair) -> None:
    assert isinstance(choose_bridge(*pair()), LastBridge)


@pytest.mark.parametrize("pair", different.values(), ids=different)
def test_otherwise_the_bridge_is_learned(pair) -> None:
    encoder, body = pair()
    learned = choose_bridge(encoder, body)
    assert isinstance(learned, LearnedBridge)
    memory, lengths, final = ragged(encoder)
    begun = learned(body, memory, lengths, final)
    body(torch.randn(3, 2, body.input_size), state=begun)  # which checks it


# Any encoder with any decoder -------------------------------------------------------------------------------------

parts = TransformerConfig(depth=2, size=SIZE, heads=2, hidden_size=6, dropout=0.0)

encoders: dict[str, Callable[[], Layer]] = {
    "bidirectional lstm": lambda: Bidirectional(lstm(), lstm()),
    "gru": gru,
    "deep lstm": lambda: Stack([lstm(), lstm()]),
    "transformer": lambda: encoder(parts),
    "mixer": lambda: MixerBlock(SIZE, length=5, token_hidden_size=3, hidden_size=6),
    "convolution": lambda: CenteredConvolution(SIZE, 6, kernel_size=3),
    "nothing": lambda: Identity(SIZE),
}


def attentive(context: Callable[[int], Context], *cells: type[Cell]) -> Callable[[Layer], AttentionDecoder]:
    """A decoder with stacked cells as its body."""

    def make(encoder: Layer) -> AttentionDecoder:
        c = context(encoder.output_size)
        widths = [SIZE + c.size * c.feeds_body, *[SIZE] * (len(cells) - 1)]
        body = Stack([Recurrent(cell(width, SIZE)) for cell, width in zip(cells, widths, strict=True)])
        return AttentionDecoder(body, c, TanhCombine(c.size, SIZE), choose_bridge(encoder, body))

    return make


decoders: dict[str, Callable[[Layer], Layer]] = {
    "gru, no context": attentive(lambda memory_size: NoContext(), GRU),
    "lstm, pooled": attentive(lambda memory_size: PooledContext(memory_size, "max"), LSTM),
    "deep lstm, no context": attentive(lambda memory_size: NoContext(), LSTM, LSTM),
    "gru, attention before": attentive(lambda memory_size: AttentionBefore(SIZE, memory_size, "additive"), GRU),
    "deep, attention after": attentive(lambda memory_size: AttentionAfter(SIZE, memory_size, "bilinear"), LSTM, GRU),
    "transformer": lambda encoder: cross_decoder(parts, memory_size=encoder.output_size),
}


@pytest.mark.parametrize("decode", decoders.values(), ids=decoders)
@pytest.mark.parametrize("encode", encoders.values(), ids=encoders)
def test_every_encoder_works_with_every_decoder(encode, decode) -> None:
    encoder = encode().double()
    decoder = decode(encoder).double()
    x, lengths = torch.randn(3, 5, SIZE, dtype=torch.float64).requires_grad_(), torch.tensor([3, 5, 0])
    target = torch.randn(3, 4, SIZE, dtype=torch.float64)
    memory, final = encoder(x, lengths)
    y, _ = decoder(target, state=decoder.start(memory, lengths, final))

    (to_x,) = torch.autograd.grad(y.square().sum(), x, retain_graph=True)
    assert to_x[torch.arange(5) < lengths.unsqueeze(1)].abs().sum() > 0  # the output depends on the source
    assert to_x[torch.arange(5) >= lengths.unsqueeze(1)].eq(0).all()
    alone, ended = encoder(x[:1, :3])  # a row alone, one word at a time
    state = decoder.start(alone, final=ended)
    for t in range(4):
        step, state = decoder(target[:1, t : t + 1], state=state)
        torch.testing.assert_close(step[:, 0], y[:1, t])


# Bad input --------------------------------------------------------------------------------------------------------


def test_states_of_other_shapes_can_not_be_copied() -> None:
    for layer, body, actual, expected in (
        (gru(), lstm(), "[[[4]]]", "[[[4], [4]]]"),
        (gru(), Recurrent(GRU(4, 5)), "[[[4]]]", "[[[5]]]"),
        (gru(), Stack([gru(), gru()]), "[[[4]]]", "[[[4]], [[4]]]"),
        (Bidirectional(gru(), gru()), gru(), "[[[8]]]", "[[[4]]]"),
        (Identity(SIZE), gru(), "[]", "[[[4]]]"),
    ):
        with pytest.raises(ArgumentError) as caught:
            LastBridge(layer, body)
        message = f"LastBridge: the encoder's final state has the shapes {actual}; expected the shapes {expected}"
        assert str(caught.value) == f"{message}, as the decoder's body has; or use LastMapBridge (last-map)."


def test_a_mean_of_another_width_can_not_be_copied() -> None:
    for layer, body, widths in (
        (Bidirectional(gru(), gru()), Stack([gru(), gru()]), "[4, 4]"),
        (gru(), Window(SIZE, width=2), "[]"),
    ):
        with pytest.raises(ArgumentError) as caught:
            MeanBridge(layer, body)
        message = f"MeanBridge: the decoder's body has states of the widths {widths}; expected {layer.output_size}"
        assert str(caught.value) == f"{message}, the width of the encoder's outputs; or use LearnedBridge (mean-map)."


@pytest.mark.parametrize("kind", [LastBridge, LastMapBridge])
def test_a_final_state_of_another_encoder_is_an_error(kind: type[Bridge]) -> None:
    memory, lengths, final = ragged(lstm())
    bridge = kind(lstm(), lstm())
    for state, actual in (
        (None, "nothing"),
        (ragged(gru())[2], "State(hidden [3, 4]; max_position 5)"),
        (final.select(torch.tensor([0])), "State(hidden [1, 4], cell [1, 4]; max_position 3)"),
    ):
        with pytest.raises(ArgumentError) as caught:
            bridge(lstm(), memory, lengths, state)
        message = f"{kind.__name__}: the encoder's final state has {actual}; expected hidden, cell with 3 rows."
        assert str(caught.value) == message


def test_the_state_is_copied_by_order_whatever_the_names_of_layers() -> None:
    encoder, body = Recurrent(GRU(3, 4)), recurrent_stack("gru", 5, 4)
    assert isinstance(choose_bridge(encoder, body), LastBridge)
    memory, final = encoder(torch.randn(2, 6, 3))
    begun = LastBridge(encoder, body)(body, memory, torch.tensor([6, 6]), final)
    assert torch.equal(begun["0.hidden"], final["hidden"])
