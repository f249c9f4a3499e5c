"""Attention with every score, mask and size; norms, positions, feed-forward layers and residual connections."""

from functools import partial

import torch

from seqloom.nn.feed_forward import FeedForward, GatedFeedForward
from seqloom.nn.layer import Layer
from seqloom.nn.multihead import CrossAttention, PlainSelfAttention, SelfAttention
from seqloom.nn.normalization import NORMS, GroupNorm
from seqloom.nn.positions import LearnedPositions, Rotary, Sinusoidal
from seqloom.nn.residual import PostNorm, PreNorm, Residual
from seqloom.nn.scores import SCORES, Additive, Bilinear, Cosine, Gaussian, LowRank
from seqloom.nn.state import State
from tests.nn.catalogue.case import Case
from tests.nn.references.attention import attention, no_memory

MEMORY = 5


def source(layer: Layer, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A memory with values on its padding too, and its lengths, one of them 0: the same values in every precision."""
    generator = torch.Generator().manual_seed(8)
    memory = torch.randn(16, 4, MEMORY, generator=generator)[:rows].bfloat16()
    memory = memory.to(next(layer.parameters()))
    return memory, torch.tensor([2, 0, 4, 1] * 4, device=memory.device)[:rows]


def begin(layer: Layer, rows: int) -> State:
    return layer.start(*source(layer, rows))


def row(layer: Layer, index: int):
    """The memory of one row, for the reference."""
    memory, lengths = source(layer, 16)
    return memory[index, : lengths[index]].numpy()


causal = partial(SelfAttention, 4, causal=True)
both_ways = partial(SelfAttention, 4)
cross = partial(CrossAttention, 4, MEMORY)
prepared = ("scaled-dot", "low-rank", "additive", "gaussian")  # keys as they are, and the three kinds of map

of_scores = {
    **{f"causal {name} attention": lambda name=name: causal(2, score=name) for name in SCORES},
    **{f"{name} attention": lambda name=name: both_ways(2, score=name) for name in prepared},
    **{f"{name} attention to a memory": lambda name=name: cross(2, score=name) for name in prepared},
}

self_attention = {
    "causal, one head, no bias": lambda: causal(1, bias=False),
    "causal, grouped heads": lambda: causal(4, kv_heads=2),
    "causal, all heads share keys": lambda: causal(2, kv_heads=1, score="additive"),
    "grouped heads": lambda: both_ways(4, kv_heads=2, score="low-rank"),
    "grouped heads, one score for all": lambda: both_ways(4, kv_heads=2, score=Additive(1, 1, hidden_size=3)),
    "causal, window": lambda: causal(2, window=3),
    "causal, window of one": lambda: causal(2, window=1),
    "causal, window, grouped, gaussian": lambda: causal(4, window=2, kv_heads=2, score="gaussian"),
    "window": lambda: both_ways(2, window=2),
    "window, additive": lambda: both_ways(2, window=3, score="additive"),
    "causal, rotary": lambda: causal(2, rotary=Rotary(2)),
    "rotary": lambda: both_ways(1, rotary=Rotary(4, base=100.0)),
    "causal, rotary, grouped, window": lambda: causal(2, rotary=Rotary(2), kv_heads=1, window=4, score="dot"),
    "causal, sizes apart": lambda: causal(3, head_size=2, value_size=5, output_size=7),
    "sizes apart": lambda: both_ways(3, head_size=4, value_size=1, output_size=2),
    "causal, queries wider than keys": lambda: causal(2, score=Bilinear(3, 5, heads=2)),
    "rank above the size": lambda: both_ways(2, score=LowRank(2, 3, heads=2, rank=5)),
    "causal, sum of gaussian scores": lambda: causal(2, score=Gaussian(2, 2, width=2.0), weighting="sum"),
    "sum of gaussian scores": lambda: both_ways(4, kv_heads=2, score="gaussian", weighting="sum"),
    "sum of gaussian scores, window": lambda: both_ways(2, score="gaussian", weighting="sum", window=3),
    "sharp cosine": lambda: both_ways(2, score=Cosine(2, 2, temperature=0.2)),
    "plain": lambda: PlainSelfAttention(3),
    "plain, causal": lambda: PlainSelfAttention(3, causal=True),
    "plain, causal, additive, window": lambda: PlainSelfAttention(3, causal=True, score="additive", window=3),
    "plain, sum": lambda: PlainSelfAttention(3, weighting="sum"),
}

cross_attention = {
    "to a memory, one head": lambda: cross(1),
    "to a memory, grouped heads": lambda: cross(4, kv_heads=2),
    "to a memory, grouped, gaussian": lambda: cross(4, kv_heads=1, score="gaussian"),
    "to a memory, sizes apart": lambda: cross(3, head_size=2, value_size=3, output_size=6, bias=False),
    "to a memory, score of two sizes": lambda: cross(2, score=Additive(3, 2, heads=2, hidden_size=4)),
    "to a memory, sum": lambda: cross(2, score=Gaussian(2, 2), weighting="sum"),
}

others = {
    **{f"{name} norm": lambda name=name: NORMS[name](4) for name in NORMS},
    "group norm, two groups": lambda: GroupNorm(6, groups=2),
    "sinusoidal": lambda: Sinusoidal(4),
    "sinusoidal, odd": lambda: Sinusoidal(5, base=50.0),
    "learned positions": lambda: LearnedPositions(3, length=9),
    "feed-forward": lambda: FeedForward(3, hidden_size=5),
    "feed-forward, gelu, no bias": lambda: FeedForward(3, hidden_size=5, activation="gelu", bias=False),
    "gated feed-forward": lambda: GatedFeedForward(3, hidden_size=4),
    "gated feed-forward, tanh, bias": lambda: GatedFeedForward(3, hidden_size=4, activation="tanh", bias=True),
    "residual": lambda: Residual(causal(2)),
    "pre-norm": lambda: PreNorm(causal(2), norm="rms"),
    "post-norm": lambda: PostNorm(both_ways(2), norm="layer"),
    "post-norm, instance": lambda: PostNorm(FeedForward(3, hidden_size=4, activation="tanh"), norm="instance"),
    "pre-norm, batch": lambda: PreNorm(FeedForward(3, hidden_size=4, activation="tanh"), norm="batch"),
}

noisy = {
    "causal, dropout": lambda: causal(2, dropout=0.3),
    "additive, dropout": lambda: both_ways(2, score="additive", dropout=0.3),
    "feed-forward, dropout": lambda: FeedForward(3, hidden_size=8, dropout=0.3),
    "residual, dropout": lambda: Residual(FeedForward(3, hidden_size=8), dropout=0.3),
    "post-norm, dropout": lambda: PostNorm(causal(2), norm="layer", dropout=0.3),
}

alone = {**{name: make for name, make in of_scores.items() if "memory" not in name}, **self_attention, **others}
looking = {**{name: make for name, make in of_scores.items() if "memory" in name}, **cross_attention}

cases = [Case(name, make, attention(no_memory)) for name, make in alone.items()]
cases += [Case(name, make, attention(no_memory), noisy=True) for name, make in noisy.items()]
cases += [Case(name, make, attention(row), begin) for name, make in looking.items()]
