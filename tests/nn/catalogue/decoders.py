"""Attention decoders: every context, combine, way of feeding and bridge, over several cells and scores."""

import torch
from torch import Tensor

from seqloom.nn.attention_decoder import AttentionDecoder, ConcatCombine, TanhCombine
from seqloom.nn.bridges import Bridge, CopyBridge, LearnedBridge, NoBridge
from seqloom.nn.cells import GRU, LSTM, RNN, Cell, GRUAfter, LSTMPeephole
from seqloom.nn.convolution import CausalConvolution
from seqloom.nn.decoder_context import AttentionAfter, AttentionBefore, Context, NoContext, PooledContext
from seqloom.nn.dropout import Dropout
from seqloom.nn.layer import Layer
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


def one(cell: type[Cell]):
    return lambda width: Recurrent(cell(width, HIDDEN))


def pooled(pool: str) -> Context:
    return PooledContext(MEMORY, pool)


def before(score: str | Score) -> Context:
    return AttentionBefore(HIDDEN, MEMORY, score)


def after(score: str | Score) -> Context:
    return AttentionAfter(HIDDEN, MEMORY, score)


def learned(body: Layer) -> Bridge:
    return LearnedBridge(MEMORY, body)


def carry(body: Layer) -> Bridge:
    return CopyBridge()


def fresh(body: Layer) -> Bridge:
    return NoBridge()


def decoder(
    body, context: Context, combine: type, bridge, feed: str = "every", feeding: bool = False
) -> AttentionDecoder:
    met = combine(context.size, HIDDEN)
    width = X + context.size * context.feeds_body + met.output_size * feeding
    layers = body(width)
    return AttentionDecoder(layers, context, met, bridge(layers), context_input=feed, input_feeding=feeding)


decoders = {
    "sutskever": lambda: decoder(deep(LSTM, LSTM), NoContext(), ConcatCombine, carry),
    "no context, tanh, input feeding": lambda: decoder(one(GRU), NoContext(), TanhCombine, learned, feeding=True),
    "cho": lambda: decoder(one(GRU), pooled("last"), ConcatCombine, learned),
    "cho, first step": lambda: decoder(one(RNN), pooled("last"), TanhCombine, learned, feed="first"),
    "mean, input feeding": lambda: decoder(one(LSTM), pooled("mean"), TanhCombine, carry, feeding=True),
    "mean, first step": lambda: decoder(deep(GRU, RNN), pooled("mean"), ConcatCombine, fresh, feed="first"),
    "max": lambda: decoder(one(GRUAfter), pooled("max"), TanhCombine, fresh),
    "max, first step, input feeding": lambda: decoder(
        one(GRU), pooled("max"), ConcatCombine, learned, feed="first", feeding=True
    ),
    "bahdanau": lambda: decoder(one(GRU), before("additive"), ConcatCombine, learned),
    "bahdanau, deep": lambda: decoder(deep(GRU, LSTM), before("dot"), TanhCombine, carry),
    "bahdanau, first step": lambda: decoder(
        one(LSTMPeephole), before("low-rank"), ConcatCombine, learned, feed="first"
    ),
    "bahdanau, input feeding": lambda: decoder(
        one(LSTM), before(Gaussian(3, 3, width=1.5)), TanhCombine, learned, feeding=True
    ),
    "bahdanau, first step, input feeding": lambda: decoder(
        one(RNN), before("scaled-dot"), ConcatCombine, carry, feed="first", feeding=True
    ),
    "luong": lambda: decoder(deep(LSTM, LSTM), after("bilinear"), TanhCombine, carry, feeding=True),
    "luong, concatenated": lambda: decoder(one(GRU), after("additive"), ConcatCombine, learned),
    "luong, no input feeding": lambda: decoder(one(GRUAfter), after("dot"), TanhCombine, fresh),
    "luong, concatenated, input feeding": lambda: decoder(
        one(RNN), after(Cosine(3, 3, temperature=0.5)), ConcatCombine, learned, feeding=True
    ),
}


def convolution(width: int) -> Layer:
    return CausalConvolution(width, HIDDEN, kernel_size=2)


def attention(width: int) -> Layer:
    return SelfAttention(width, heads=1, causal=True, output_size=HIDDEN)


others = {
    "a convolution attends after": lambda: decoder(convolution, after("additive"), TanhCombine, learned, feeding=True),
    "a convolution attends before": lambda: decoder(convolution, before("dot"), ConcatCombine, carry),
    "self-attention attends after": lambda: decoder(attention, after("dot"), TanhCombine, fresh),
}

cases = [Case(name, make, of(row), begin) for name, make in decoders.items()]
cases += [Case(name, make, initial_state=begin) for name, make in others.items()]
cases += [
    Case(
        "bahdanau, dropout",
        lambda: decoder(deep(GRU, LSTM, dropout=0.3), before("bilinear"), TanhCombine, learned),
        of(row),
        begin,
        noisy=True,
    )
]
