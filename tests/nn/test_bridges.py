"""Bridges from the final state of every encoder to the initial state of every decoder."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from seqloom.core.problem import ArgumentError
from seqloom.nn.attention_decoder import AttentionDecoder, ConcatCombine, TanhCombine
from seqloom.nn.bridges import CopyBridge, LearnedBridge, NoBridge, choose_bridge
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


@pytest.mark.parametrize("layer", [gru(), lstm(), Stack([lstm(), gru()])], ids=["gru", "lstm", "deep"])
def test_a_copy_bridge_returns_the_state_of_the_encoder(layer: Layer) -> None:
    memory, lengths, final = ragged(layer)
    begun = CopyBridge()(layer, memory, lengths, final)
    assert set(begun) == set(final)
    assert all(begun[name] is final[name] for name in final)
    assert begun.position.tolist() == [0, 0, 0]
    assert begun.max_position == 0


def test_with_a_copied_state_the_decoder_continues_the_encoder() -> None:
    """With equal weights and no context, source and target form one sequence."""
    layer = Stack([lstm(), lstm()]).double()
    decoder = AttentionDecoder(layer, NoContext(), ConcatCombine(0, SIZE), CopyBridge())
    x = torch.randn(2, 9, SIZE, dtype=torch.float64)
    memory, final = layer(x[:, :5])
    y, _ = decoder(x[:, 5:], state=decoder.start(memory, final=final))
    torch.testing.assert_close(y, layer(x)[0][:, 5:])


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
    assert isinstance(choose_bridge(*pair()), CopyBridge)


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


def test_a_state_that_can_not_be_copied_is_an_error() -> None:
    memory, lengths, final = ragged(gru())
    for body, state, actual, expected in (
        (gru(), None, "nothing", "[[3, 4]]"),
        (lstm(), final, "the shapes [[3, 4]]", "[[3, 4], [3, 4]]"),
        (Recurrent(GRU(4, 5)), final, "the shapes [[3, 4]]", "[[3, 5]]"),
        (gru(), final.select(torch.tensor([0])), "the shapes [[1, 4]]", "[[3, 4]]"),
    ):
        with pytest.raises(ArgumentError) as caught:
            CopyBridge()(body, memory, lengths, state)
        message = f"CopyBridge: the encoder's final state has {actual}; expected the shapes {expected}"
        assert str(caught.value) == f"{message}, as the decoder's body has; or use LearnedBridge."


def test_the_state_is_copied_by_order_whatever_the_names_of_layers() -> None:
    encoder, body = Recurrent(GRU(3, 4)), recurrent_stack("gru", 5, 4)
    assert isinstance(choose_bridge(encoder, body), CopyBridge)
    memory, final = encoder(torch.randn(2, 6, 3))
    begun = CopyBridge()(body, memory, torch.tensor([6, 6]), final)
    assert torch.equal(begun["0.hidden"], final["hidden"])
