"""What deep recurrent networks end in, as the equations say: one row without padding, one step at a time."""

import numpy as np
from torch import nn

from tests.nn.references import Array
from tests.nn.references.recurrent import CELLS, State


def run(cell: nn.Module, x: Array) -> tuple[Array, State]:
    """h_1 … h_n, and the last state."""
    names = ("hidden", "cell") if type(cell).__name__.startswith("LSTM") else ("hidden",)
    state, y = {name: np.zeros(cell.hidden_size) for name in names}, np.zeros((len(x), cell.hidden_size))
    for t in range(len(x)):
        state = CELLS[type(cell).__name__](cell, x[t], state)
        y[t] = state["hidden"]
    return y, state


def deep(cells: list[nn.Module], directions: int, connection: str, x: Array) -> tuple[list[State], Array, Array]:
    """Of layers of one or two directions: the final state of each, all outputs, and the last output.

    state    h_n;   [→h_n; ←h_1] of two directions; c likewise
    last     y_n;   of two directions each half of a layer's output where it has read the row: [→y_n; ←y_1]
    """
    states, y = [], x
    last = x[-1] if len(x) else np.zeros(x.shape[1])
    for ahead, *back in (cells[k : k + directions] for k in range(0, len(cells), directions)):
        f, state = run(ahead, y)
        if back:
            backward, first = run(back[0], y[::-1])
            f = np.concatenate([f, backward[::-1]], axis=1)
            state = {name: np.concatenate([state[name], first[name]]) for name in state}
        if connection == "residual" and f.shape[1] == y.shape[1]:
            y = y + f
        else:
            y = np.concatenate([y, f], axis=1) if connection == "dense" else f
        n, half = ahead.hidden_size, y[:, -f.shape[1] :]
        read = np.zeros(f.shape[1]) if not len(x) else np.concatenate([half[-1, :n], half[0, n:]])
        last = np.concatenate([last, read]) if connection == "dense" else read
        states.append(state)
    return states, y, last
