"""The Transformer: attention, then each position by itself, with a way around both; N times (Vaswani et al. 2017).

Everything here is composition of parts that stand in their own files. The encoder of 2017, GPT-2, BERT and Llama are
the same blocks with other parts.
"""

from collections.abc import Callable
from dataclasses import dataclass

from seqloom.core.problem import ArgumentError
from seqloom.nn.feed_forward import FeedForward, GatedFeedForward
from seqloom.nn.layer import Layer
from seqloom.nn.multihead import CrossAttention, SelfAttention
from seqloom.nn.normalization import NORMS
from seqloom.nn.positions import Rotary
from seqloom.nn.residual import NORM_ORDERS, NormedResidual
from seqloom.nn.stack import Stack
from seqloom.nn.validation import check_count

Around = Callable[[Layer], NormedResidual]


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes and parts of a Transformer; as it stands, `base` of 2017.

    order: "post" puts the norm after each way around, "pre" before each sublayer and once at the end
    rotary: turns queries and keys by their position (then the stem needs no positions); None does not
    """

    depth: int = 6
    size: int = 512
    heads: int = 8
    hidden_size: int = 2048
    order: str = "post"
    norm: str = "layer"
    activation: str = "relu"
    gated: bool = False
    key_heads: int | None = None
    score: str = "scaled-dot"
    window: int | None = None
    rotary: float | None = None
    bias: bool = True
    dropout: float = 0.1

    def __post_init__(self) -> None:
        check_count("TransformerConfig", "depth", self.depth)
        check_count("TransformerConfig", "heads", self.heads)
        if self.size % self.heads:
            expected = f"a divisor of the size, {self.size}"
            raise ArgumentError("TransformerConfig", "heads", str(self.heads), expected, verb="is")


BASE = TransformerConfig()

# Llama's choices (https://arxiv.org/abs/2302.13971), at the size of `base`.
MODERN = TransformerConfig(
    order="pre", norm="rms", activation="swish", gated=True, rotary=10_000.0, bias=False, hidden_size=1408, key_heads=2
)


def encoder(parts: TransformerConfig = BASE) -> Stack:
    """N blocks in which every step sees every other.

    >>> import torch
    >>> y, _ = encoder(TransformerConfig(depth=2, size=8, heads=2, hidden_size=16))(torch.randn(1, 5, 8))
    >>> y.shape
    torch.Size([1, 5, 8])
    """
    return blocks(parts, lambda: block(parts, self_attention(parts, causal=False)))


def decoder(parts: TransformerConfig = BASE) -> Stack:
    """N blocks in which a step sees itself and those before, whose keys and values it carries: a language model."""
    return blocks(parts, lambda: block(parts, self_attention(parts, causal=True)))


def cross_decoder(parts: TransformerConfig = BASE, memory_size: int | None = None) -> Stack:
    """N blocks that also look at a memory, the encoder's output; begin with `start(memory, lengths)`."""

    def one() -> Stack:
        return block(parts, self_attention(parts, causal=True), cross_attention(parts, memory_size or parts.size))

    return blocks(parts, one)


def block(parts: TransformerConfig, attention: Layer, cross: Layer | None = None) -> Stack:
    """Attention, attention to a memory if there is one, feed-forward; a way around each."""
    around = residual(parts)
    sublayers = {"attention": attention} if cross is None else {"attention": attention, "cross": cross}
    return Stack({name: around(layer) for name, layer in {**sublayers, "feed_forward": feed_forward(parts)}.items()})


def blocks(parts: TransformerConfig, one: Callable[[], Layer]) -> Stack:
    """N of one block; with pre-norm, a last norm, since nothing has normalised the sum."""
    layers: dict[str, Layer] = {str(i): one() for i in range(parts.depth)}
    if parts.order == "pre":
        layers["norm"] = NORMS[parts.norm](parts.size)
    return Stack(layers)


def residual(parts: TransformerConfig) -> Around:
    """The way around a sublayer."""
    return lambda layer: NORM_ORDERS[parts.order](layer, norm=parts.norm, dropout=parts.dropout)


def self_attention(parts: TransformerConfig, *, causal: bool) -> SelfAttention:
    """The first sublayer of a block."""
    return SelfAttention(
        parts.size,
        parts.heads,
        causal=causal,
        window=parts.window,
        rotary=None if parts.rotary is None else Rotary(parts.size // parts.heads, base=parts.rotary),
        key_heads=parts.key_heads,
        score=parts.score,
        dropout=parts.dropout,
        bias=parts.bias,
    )


def cross_attention(parts: TransformerConfig, memory_size: int) -> CrossAttention:
    """The sublayer that looks at the memory."""
    return CrossAttention(
        parts.size,
        memory_size,
        parts.heads,
        key_heads=parts.key_heads,
        score=parts.score,
        dropout=parts.dropout,
        bias=parts.bias,
    )


def feed_forward(parts: TransformerConfig) -> FeedForward:
    """The last sublayer of a block."""
    kind = GatedFeedForward if parts.gated else FeedForward
    return kind(parts.size, parts.hidden_size, activation=parts.activation, dropout=parts.dropout, bias=parts.bias)
