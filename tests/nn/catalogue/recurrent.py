"""Every cell over time, and the ways to combine them. One of the cells is user-defined: a new cell is one class."""

import torch
from torch.nn import functional as F

from seqloom.nn.cells import CELLS, GRU, LSTM, RNN, Cell, GRUAfter
from seqloom.nn.dropout import Dropout, VariationalDropout
from seqloom.nn.record import offer
from seqloom.nn.recurrent import Backwards, Bidirectional, Recurrent
from seqloom.nn.residual import Residual
from seqloom.nn.stack import DenseStack, Stack
from seqloom.nn.state import State
from tests.nn.catalogue.case import Case
from tests.nn.references.recurrent import recurrent


class MinimalGated(Cell):
    """Minimal gated unit (Zhou et al. 2016, https://arxiv.org/abs/1603.09420).

    f = σ(x W_xf + h W_hf + b_f)
    h̃ = tanh(x W_xh + (f ⊙ h) W_hh + b_h)
    h' = (1 − f) ⊙ h + f ⊙ h̃
    """

    parts = ("forget", "candidate")

    def step(self, projected, state):
        x, h = self.split(projected), state["hidden"]
        to_forget, to_candidate = self.recurrent_weight.chunk(2)
        forget = torch.sigmoid(x.forget + F.linear(h, to_forget))
        candidate = torch.tanh(x.candidate + F.linear(forget * h, to_candidate))
        hidden = (1 - forget) * h + forget * candidate
        offer("gates", forget=forget, candidate=candidate)
        return hidden, State(hidden=hidden)


def both(cell: type[Cell], width: int = 3, **settings) -> Bidirectional:
    return Bidirectional(Recurrent(cell(width, 4), **settings), Recurrent(cell(width, 2), **settings))


every_cell = {**CELLS, "minimal-gated": MinimalGated}
in_both_directions = ("rnn-relu", "lstm", "lstm-peephole", "gru-after", "minimal-gated")
without_bias = ("rnn", "lstm", "lstm-layer-norm", "gru", "gru-after")

layers = {
    **{name: lambda cell=cell: Recurrent(cell(3, 4)) for name, cell in every_cell.items()},
    **{f"{name}, no bias": lambda name=name: Recurrent(CELLS[name](3, 4, bias=False)) for name in without_bias},
    **{f"{name}, both directions": lambda name=name: both(every_cell[name]) for name in in_both_directions},
    "backwards": lambda: Backwards(Recurrent(LSTM(3, 4))),
    "deep": lambda: Stack([Recurrent(LSTM(3, 4)), Recurrent(GRU(4, 2)), Recurrent(GRUAfter(2, 3))]),
    "deep, both directions": lambda: Stack([both(GRUAfter), both(LSTM, width=6)]),
    "deep, with other names": lambda: Stack({"lower": Recurrent(RNN(3, 4)), "upper": Recurrent(MinimalGated(4, 2))}),
    "dense": lambda: DenseStack([Recurrent(LSTM(3, 4)), Recurrent(GRU(7, 2)), Recurrent(RNN(9, 2))]),
    "dense, both directions": lambda: DenseStack([both(LSTM), both(RNN, width=9)]),
    "around an lstm": lambda: Residual(Recurrent(LSTM(3, 3))),
    "learned initial state": lambda: Recurrent(LSTM(3, 4), initial="learned"),
    "learned initial states, both directions": lambda: both(GRU, initial="learned"),
    "dropout of nothing": lambda: Stack([Dropout(3, 0.0), Recurrent(GRU(3, 4)), VariationalDropout(4, 0.0)]),
}

noisy = {
    "zoneout": lambda: Recurrent(LSTM(3, 4), zoneout=0.2),
    "zoneout, both directions": lambda: both(GRU, zoneout=0.2),
    "weight drop": lambda: Recurrent(LSTM(3, 4), weight_drop=0.3),
    "random initial state": lambda: Recurrent(GRUAfter(3, 4), initial="random"),
    "plain dropout": lambda: Dropout(3, 0.5),
    "variational dropout": lambda: VariationalDropout(3, 0.5),
}

cases = [Case(name, make, recurrent) for name, make in layers.items()]
cases += [Case(name, make, recurrent, noisy=True) for name, make in noisy.items()]
