"""Attention decoders: every context, combine, context input and bridge, over several cells and scores."""

import torch
from torch import Tensor

from seqloom.nn.attention_decoder import AttentionDecoder, ConcatCombine, TanhCombine
from seqloom.nn.bridges import Bridge, LastBridge, LastMapBridge, LearnedBridge, MeanBridge, NoBridge
from seqloom.nn.cells import GRU, LSTM, RNN, Cell, GRUAfter, LSTMPeephole
from seqloom.nn.convolution import CausalConvolution
from seqloom.nn.decoder_context import AttentionAfter, AttentionBefore, Context, NoContext, PooledContext
from seqloom.nn.dropout import Dropout
from seqloom.nn.layer import Identity, Layer
from seqloom.nn.multihead import SelfAttention
from seqloom.nn.recurrent import Recurrent
from seqloom.nn.scores import Cosine, Gaussian, Score
from seqloom.nn.stack import Stack
from seqloom.nn.state import State
from tests.nn.catalogue.case import Case
from tests.nn.references.decoders import of

X, MEMORY, HIDDEN = 2, 3, 3  # one size for the last two, so that every score fits


def source(layer: AttentionDecoder, rows: int) -> tuple[Tensor, Tensor, State | None]:
    """A memory, its lengths (one of them 0), and a state for the body: the same values in every precision."""
    generator = torch.Generator().manual_seed(8)

    def random(*shape: int) -> Tensor:
        values = torch.randn(16, *shape, generator=generator)[:rows]
        return values.bfloat16().to(next(layer.parameters()))

    memory = random(4, MEMORY)
    lengths = torch.tensor([2, 4, 1, 0] * 4, device=memory.device)[:rows]
    final = {name: random(*shape) for name, shape in layer.body.state_shapes().items() if None not in shape}
    return memory, lengths, State(final)


def begin(layer: Layer, rows: int) -> State:
    return layer.start(*source(layer, rows))


def row(layer: AttentionDecoder, index: int):
    """The source of one row, for the reference."""
    memory, lengths, final = source(layer, 16)
    return memory[index, : lengths[index]].numpy(), {name: values[index].numpy() for name, values in final.items()}


def deep(*cells: type[Cell], dropout: float = 0.0):
    def body(width: int) -> Stack:
        layers = {}
        for k, cell in enumerate(cells):
            layers[str(k)] = Recurrent(cell(width if k == 0 else HIDDEN, HIDDEN))
        return Stack({**layers, "dropout": Dropout(HIDDEN, dropout)} if dropout else layers)

    return body


def single_layer(cell: type[Cell]):
    return lambda width: Recurrent(cell(width, HIDDEN))


def pooled(pool: str) -> Context:
    return PooledContext(MEMORY, pool)


def before(score: str | Score) -> Context:
    return AttentionBefore(HIDDEN, MEMORY, score)


def after(score: str | Score) -> Context:
    return AttentionAfter(HIDDEN, MEMORY, score)


def learned_bridge(body: Layer) -> Bridge:
    return LearnedBridge(MEMORY, body)


def copy_bridge(body: Layer) -> Bridge:
    return LastBridge(body, body)


def last_map(body: Layer) -> Bridge:
    return LastMapBridge(body, body)


def mean(body: Layer) -> Bridge:
    return MeanBridge(Identity(MEMORY), body)


def no_bridge(body: Layer) -> Bridge:
    return NoBridge()


def decoder(
    body, context: Context, combine: type, bridge, feed: str = "every", feeding: bool = False
) -> AttentionDecoder:
    combined = combine(context.size, HIDDEN)
    width = X + context.size * context.feeds_body + combined.output_size * feeding
    layers = body(width)
    return AttentionDecoder(layers, context, combined, bridge(layers), context_input=feed, input_feeding=feeding)


decoders = {
    "sutskever": lambda: decoder(deep(LSTM, LSTM), NoContext(), ConcatCombine, copy_bridge),
    "last state, mapped": lambda: decoder(deep(GRU, LSTM), NoContext(), ConcatCombine, last_map),
    "mean of the source as h": lambda: decoder(deep(LSTM, GRU), NoContext(), ConcatCombine, mean, feeding=True),
    "last state, mapped, and attention": lambda: decoder(single_layer(LSTM), before("dot"), ConcatCombine, last_map),
    "no context, tanh, input feeding": lambda: decoder(
        single_layer(GRU), NoContext(), TanhCombine, learned_bridge, feeding=True
    ),
    "cho": lambda: decoder(single_layer(GRU), pooled("last"), ConcatCombine, learned_bridge),
    "cho, first step": lambda: decoder(single_layer(RNN), pooled("last"), TanhCombine, learned_bridge, feed="first"),
    "mean, input feeding": lambda: decoder(single_layer(LSTM), pooled("mean"), TanhCombine, copy_bridge, feeding=True),
    "mean, first step": lambda: decoder(deep(GRU, RNN), pooled("mean"), ConcatCombine, no_bridge, feed="first"),
    "max": lambda: decoder(single_layer(GRUAfter), pooled("max"), TanhCombine, no_bridge),
    "max, first step, input feeding": lambda: decoder(
        single_layer(GRU), pooled("max"), ConcatCombine, learned_bridge, feed="first", feeding=True
    ),
    "bahdanau": lambda: decoder(single_layer(GRU), before("additive"), ConcatCombine, learned_bridge),
    "bahdanau, deep": lambda: decoder(deep(GRU, LSTM), before("dot"), TanhCombine, copy_bridge),
    "bahdanau, first step": lambda: decoder(
        single_layer(LSTMPeephole), before("low-rank"), ConcatCombine, learned_bridge, feed="first"
    ),
    "bahdanau, input feeding": lambda: decoder(
        single_layer(LSTM), before(Gaussian(3, 3, width=1.5)), TanhCombine, learned_bridge, feeding=True
    ),
    "bahdanau, first step, input feeding": lambda: decoder(
        single_layer(RNN), before("scaled-dot"), ConcatCombine, copy_bridge, feed="first", feeding=True
    ),
    "luong": lambda: decoder(deep(LSTM, LSTM), after("bilinear"), TanhCombine, copy_bridge, feeding=True),
    "luong, concatenated": lambda: decoder(single_layer(GRU), after("additive"), ConcatCombine, learned_bridge),
    "luong, no input feeding": lambda: decoder(single_layer(GRUAfter), after("dot"), TanhCombine, no_bridge),
    "luong, concatenated, input feeding": lambda: decoder(
        single_layer(RNN), after(Cosine(3, 3, temperature=0.5)), ConcatCombine, learned_bridge, feeding=True
    ),
}


def convolution(width: int) -> Layer:
    return CausalConvolution(width, HIDDEN, kernel_size=2)


def attention(width: int) -> Layer:
    return SelfAttention(width, heads=1, causal=True, output_size=HIDDEN)


others = {
    "a convolution attends after": lambda: decoder(
        convolution, after("additive"), TanhCombine, learned_bridge, feeding=True
    ),
    "a convolution attends before": lambda: decoder(convolution, before("dot"), ConcatCombine, copy_bridge),
    "self-attention attends after": lambda: decoder(attention, after("dot"), TanhCombine, no_bridge),
}

cases = [Case(name, make, of(row), begin) for name, make in decoders.items()]
cases += [Case(name, make, initial_state=begin) for name, make in others.items()]
cases += [
    Case(
        "bahdanau, dropout",
        lambda: decoder(deep(GRU, LSTM, dropout=0.3), before("bilinear"), TanhCombine, learned_bridge),
        of(row),
        begin,
        noisy=True,
    )
]
