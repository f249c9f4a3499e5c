"""The textbook equations of dense layers, windows, convolutions and the Mixer: a sum over positions for each step."""

import math

import numpy as np
from torch import nn

from tests.nn.references import Array, by_row, weight


def σ(a: Array) -> Array:
    return 1 / (1 + np.exp(-a))


def gelu(a: Array) -> Array:
    """x Φ(x)"""
    return a * (1 + np.vectorize(math.erf, otypes=[float])(a / math.sqrt(2))) / 2


ACTIVATIONS = {"Identity": lambda a: a, "Tanh": np.tanh, "ReLU": lambda a: np.maximum(a, 0), "GELU": gelu}


def φ(layer: nn.Module) -> Array:
    return ACTIVATIONS[type(layer.activation).__name__]


def row_of(layer: nn.Module, x: Array) -> Array:
    """Any layer of this family, over the steps of one row without padding."""
    kind = next(kind.__name__ for kind in type(layer).__mro__ if kind.__name__ in LAYERS)
    return LAYERS[kind](layer, x)


def at(x: Array, t: int) -> Array:
    """x_t, or zeros before the start and beyond the end."""
    return x[t] if 0 <= t < len(x) else np.zeros(x.shape[1])


# Dense -----------------------------------------------------------------------------------------------------------


def over_features(layer: nn.Module, x: Array) -> Array:
    W, b = weight(layer.linear, "weight"), weight(layer.linear, "bias")
    y = np.zeros((len(x), layer.output_size))
    for t in range(len(x)):
        y[t] = φ(layer)(W @ x[t] + b)
    return y


def over_tokens(layer: nn.Module, x: Array) -> Array:
    W, b = weight(layer.linear, "weight"), np.broadcast_to(weight(layer.linear, "bias"), layer.length)
    y = np.zeros_like(x)
    for t in range(len(x)):
        y[t] = φ(layer)(sum(W[t, s] * x[s] for s in range(len(x))) + b[t])
    return y


def over_both(layer: nn.Module, x: Array) -> Array:
    """A shorter row is padded with zeros."""
    W, b = weight(layer.linear, "weight"), weight(layer.linear, "bias")
    flat = np.concatenate([at(x, t) for t in range(layer.length)])
    return φ(layer)(W @ flat + b).reshape(layer.length, layer.output_size)[: len(x)]


# Window ----------------------------------------------------------------------------------------------------------


def window(layer: nn.Module, x: Array) -> Array:
    n = layer.width
    y = np.zeros((len(x), layer.output_size))
    for t in range(len(x)):
        y[t] = np.concatenate([at(x, s) for s in range(t - n + 1, t + 1)])
    return y


# Convolution -----------------------------------------------------------------------------------------------------


def causal(layer: nn.Module, x: Array) -> Array:
    W, b, d = weight(layer.convolution, "weight"), weight(layer.convolution, "bias"), layer.convolution.dilation[0]
    K = W.shape[2]
    y = np.zeros((len(x), layer.output_size))
    for t in range(len(x)):
        y[t] = φ(layer)(sum(W[:, :, K - 1 - k] @ at(x, t - k * d) for k in range(K)) + b)
    return y


def centered(layer: nn.Module, x: Array) -> Array:
    W, b, d = weight(layer.convolution, "weight"), weight(layer.convolution, "bias"), layer.convolution.dilation[0]
    K = W.shape[2]
    c = (K - 1) * d // 2
    y = np.zeros((len(x), layer.output_size))
    for t in range(len(x)):
        y[t] = φ(layer)(sum(W[:, :, k] @ at(x, t + k * d - c) for k in range(K)) + b)
    return y


def gated_linear(layer: nn.Module, x: Array) -> Array:
    n = layer.output_size
    return x[:, :n] * σ(x[:, n:])


def gated_tanh(layer: nn.Module, x: Array) -> Array:
    n = layer.output_size
    return np.tanh(x[:, :n]) * σ(x[:, n:])


# Mixer -----------------------------------------------------------------------------------------------------------


def token_mixing(layer: nn.Module, x: Array) -> Array:
    W_1, b_1 = weight(layer.widen, "weight"), weight(layer.widen, "bias")
    W_2, b_2 = weight(layer.narrow, "weight"), np.broadcast_to(weight(layer.narrow, "bias"), layer.length)
    y = np.zeros_like(x)
    for feature in range(x.shape[1]):
        hidden = φ(layer)(sum(W_1[:, s] * x[s, feature] for s in range(len(x))) + b_1)
        for t in range(len(x)):
            y[t, feature] = W_2[t] @ hidden + b_2[t]
    return y


def feed_forward(layer: nn.Module, x: Array) -> Array:
    W_1, b_1 = weight(layer.widen, "weight"), weight(layer.widen, "bias")
    W_2, b_2 = weight(layer.narrow, "weight"), weight(layer.narrow, "bias")
    y = np.zeros_like(x)
    for t in range(len(x)):
        y[t] = W_2 @ φ(layer)(W_1 @ x[t] + b_1) + b_2
    return y


def layer_norm(layer: nn.Module, x: Array) -> Array:
    y = np.zeros_like(x)
    for t in range(len(x)):
        μ = sum(x[t]) / len(x[t])
        variance = sum((x[t] - μ) ** 2) / len(x[t])
        y[t] = weight(layer, "weight") * (x[t] - μ) / np.sqrt(variance + layer.eps) + weight(layer, "bias")
    return y


# Arrangements ----------------------------------------------------------------------------------------------------


def stack(layer: nn.Module, x: Array) -> Array:
    for above in layer.layers.values():
        x = row_of(above, x)
    return x


def dense_stack(layer: nn.Module, x: Array) -> Array:
    for above in layer.layers.values():
        x = np.concatenate([x, row_of(above, x)], axis=1)
    return x


def pre_norm(layer: nn.Module, x: Array) -> Array:
    return x + row_of(layer.layers["layer"], row_of(layer.layers["norm"], x))


LAYERS = {
    "DenseOverFeatures": over_features,
    "DenseOverTokens": over_tokens,
    "DenseOverBoth": over_both,
    "Window": window,
    "CausalConvolution": causal,
    "CenteredConvolution": centered,
    "GatedLinearUnit": gated_linear,
    "GatedTanhUnit": gated_tanh,
    "TokenMixing": token_mixing,
    "FeedForward": feed_forward,
    "LayerNorm": layer_norm,
    "PreNorm": pre_norm,
    "Stack": stack,
    "DenseStack": dense_stack,
}

mixing = by_row(row_of)
