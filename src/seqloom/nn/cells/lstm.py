"""Long short-term memory (Hochreiter & Schmidhuber 1997; forget gate: Gers et al. 2000) and its textbook variants."""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.nn.cells.cell import Cell, Step
from seqloom.nn.record import offer
from seqloom.nn.state import State


class LSTM(Cell):
    """Long short-term memory.

        i = σ(x W_xi + h W_hi + b_i)            how much of the candidate is written
        f = σ(x W_xf + h W_hf + b_f)            how much of the cell state is kept
        g = tanh(x W_xg + h W_hg + b_g)         the candidate
        o = σ(x W_xo + h W_ho + b_o)            how much of the cell state is output
        c' = f ⊙ c + i ⊙ g
        h' = o ⊙ tanh(c')

    >>> from seqloom.nn import Recurrent
    >>> y, state = Recurrent(LSTM(input_size=3, hidden_size=4))(torch.randn(2, 5, 3))
    >>> y.shape, state["cell"].shape
    (torch.Size([2, 5, 4]), torch.Size([2, 4]))
    """

    parts: ClassVar[tuple[str, ...]] = ("input", "forget", "candidate", "output")  # order of the rows in every weight
    carries = ("hidden", "cell")
    equation: ClassVar[str | None] = "lstm"

    def step(self, projected: Float[Tensor, "batch 4*hidden"], state: State) -> Step:
        c, h = state["cell"], state["hidden"]
        from_x, from_h = self.split(projected), self.split(self.recur(h))  # x W_xi + b_i, … and h W_hi, …
        i = torch.sigmoid(from_x.input + from_h.input)
        f = torch.sigmoid(from_x.forget + from_h.forget)
        g = torch.tanh(from_x.candidate + from_h.candidate)
        o = torch.sigmoid(from_x.output + from_h.output)
        c = f * c + i * g
        h = o * torch.tanh(c)
        offer("gates", input=i, forget=f, candidate=g, output=o)
        return h, State(hidden=h, cell=c)


class LSTMNoTanh(LSTM):
    """The cell state is output without a tanh.

    i, f, g, o as in `LSTM`
    c' = f ⊙ c + i ⊙ g
    h' = o ⊙ c'
    """

    equation: ClassVar[str | None] = "lstm-no-tanh"

    def step(self, projected: Float[Tensor, "batch 4*hidden"], state: State) -> Step:
        total = self.split(projected + self.recur(state["hidden"]))
        i, f, o = map(torch.sigmoid, (total.input, total.forget, total.output))
        g = torch.tanh(total.candidate)
        c = f * state["cell"] + i * g
        h = o * c
        offer("gates", input=i, forget=f, candidate=g, output=o)
        return h, State(hidden=h, cell=c)


class LSTMPeephole(LSTM):
    """The gates read the cell state (Gers & Schmidhuber 2000), each unit only its own: p_i, p_f, p_o are vectors.

    i = σ(x W_xi + h W_hi + p_i ⊙ c + b_i)
    f = σ(x W_xf + h W_hf + p_f ⊙ c + b_f)
    g = tanh(x W_xg + h W_hg + b_g)
    c' = f ⊙ c + i ⊙ g
    o = σ(x W_xo + h W_ho + p_o ⊙ c' + b_o)          the output gate reads the new cell state
    h' = o ⊙ tanh(c')
    """

    equation: ClassVar[str | None] = "lstm-peephole"

    def __init__(self, input_size: int, hidden_size: int, *, bias: bool = True) -> None:
        super().__init__(input_size, hidden_size, bias=bias)
        self.peepholes = nn.Parameter(torch.zeros(3, hidden_size))  # rows: input, forget, output

    def step(self, projected: Float[Tensor, "batch 4*hidden"], state: State) -> Step:
        c, from_x, from_h = state["cell"], self.split(projected), self.split(self.recur(state["hidden"]))
        p_i, p_f, p_o = self.peepholes
        i = torch.sigmoid(from_x.input + from_h.input + p_i * c)
        f = torch.sigmoid(from_x.forget + from_h.forget + p_f * c)
        g = torch.tanh(from_x.candidate + from_h.candidate)
        c = f * c + i * g
        o = torch.sigmoid(from_x.output + from_h.output + p_o * c)
        h = o * torch.tanh(c)
        offer("gates", input=i, forget=f, candidate=g, output=o)
        return h, State(hidden=h, cell=c)


class LSTMCoupled(LSTM):
    """The forget gate is also the input gate: i = 1 − f (Greff et al. 2015, https://arxiv.org/abs/1503.04069).

    f = σ(x W_xf + h W_hf + b_f)
    g = tanh(x W_xg + h W_hg + b_g)
    o = σ(x W_xo + h W_ho + b_o)
    c' = f ⊙ c + (1 − f) ⊙ g
    h' = o ⊙ tanh(c')
    """

    equation: ClassVar[str | None] = "lstm-coupled"
    parts = ("forget", "candidate", "output")

    def step(self, projected: Float[Tensor, "batch 3*hidden"], state: State) -> Step:
        from_x, from_h = self.split(projected), self.split(self.recur(state["hidden"]))
        f = torch.sigmoid(from_x.forget + from_h.forget)
        g = torch.tanh(from_x.candidate + from_h.candidate)
        o = torch.sigmoid(from_x.output + from_h.output)
        c = f * state["cell"] + (1 - f) * g
        h = o * torch.tanh(c)
        offer("gates", input=1 - f, forget=f, candidate=g, output=o)
        return h, State(hidden=h, cell=c)


class LSTMLayerNorm(LSTM):
    """Layer normalization inside (Ba et al. 2016, https://arxiv.org/abs/1607.06450); each LN has its own parameters.

    i, f, g, o = σ, σ, tanh, σ of the parts of LN(x W_x) + LN(h W_h) + b
    c' = f ⊙ c + i ⊙ g
    h' = o ⊙ tanh(LN(c'))
    """

    equation: ClassVar[str | None] = "lstm-layer-norm"

    def __init__(self, input_size: int, hidden_size: int, *, bias: bool = True) -> None:
        super().__init__(input_size, hidden_size, bias=bias)
        self.input_norm = nn.LayerNorm(4 * hidden_size)
        self.recurrent_norm = nn.LayerNorm(4 * hidden_size)
        self.cell_norm = nn.LayerNorm(hidden_size)

    def project(self, x: Float[Tensor, "*batch input"]) -> Float[Tensor, "*batch 4*hidden"]:
        projected: Tensor = self.input_norm(F.linear(x, self.input_weight))
        return projected if self.bias is None else projected + self.bias

    def step(self, projected: Float[Tensor, "batch 4*hidden"], state: State) -> Step:
        total = self.split(projected + self.recurrent_norm(self.recur(state["hidden"])))
        i, f, o = map(torch.sigmoid, (total.input, total.forget, total.output))
        g = torch.tanh(total.candidate)
        c = f * state["cell"] + i * g
        h = o * torch.tanh(self.cell_norm(c))
        offer("gates", input=i, forget=f, candidate=g, output=o)
        return h, State(hidden=h, cell=c)
