"""The textbook equations of attention, norms, positions and the Transformer: one row, head, query and key at a time."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from tests.nn.references import Array, weight
from tests.nn.references.mixing import gelu, σ

Memory = Callable[[nn.Module, int], Array]  # the memory of one row, [steps, dim]
Sees = Callable[[int, int], bool]  # whether the query at t sees the key at s


def attention(memory: Memory) -> Callable[[nn.Module, Tensor, Tensor | None], Tensor]:
    """The reference of any layer of this family, with or without a memory."""

    def reference(layer: nn.Module, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        rows, time = x.shape[:2]
        ends = [time] * rows if lengths is None else lengths.tolist()
        y = np.zeros((rows, time, layer.output_size))
        for row, end in enumerate(ends):
            y[row, :end] = row_of(layer, x[row, :end].detach().numpy(), memory(layer, row))
        return torch.from_numpy(y)

    return reference


def no_memory(layer: nn.Module, row: int) -> Array:
    return np.zeros((0, 0))


def row_of(layer: nn.Module, x: Array, memory: Array) -> Array:
    """Any layer of this family, over the steps of one row without padding."""
    return LAYERS[type(layer).__name__](layer, x, memory)


def linear(module: nn.Module, x: Array) -> Array:
    """W x + b, or x without a projection."""
    if isinstance(module, nn.Identity):
        return x
    return weight(module, "weight") @ x + weight(module, "bias")


# Scores: of q in head j with k in key head g ------------------------------------------------------------------------


def of_head(weights: Array, head: int) -> Array:
    """The weights of one head, or those shared by all."""
    return weights[head] if len(weights) > 1 else weights[0]


def cosine(score: nn.Module, q: Array, k: Array, j: int, g: int) -> float:
    return q @ k / (math.sqrt(q @ q) * math.sqrt(k @ k)) / score.temperature


def dot(score: nn.Module, q: Array, k: Array, j: int, g: int) -> float:
    return sum(q[i] * k[i] for i in range(len(q)))


def scaled_dot(score: nn.Module, q: Array, k: Array, j: int, g: int) -> float:
    return sum(q[i] * k[i] for i in range(len(q))) / math.sqrt(len(k))


def bilinear(score: nn.Module, q: Array, k: Array, j: int, g: int) -> float:
    W = of_head(weight(score, "weight"), j)
    return sum(q[a] * W[a, b] * k[b] for a in range(len(q)) for b in range(len(k)))


def low_rank(score: nn.Module, q: Array, k: Array, j: int, g: int) -> float:
    U, V = of_head(weight(score, "query_weight"), j).T, of_head(weight(score, "key_weight"), g).T
    return (U @ q) @ (V @ k)


def gaussian(score: nn.Module, q: Array, k: Array, j: int, g: int) -> float:
    return -((q - k) @ (q - k)) / (2 * score.width**2)


def additive(score: nn.Module, q: Array, k: Array, j: int, g: int) -> float:
    W_q, W_k = of_head(weight(score, "query_weight"), j).T, of_head(weight(score, "key_weight"), g).T
    v = of_head(weight(score, "vector"), j)[:, 0]
    return v @ np.tanh(W_q @ q + W_k @ k)


SCORES = {
    "Cosine": cosine,
    "Dot": dot,
    "ScaledDot": scaled_dot,
    "Bilinear": bilinear,
    "LowRank": low_rank,
    "Gaussian": gaussian,
    "Additive": additive,
}


# Weights -----------------------------------------------------------------------------------------------------------


def softmax(scores: Sequence[float]) -> list[float]:
    """e^score / Σ e^score"""
    highest = max(scores, default=0.0)
    powers = [math.exp(score - highest) for score in scores]
    return [power / sum(powers) for power in powers]


def shares(scores: Sequence[float]) -> list[float]:
    """score / Σ score"""
    return [score / sum(scores) for score in scores]


WEIGHTINGS = {"softmax": softmax, "sum": shares}


# Attention ---------------------------------------------------------------------------------------------------------


def multi_head(layer: nn.Module, x: Array, memory: Array, sees: Sees) -> Array:
    """head_j = Σ_s α_s v_s, with α over the visible keys; y = [head_1; …; head_h] W_o"""
    score, weigh = layer.attention.score, WEIGHTINGS[layer.attention.weighting]
    agree = SCORES[type(score).__name__]
    rotary = getattr(layer, "rotary", None)
    y = np.zeros((len(x), layer.output_size))
    for t in range(len(x)):
        contexts = []
        for j in range(layer.heads):
            g = j // (layer.heads // layer.kv_heads)
            q = turned(rotary, head(linear(layer.query, x[t]), j, layer.heads), t)
            seen = [s for s in range(len(memory)) if sees(t, s)]
            keys = [turned(rotary, head(linear(layer.key, memory[s]), g, layer.kv_heads), s) for s in seen]
            values = [head(linear(layer.value, memory[s]), g, layer.kv_heads) for s in seen]
            α = weigh([agree(score, q, k, j, g) for k in keys])
            contexts.append(sum((α[n] * values[n] for n in range(len(seen))), np.zeros(layer.value_size)))
        y[t] = linear(layer.output, np.concatenate(contexts))
    return y


def head(features: Array, j: int, heads: int) -> Array:
    width = len(features) // heads
    return features[j * width : (j + 1) * width]


def turned(rotary: nn.Module | None, a: Array, p: int) -> Array:
    """Features i and i + dim/2 are rotated as a pair by the angle p / base^(2i/dim)."""
    if rotary is None:
        return a
    half = len(a) // 2
    y = np.zeros_like(a)
    for i in range(half):
        angle = p / rotary.base ** (2 * i / len(a))
        point = complex(a[i], a[i + half]) * complex(math.cos(angle), math.sin(angle))
        y[i], y[i + half] = point.real, point.imag
    return y


def self_attention(layer: nn.Module, x: Array, memory: Array) -> Array:
    def sees(t: int, s: int) -> bool:
        near = layer.window is None or abs(t - s) < layer.window
        return near and (s <= t or not layer.causal)

    return multi_head(layer, x, x, sees)


def cross_attention(layer: nn.Module, x: Array, memory: Array) -> Array:
    return multi_head(layer, x, memory, lambda t, s: True)


# Norms -------------------------------------------------------------------------------------------------------------


def over(values: Array, eps: float) -> tuple[float, float]:
    """μ and √(σ² + ε) of some values."""
    μ = values.sum() / values.size
    return μ, math.sqrt(((values - μ) ** 2).sum() / values.size + eps)


def layer_norm(layer: nn.Module, x: Array, memory: Array) -> Array:
    y = plain_layer_norm(layer, x, memory)
    return y * weight(layer, "weight") + weight(layer, "bias")


def plain_layer_norm(layer: nn.Module, x: Array, memory: Array) -> Array:
    y = np.zeros_like(x)
    for t in range(len(x)):
        μ, σ = over(x[t], layer.eps)
        y[t] = (x[t] - μ) / σ
    return y


def rms_norm(layer: nn.Module, x: Array, memory: Array) -> Array:
    y = np.zeros_like(x)
    for t in range(len(x)):
        y[t] = weight(layer, "weight") * x[t] / math.sqrt((x[t] ** 2).sum() / len(x[t]) + layer.eps)
    return y


def batch_norm(layer: nn.Module, x: Array, memory: Array) -> Array:
    """In eval mode, with the running statistics."""
    μ, variance = weight(layer, "running_mean"), weight(layer, "running_variance")
    return weight(layer, "weight") * (x - μ) / np.sqrt(variance + layer.eps) + weight(layer, "bias")


def group_norm(layer: nn.Module, x: Array, memory: Array) -> Array:
    y = np.zeros_like(x)
    width = x.shape[1] // layer.groups
    for group in range(layer.groups if len(x) else 0):
        features = slice(group * width, (group + 1) * width)
        μ, σ = over(x[:, features], layer.eps)
        y[:, features] = (x[:, features] - μ) / σ
    return y * weight(layer, "weight") + weight(layer, "bias")


def unchanged(layer: nn.Module, x: Array, memory: Array) -> Array:
    """No norm, no positions; dropout in eval mode."""
    return x


# Positions ---------------------------------------------------------------------------------------------------------


def sinusoidal(layer: nn.Module, x: Array, memory: Array) -> Array:
    y = x.copy()
    for p in range(x.shape[0]):
        for i in range(x.shape[1]):
            angle = p / layer.base ** (2 * (i // 2) / x.shape[1])
            y[p, i] += math.sin(angle) if i % 2 == 0 else math.cos(angle)
    return y


def learned(layer: nn.Module, x: Array, memory: Array) -> Array:
    E = weight(layer.embedding, "weight")
    return np.array([x[p] + E[p] for p in range(len(x))]).reshape(x.shape)


# Feed-forward ------------------------------------------------------------------------------------------------------

ACTIVATIONS = {"ReLU": lambda a: np.maximum(a, 0), "GELU": gelu, "SiLU": lambda a: a * σ(a), "Tanh": np.tanh}


def feed_forward(layer: nn.Module, x: Array, memory: Array) -> Array:
    φ = ACTIVATIONS[type(layer.activation).__name__]
    y = np.zeros_like(x)
    for t in range(len(x)):
        y[t] = linear(layer.narrow, φ(linear(layer.widen, x[t])))
    return y


def gated_feed_forward(layer: nn.Module, x: Array, memory: Array) -> Array:
    φ = ACTIVATIONS[type(layer.activation).__name__]
    y = np.zeros_like(x)
    for t in range(len(x)):
        y[t] = linear(layer.narrow, φ(linear(layer.gate, x[t])) * linear(layer.widen, x[t]))
    return y


# Arrangements ------------------------------------------------------------------------------------------------------


def stack(layer: nn.Module, x: Array, memory: Array) -> Array:
    for above in layer.layers.values():
        x = row_of(above, x, memory)
    return x


def residual(layer: nn.Module, x: Array, memory: Array) -> Array:
    return x + row_of(layer.layers["layer"], x, memory)


def pre_norm(layer: nn.Module, x: Array, memory: Array) -> Array:
    return x + row_of(layer.layers["layer"], row_of(layer.layers["norm"], x, memory), memory)


def post_norm(layer: nn.Module, x: Array, memory: Array) -> Array:
    return row_of(layer.layers["norm"], x + row_of(layer.layers["layer"], x, memory), memory)


LAYERS = {
    "SelfAttention": self_attention,
    "PlainSelfAttention": self_attention,
    "CrossAttention": cross_attention,
    "LayerNorm": layer_norm,
    "PlainLayerNorm": plain_layer_norm,
    "RMSNorm": rms_norm,
    "BatchNorm": batch_norm,
    "GroupNorm": group_norm,
    "InstanceNorm": group_norm,
    "Identity": unchanged,
    "Sinusoidal": sinusoidal,
    "LearnedPositions": learned,
    "FeedForward": feed_forward,
    "GatedFeedForward": gated_feed_forward,
    "Stack": stack,
    "Residual": residual,
    "PreNorm": pre_norm,
    "PostNorm": post_norm,
}
