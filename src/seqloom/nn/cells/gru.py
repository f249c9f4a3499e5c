"""Gated recurrent units, and the two ways in which texts point the update gate.

Inside seqloom z says how much of the past is *kept*: h' = z ⊙ h + (1 − z) ⊙ h̃ (as cuDNN and torch do). Cho et al.
2014 (eq. 7) write it so
too; Chung et al. 2014 and many courses let z say how much is *replaced*: h' = (1 − z) ⊙ h + z ⊙ h̃. Because
1 − σ(a) = σ(−a), one becomes the other when the update gate's weights change sign: `flip_update`.
"""

from collections.abc import Mapping
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.kernels.recurrence import Operands
from seqloom.nn.cells.cell import Cell
from seqloom.nn.record import offer
from seqloom.nn.state import State

PARTS = ("reset", "update", "candidate")


class GRU(Cell):
    """Gated recurrent unit, reset gate before the product (Cho et al. 2014, https://arxiv.org/abs/1406.1078).

        r = σ(x W_xr + h W_hr + b_r)                 how much of the past the candidate sees
        z = σ(x W_xz + h W_hz + b_z)                 how much of the past is kept
        h̃ = tanh(x W_xh + (r ⊙ h) W_hh + b_h)        the candidate
        h' = z ⊙ h + (1 − z) ⊙ h̃

    cuDNN and `torch.nn.GRU` apply r after the product: see `GRUAfter`.

    >>> from seqloom.nn import Recurrent
    >>> cell = GRU(input_size=3, hidden_size=4)
    >>> y, state = Recurrent(cell)(torch.randn(2, 5, 3))
    >>> y.shape
    torch.Size([2, 5, 4])
    """

    parts = PARTS
    equation: ClassVar[str | None] = "gru"

    def step(
        self, projected: Float[Tensor, "batch 3*hidden"], state: State
    ) -> tuple[Float[Tensor, "batch hidden"], State]:
        hidden = state["hidden"]
        x = self.split(projected)
        to_reset, to_update, to_candidate = self.recurrent_weight.chunk(3)
        reset = torch.sigmoid(x.reset + F.linear(hidden, to_reset))
        update = torch.sigmoid(x.update + F.linear(hidden, to_update))
        candidate = torch.tanh(x.candidate + F.linear(reset * hidden, to_candidate))
        hidden = update * hidden + (1 - update) * candidate
        offer("gates", reset=reset, update=update, candidate=candidate)
        return hidden, State(hidden=hidden)


class GRUAfter(Cell):
    """Gated recurrent unit, reset gate after the product (cuDNN, `torch.nn.GRU`).

    r = σ(x W_xr + h W_hr + b_r)
    z = σ(x W_xz + h W_hz + b_z)
    h̃ = tanh(x W_xh + b_h + r ⊙ (h W_hh + b_hh))
    h' = z ⊙ h + (1 − z) ⊙ h̃
    """

    parts = PARTS
    equation: ClassVar[str | None] = "gru-after"

    def __init__(self, input_size: int, hidden_size: int, *, bias: bool = True) -> None:
        super().__init__(input_size, hidden_size, bias=bias)
        self.candidate_bias = nn.Parameter(torch.zeros(hidden_size)) if bias else None  # b_hh

    def step(
        self, projected: Float[Tensor, "batch 3*hidden"], state: State
    ) -> tuple[Float[Tensor, "batch hidden"], State]:
        hidden = state["hidden"]
        x, h = self.split(projected), self.split(self.recur(hidden))
        reset = torch.sigmoid(x.reset + h.reset)
        update = torch.sigmoid(x.update + h.update)
        past = h.candidate if self.candidate_bias is None else h.candidate + self.candidate_bias
        candidate = torch.tanh(x.candidate + reset * past)
        hidden = update * hidden + (1 - update) * candidate
        offer("gates", reset=reset, update=update, candidate=candidate)
        return hidden, State(hidden=hidden)

    def operands(self) -> Operands:
        if self.candidate_bias is None:
            return super().operands()
        recurrent_bias = F.pad(self.candidate_bias, (2 * self.hidden_size, 0))  # rows: reset 0, update 0, candidate
        return super().operands()._replace(recurrent_bias=recurrent_bias)


def as_replacement(gates: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The recorded gates of a GRU as the other texts show them: z says how much of the past is replaced.

    >>> as_replacement({"reset": torch.tensor(0.2), "update": torch.tensor(0.75)})["update"]
    tensor(0.2500)
    """
    return {**gates, "update": 1 - gates["update"]}


def flip_update(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a GRU (its `state_dict`) for the other reading of z; its own inverse.

    Weights from a text that writes h' = (1 − z) ⊙ h + z ⊙ h̃ become ours, and ours become theirs. To *show* the other
    reading of a recording there is `as_replacement`.

    >>> cell, other = GRU(3, 4), GRU(3, 4)
    >>> _ = other.load_state_dict(flip_update(flip_update(cell.state_dict())))
    >>> all(torch.equal(a, b) for a, b in zip(cell.parameters(), other.parameters(), strict=True))
    True
    """
    flipped = {}
    for name, weight in weights.items():
        if name.rsplit(".", 1)[-1] in ("input_weight", "recurrent_weight", "bias"):
            reset, update, candidate = weight.chunk(3)
            weight = torch.cat([reset, -update, candidate])
        flipped[name] = weight
    return flipped
