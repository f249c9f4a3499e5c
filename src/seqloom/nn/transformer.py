"""The Transformer: N blocks of attention and feed-forward, each with a residual connection (Vaswani et al. 2017).

    block(x) = r(feed_forward, r(attention, x))
    r(f, x)  = norm(x + f(x))      post-norm         x + f(norm(x))      pre-norm

The original Transformer, GPT-2, BERT and Llama differ in the parts of these blocks.
"""

from dataclasses import dataclass

from seqloom.core.problem import ArgumentError
from seqloom.nn.feed_forward import FeedForward, GatedFeedForward
from seqloom.nn.layer import Layer
from seqloom.nn.multihead import CrossAttention, Options, SelfAttention
from seqloom.nn.normalization import NORMS
from seqloom.nn.positions import Rotary
from seqloom.nn.residual import NORM_ORDERS
from seqloom.nn.stack import Stack
from seqloom.nn.validation import check_count


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes and parts of a Transformer; the defaults are those of `base` in the paper.

    norm_order: "post" normalizes after each residual connection, "pre" before each sublayer and once at the end
    rotary: the base of rotary positions, which make positions in the stem unnecessary; None: no rotary positions
    """

    depth: int = 6
    size: int = 512
    heads: int = 8
    hidden_size: int = 2048
    norm_order: str = "post"
    norm: str = "layer"
    activation: str = "relu"
    gated: bool = False
    kv_heads: int | None = None
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
LLAMA = TransformerConfig(
    norm_order="pre", norm="rms", activation="swish", gated=True, rotary=10_000.0, bias=False, hidden_size=1408,
    kv_heads=2,
)  # fmt: skip


def encoder(config: TransformerConfig = BASE) -> Stack:
    """N blocks in which every step sees every other.

    >>> import torch
    >>> y, _ = encoder(TransformerConfig(depth=2, size=8, heads=2, hidden_size=16))(torch.randn(1, 5, 8))
    >>> y.shape
    torch.Size([1, 5, 8])
    """
    return _blocks(config, causal=False)


def decoder(config: TransformerConfig = BASE) -> Stack:
    """N blocks in which a step sees itself and earlier steps, whose keys and values are its state: a language model."""
    return _blocks(config, causal=True)


def cross_decoder(config: TransformerConfig = BASE, memory_size: int | None = None) -> Stack:
    """N blocks that also attend to a memory, the encoder's output; the first state is `start(memory, lengths)`."""
    return _blocks(config, causal=True, memory_size=memory_size or config.size)


def _blocks(config: TransformerConfig, *, causal: bool, memory_size: int | None = None) -> Stack:
    layers: dict[str, Layer] = {
        str(i): block(config, causal=causal, memory_size=memory_size) for i in range(config.depth)
    }
    if config.norm_order == "pre":  # the output of the last block is not normalized
        layers["norm"] = NORMS[config.norm](config.size)
    return Stack(layers)


def block(config: TransformerConfig, *, causal: bool, memory_size: int | None = None) -> Stack:
    """Attention, attention to a memory (given `memory_size`) and feed-forward, each with a residual connection."""
    size, heads = config.size, config.heads
    attention: Options = {
        "kv_heads": config.kv_heads, "score": config.score, "dropout": config.dropout, "bias": config.bias
    }  # fmt: skip
    rotary = None if config.rotary is None else Rotary(size // heads, base=config.rotary)
    sublayers: dict[str, Layer] = {
        "attention": SelfAttention(size, heads, causal=causal, window=config.window, rotary=rotary, **attention)
    }
    if memory_size is not None:
        sublayers["cross"] = CrossAttention(size, memory_size, heads, **attention)
    feed_forward = GatedFeedForward if config.gated else FeedForward
    sublayers["feed_forward"] = feed_forward(
        size, config.hidden_size, activation=config.activation, dropout=config.dropout, bias=config.bias
    )
    residual = NORM_ORDERS[config.norm_order]
    return Stack({n: residual(layer, norm=config.norm, dropout=config.dropout) for n, layer in sublayers.items()})
