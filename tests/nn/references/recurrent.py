"""The textbook equations of recurrent networks: h_t from x_t and h_{t-1}."""

import numpy as np
from torch import nn

from tests.nn.references import Array, by_row, weight

State = dict[str, Array]


def σ(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def row_of(layer: nn.Module, x: Array) -> Array:
    """Any arrangement of cells, over the steps of one row without padding."""
    return ARRANGEMENTS[type(layer).__name__](layer, x)


# Arrangements ----------------------------------------------------------------------------------------------------


def one_direction(layer: nn.Module, x: Array) -> Array:
    """s_0, then s_t = cell(x_t, s_{t-1}); y_t is the h in s_t."""
    cell = layer.cell
    step = CELLS[type(cell).__name__]
    names = ("hidden", "cell") if type(cell).__name__.startswith("LSTM") else ("hidden",)
    if layer.initial_kind == "learned":
        state = {name: weight(layer.first, name) for name in names}
    else:
        state = {name: np.zeros(cell.hidden_size) for name in names}
    y = np.zeros((len(x), cell.hidden_size))
    for t in range(len(x)):
        after = step(cell, x[t], state)
        for name in names:  # zoneout in eval mode: the mean of the old and the new state
            state[name] = layer.zoneout * state[name] + (1 - layer.zoneout) * after[name]
        y[t] = state["hidden"]
    return y


def backwards(layer: nn.Module, x: Array) -> Array:
    return row_of(layer.layers["reversed"], x[::-1])[::-1]


def both_directions(layer: nn.Module, x: Array) -> Array:
    ahead, back = (row_of(layer.layers[name], x) for name in ("forwards", "backwards"))
    return np.concatenate([ahead, back], axis=1)


def stack(layer: nn.Module, x: Array) -> Array:
    for above in layer.layers.values():
        x = row_of(above, x)
    return x


def dense_stack(layer: nn.Module, x: Array) -> Array:
    for above in layer.layers.values():
        x = np.concatenate([x, row_of(above, x)], axis=1)
    return x


def residual(layer: nn.Module, x: Array) -> Array:
    return x + row_of(layer.layers["layer"], x)


def unchanged(layer: nn.Module, x: Array) -> Array:
    """Dropout in eval mode."""
    return x


ARRANGEMENTS = {
    "Recurrent": one_direction,
    "Backwards": backwards,
    "Bidirectional": both_directions,
    "Stack": stack,
    "DenseStack": dense_stack,
    "Residual": residual,
    "Dropout": unchanged,
    "VariationalDropout": unchanged,
}


# Cells -----------------------------------------------------------------------------------------------------------


class Parts:
    """W_x, W_h and b of each part of a cell, by its index in the stacked weights."""

    def __init__(self, cell: nn.Module, count: int) -> None:
        n = cell.hidden_size
        stacked = weight(cell, "input_weight"), weight(cell, "recurrent_weight"), weight(cell, "bias")
        self.W_x = [stacked[0][k * n : (k + 1) * n] for k in range(count)]
        self.W_h = [stacked[1][k * n : (k + 1) * n] for k in range(count)]
        self.b = [stacked[2][k * n : (k + 1) * n] if stacked[2].ndim else 0.0 for k in range(count)]

    def total(self, k: int, x: Array, h: Array) -> Array:
        return self.W_x[k] @ x + self.W_h[k] @ h + self.b[k]


def simple(φ):
    def step(cell: nn.Module, x: Array, state: State) -> State:
        return {"hidden": φ(Parts(cell, 1).total(0, x, state["hidden"]))}

    return step


def lstm(cell: nn.Module, x: Array, state: State) -> State:
    h, c, W = state["hidden"], state["cell"], Parts(cell, 4)
    i = σ(W.total(0, x, h))
    f = σ(W.total(1, x, h))
    g = np.tanh(W.total(2, x, h))
    o = σ(W.total(3, x, h))
    c = f * c + i * g
    return {"hidden": o * np.tanh(c), "cell": c}


def lstm_no_tanh(cell: nn.Module, x: Array, state: State) -> State:
    h, c, W = state["hidden"], state["cell"], Parts(cell, 4)
    i = σ(W.total(0, x, h))
    f = σ(W.total(1, x, h))
    g = np.tanh(W.total(2, x, h))
    o = σ(W.total(3, x, h))
    c = f * c + i * g
    return {"hidden": o * c, "cell": c}


def lstm_peephole(cell: nn.Module, x: Array, state: State) -> State:
    h, c, W = state["hidden"], state["cell"], Parts(cell, 4)
    p_i, p_f, p_o = weight(cell, "peepholes")
    i = σ(W.total(0, x, h) + p_i * c)
    f = σ(W.total(1, x, h) + p_f * c)
    g = np.tanh(W.total(2, x, h))
    c = f * c + i * g
    o = σ(W.total(3, x, h) + p_o * c)
    return {"hidden": o * np.tanh(c), "cell": c}


def lstm_coupled(cell: nn.Module, x: Array, state: State) -> State:
    h, c, W = state["hidden"], state["cell"], Parts(cell, 3)
    f = σ(W.total(0, x, h))
    g = np.tanh(W.total(1, x, h))
    o = σ(W.total(2, x, h))
    c = f * c + (1 - f) * g
    return {"hidden": o * np.tanh(c), "cell": c}


def lstm_layer_norm(cell: nn.Module, x: Array, state: State) -> State:
    h, c = state["hidden"], state["cell"]
    from_x = layer_norm(cell.input_norm, weight(cell, "input_weight") @ x)
    from_h = layer_norm(cell.recurrent_norm, weight(cell, "recurrent_weight") @ h)
    i, f, g, o = (from_x + from_h + weight(cell, "bias")).reshape(4, -1)
    c = σ(f) * c + σ(i) * np.tanh(g)
    return {"hidden": σ(o) * np.tanh(layer_norm(cell.cell_norm, c)), "cell": c}


def layer_norm(norm: nn.Module, a: Array) -> Array:
    """(a − μ) / √(σ² + ε), scaled and shifted."""
    μ = sum(a) / len(a)
    variance = sum((a - μ) ** 2) / len(a)
    return (a - μ) / np.sqrt(variance + norm.eps) * weight(norm, "weight") + weight(norm, "bias")


def gru(cell: nn.Module, x: Array, state: State) -> State:
    h, W = state["hidden"], Parts(cell, 3)
    r = σ(W.total(0, x, h))
    z = σ(W.total(1, x, h))
    candidate = np.tanh(W.total(2, x, r * h))
    return {"hidden": z * h + (1 - z) * candidate}


def gru_after(cell: nn.Module, x: Array, state: State) -> State:
    h, W = state["hidden"], Parts(cell, 3)
    r = σ(W.total(0, x, h))
    z = σ(W.total(1, x, h))
    candidate = np.tanh(W.W_x[2] @ x + W.b[2] + r * (W.W_h[2] @ h + weight(cell, "candidate_bias")))
    return {"hidden": z * h + (1 - z) * candidate}


def minimal_gated(cell: nn.Module, x: Array, state: State) -> State:
    h, W = state["hidden"], Parts(cell, 2)
    f = σ(W.total(0, x, h))
    candidate = np.tanh(W.total(1, x, f * h))
    return {"hidden": (1 - f) * h + f * candidate}


CELLS = {
    "RNN": simple(np.tanh),
    "ReluRNN": simple(lambda a: np.maximum(a, 0)),
    "SigmoidRNN": simple(σ),
    "LinearRNN": simple(lambda a: a),
    "LSTM": lstm,
    "LSTMNoTanh": lstm_no_tanh,
    "LSTMPeephole": lstm_peephole,
    "LSTMCoupled": lstm_coupled,
    "LSTMLayerNorm": lstm_layer_norm,
    "GRU": gru,
    "GRUAfter": gru_after,
    "MinimalGated": minimal_gated,
}

recurrent = by_row(row_of)
