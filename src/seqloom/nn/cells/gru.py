"""Gated recurrent units."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.kernels.recurrence import Operands
from seqloom.nn.cells.cell import Cell, Step
from seqloom.nn.record import offer
from seqloom.nn.state import State


class GRU(Cell):
    """Gated recurrent unit, reset gate before the product (Cho et al. 2014, https://arxiv.org/abs/1406.1078).

        r = σ(x W_xr + h W_hr + b_r)                 how much of the past the candidate sees
        z = σ(x W_xz + h W_hz + b_z)                 how much of the past is kept
        h̃ = tanh(x W_xh + (r ⊙ h) W_hh + b_h)        the candidate
        h' = z ⊙ h + (1 − z) ⊙ h̃

    cuDNN and `torch.nn.GRU` apply r after the product: see `GRUAfter`. Some texts swap z and 1 − z: see `flip_update`.

    >>> from seqloom.nn import Recurrent
    >>> cell = GRU(input_size=3, hidden_size=4)
    >>> y, state = Recurrent(cell)(torch.randn(2, 5, 3))
    >>> y.shape
    torch.Size([2, 5, 4])
    """

    parts = ("reset", "update", "candidate")  # order of the rows in every weight
    equation: ClassVar[str | None] = "gru"

    def step(self, projected: Float[Tensor, "batch 3*hidden"], state: State) -> Step:
        h = state["hidden"]
        from_x, W_h = self.split(projected), self.split(self.recurrent_weight.mT)  # x W_xr + b_r, … and W_hr, …
        r = torch.sigmoid(from_x.reset + h @ W_h.reset)
        z = torch.sigmoid(from_x.update + h @ W_h.update)
        h_tilde = torch.tanh(from_x.candidate + (r * h) @ W_h.candidate)
        h = z * h + (1 - z) * h_tilde
        offer("gates", reset=r, update=z, candidate=h_tilde)
        return h, State(hidden=h)


class GRUAfter(Cell):
    """Gated recurrent unit, reset gate after the product (cuDNN, `torch.nn.GRU`).

    r = σ(x W_xr + h W_hr + b_r)
    z = σ(x W_xz + h W_hz + b_z)
    h̃ = tanh(x W_xh + b_h + r ⊙ (h W_hh + b_hh))
    h' = z ⊙ h + (1 − z) ⊙ h̃
    """

    parts = ("reset", "update", "candidate")
    equation: ClassVar[str | None] = "gru-after"

    def __init__(self, input_size: int, hidden_size: int, *, bias: bool = True) -> None:
        super().__init__(input_size, hidden_size, bias=bias)
        self.candidate_bias = nn.Parameter(torch.zeros(hidden_size)) if bias else None  # b_hh

    def step(self, projected: Float[Tensor, "batch 3*hidden"], state: State) -> Step:
        h = state["hidden"]
        from_x, from_h = self.split(projected), self.split(self.recur(h))
        r = torch.sigmoid(from_x.reset + from_h.reset)
        z = torch.sigmoid(from_x.update + from_h.update)
        past = from_h.candidate if self.candidate_bias is None else from_h.candidate + self.candidate_bias
        h_tilde = torch.tanh(from_x.candidate + r * past)
        h = z * h + (1 - z) * h_tilde
        offer("gates", reset=r, update=z, candidate=h_tilde)
        return h, State(hidden=h)

    def operands(self) -> Operands:
        if self.candidate_bias is None:
            return super().operands()
        recurrent_bias = F.pad(self.candidate_bias, (2 * self.hidden_size, 0))  # rows: reset 0, update 0, candidate
        return super().operands()._replace(recurrent_bias=recurrent_bias)


# Here z is how much of the past is kept: h' = z ⊙ h + (1 − z) ⊙ h̃, as in Cho et al. 2014 (eq. 7), cuDNN and torch.
# In Chung et al. 2014 and many courses z is how much is replaced: h' = (1 − z) ⊙ h + z ⊙ h̃. Because 1 − σ(a) = σ(−a),
# changing the sign of the update gate's weights turns one into the other.


def flip_update(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a GRU (its `state_dict`) with z and 1 − z swapped. The function is its own inverse.

    Use it for weights of code that computes h' = (1 − z) ⊙ h + z ⊙ h̃. For recorded gates use `as_replacement`.

    >>> cell, other = GRU(3, 4), GRU(3, 4)
    >>> _ = other.load_state_dict(flip_update(flip_update(cell.state_dict())))
    >>> all(torch.equal(a, b) for a, b in zip(cell.parameters(), other.parameters(), strict=True))
    True
    """
    flipped = dict(weights)
    for name, weight in weights.items():
        if name.rsplit(".", 1)[-1] in ("input_weight", "recurrent_weight", "bias"):
            reset, update, candidate = weight.chunk(3)
            flipped[name] = torch.cat([reset, -update, candidate])
    return flipped


def as_replacement(gates: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The recorded gates of a GRU with z and 1 − z swapped: "update" is then how much of the past is replaced.

    >>> as_replacement({"reset": torch.tensor(0.2), "update": torch.tensor(0.75)})["update"]
    tensor(0.2500)
    """
    return {**gates, "update": 1 - gates["update"]}
