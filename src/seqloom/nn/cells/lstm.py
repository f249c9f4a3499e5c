"""Long short-term memory (Hochreiter & Schmidhuber 1997; forget gate: Gers et al. 2000) and its textbook variants."""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.nn.cells.cell import Cell
from seqloom.nn.record import offer
from seqloom.nn.state import State

Step = tuple[Float[Tensor, "batch hidden"], State]


class MemoryCell(Cell):
    """Carries h and c. The last lines of every variant are its own; the gates are named alike."""

    parts: ClassVar[tuple[str, ...]] = ("input", "forget", "candidate", "output")
    carries = ("hidden", "cell")


class LSTM(MemoryCell):
    """Long short-term memory.

        i = σ(x W_xi + h W_hi + b_i)            how much of the candidate is written
        f = σ(x W_xf + h W_hf + b_f)            how much of the memory is kept
        g = tanh(x W_xg + h W_hg + b_g)         the candidate
        o = σ(x W_xo + h W_ho + b_o)            how much of the memory is shown
        c' = f ⊙ c + i ⊙ g
        h' = o ⊙ tanh(c')

    >>> state = State(hidden=torch.zeros(2, 4), cell=torch.zeros(2, 4))
    >>> cell = LSTM(input_size=3, hidden_size=4)
    >>> hidden, state = cell.step(cell.project(torch.randn(2, 3)), state)
    >>> hidden.shape
    torch.Size([2, 4])
    """

    equation: ClassVar[str | None] = "lstm"

    def step(self, projected: Float[Tensor, "batch 4*hidden"], state: State) -> Step:
        x, h = self.split(projected), self.split(self.recur(state["hidden"]))
        input = torch.sigmoid(x.input + h.input)
        forget = torch.sigmoid(x.forget + h.forget)
        candidate = torch.tanh(x.candidate + h.candidate)
        output = torch.sigmoid(x.output + h.output)
        cell = forget * state["cell"] + input * candidate
        hidden = output * torch.tanh(cell)
        offer("gates", input=input, forget=forget, candidate=candidate, output=output)
        return hidden, State(hidden=hidden, cell=cell)


class LSTMNoTanh(MemoryCell):
    """The memory is shown as it is: h' = o ⊙ c'; gates, candidate and c' as in `LSTM`."""

    equation: ClassVar[str | None] = "lstm-no-tanh"

    def step(self, projected: Float[Tensor, "batch 4*hidden"], state: State) -> Step:
        total = self.split(projected + self.recur(state["hidden"]))
        input, forget, output = map(torch.sigmoid, (total.input, total.forget, total.output))
        candidate = torch.tanh(total.candidate)
        cell = forget * state["cell"] + input * candidate
        hidden = output * cell
        offer("gates", input=input, forget=forget, candidate=candidate, output=output)
        return hidden, State(hidden=hidden, cell=cell)


class LSTMPeephole(MemoryCell):
    """The gates see the memory (Gers & Schmidhuber 2000), each unit its own: p_i, p_f, p_o are vectors.

    i = σ(x W_xi + h W_hi + p_i ⊙ c + b_i)
    f = σ(x W_xf + h W_hf + p_f ⊙ c + b_f)
    g = tanh(x W_xg + h W_hg + b_g)
    c' = f ⊙ c + i ⊙ g
    o = σ(x W_xo + h W_ho + p_o ⊙ c' + b_o)          the output gate sees the new memory
    h' = o ⊙ tanh(c')
    """

    equation: ClassVar[str | None] = "lstm-peephole"

    def __init__(self, input_size: int, hidden_size: int, *, bias: bool = True) -> None:
        super().__init__(input_size, hidden_size, bias=bias)
        self.peepholes = nn.Parameter(torch.zeros(3, hidden_size))  # rows: input, forget, output

    def step(self, projected: Float[Tensor, "batch 4*hidden"], state: State) -> Step:
        x, h = self.split(projected), self.split(self.recur(state["hidden"]))
        see_input, see_forget, see_output = self.peepholes
        input = torch.sigmoid(x.input + h.input + see_input * state["cell"])
        forget = torch.sigmoid(x.forget + h.forget + see_forget * state["cell"])
        candidate = torch.tanh(x.candidate + h.candidate)
        cell = forget * state["cell"] + input * candidate
        output = torch.sigmoid(x.output + h.output + see_output * cell)
        hidden = output * torch.tanh(cell)
        offer("gates", input=input, forget=forget, candidate=candidate, output=output)
        return hidden, State(hidden=hidden, cell=cell)


class LSTMCoupled(MemoryCell):
    """What is forgotten is what is written: i = 1 − f (Greff et al. 2015, https://arxiv.org/abs/1503.04069).

    f = σ(x W_xf + h W_hf + b_f)
    g = tanh(x W_xg + h W_hg + b_g)
    o = σ(x W_xo + h W_ho + b_o)
    c' = f ⊙ c + (1 − f) ⊙ g
    h' = o ⊙ tanh(c')
    """

    equation: ClassVar[str | None] = "lstm-coupled"
    parts = ("forget", "candidate", "output")

    def step(self, projected: Float[Tensor, "batch 3*hidden"], state: State) -> Step:
        x, h = self.split(projected), self.split(self.recur(state["hidden"]))
        forget = torch.sigmoid(x.forget + h.forget)
        candidate = torch.tanh(x.candidate + h.candidate)
        output = torch.sigmoid(x.output + h.output)
        cell = forget * state["cell"] + (1 - forget) * candidate
        hidden = output * torch.tanh(cell)
        offer("gates", input=1 - forget, forget=forget, candidate=candidate, output=output)
        return hidden, State(hidden=hidden, cell=cell)


class LSTMLayerNorm(MemoryCell):
    """Layer normalization inside (Ba et al. 2016, https://arxiv.org/abs/1607.06450); LN has a scale and a shift of
    its own each time.

        i, f, g, o = parts of LN(x W_x) + LN(h W_h) + b, then σ, σ, tanh, σ
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
        input, forget, output = map(torch.sigmoid, (total.input, total.forget, total.output))
        candidate = torch.tanh(total.candidate)
        cell = forget * state["cell"] + input * candidate
        hidden = output * torch.tanh(self.cell_norm(cell))
        offer("gates", input=input, forget=forget, candidate=candidate, output=output)
        return hidden, State(hidden=hidden, cell=cell)
