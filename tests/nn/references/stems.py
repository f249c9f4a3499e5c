"""The equations of stems: an embedding or a linear map, then positions, then a norm."""

import numpy as np
from torch import nn

from tests.nn.references import Array, by_row, weight
from tests.nn.references.recurrent import layer_norm


def stem(layer: nn.Module, raw: Array) -> Array:
    """x_t = norm(c E[token_t] + P_t), or norm(W f_t + b + P_t)"""
    if type(layer).__name__ == "TokenEmbedding":
        E = weight(layer.embedding, "weight")
        c = np.sqrt(E.shape[1]) if layer.scale != 1 else 1
        x = np.array([c * E[token] for token in raw]).reshape(len(raw), E.shape[1])
    else:
        linear = layer.layers["project"].linear
        x = raw @ weight(linear, "weight").T + weight(linear, "bias")
    x = x + P(layer.layers["positions"], *x.shape)
    norm = layer.layers["norm"]
    return np.array([layer_norm(norm, v) for v in x]).reshape(x.shape) if type(norm).__name__ == "LayerNorm" else x


def P(positions: nn.Module, time: int, size: int) -> Array:
    if type(positions).__name__ == "LearnedPositions":
        return weight(positions.embedding, "weight")[:time]
    table = np.zeros((time, size))
    if type(positions).__name__ == "Sinusoidal":
        for p in range(time):
            for i in range(0, size, 2):
                table[p, i] = np.sin(p / 10_000 ** (i / size))
                table[p, i + 1 : i + 2] = np.cos(p / 10_000 ** (i / size))
    return table


stems = by_row(stem)
