"""The simple recurrent network (Elman 1990), with four activations."""

from abc import abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from seqloom.nn.cells.cell import Cell, Step
from seqloom.nn.state import State


class SimpleCell(Cell):
    """h' = φ(x W_x + h W_h + b)"""

    parts = ("hidden",)

    @abstractmethod
    def activate(self, total: Float[Tensor, "batch hidden"]) -> Float[Tensor, "batch hidden"]:
        """φ"""

    def step(self, projected: Float[Tensor, "batch hidden"], state: State) -> Step:
        hidden = self.activate(projected + self.recur(state["hidden"]))
        return hidden, State(hidden=hidden)


class RNN(SimpleCell):
    """h' = tanh(x W_x + h W_h + b)

    >>> RNN(input_size=3, hidden_size=4).step(torch.zeros(2, 4), State(hidden=torch.zeros(2, 4)))[0].shape
    torch.Size([2, 4])
    """

    equation: ClassVar[str | None] = "rnn"

    def activate(self, total: Float[Tensor, "batch hidden"]) -> Float[Tensor, "batch hidden"]:
        return torch.tanh(total)


class ReluRNN(SimpleCell):
    """h' = max(0, x W_x + h W_h + b)   (Le et al. 2015 initialize W_h as the identity, https://arxiv.org/abs/1504.00941)"""

    equation: ClassVar[str | None] = "rnn-relu"

    def activate(self, total: Float[Tensor, "batch hidden"]) -> Float[Tensor, "batch hidden"]:
        return torch.relu(total)


class SigmoidRNN(SimpleCell):
    """h' = σ(x W_x + h W_h + b)"""

    equation: ClassVar[str | None] = "rnn-sigmoid"

    def activate(self, total: Float[Tensor, "batch hidden"]) -> Float[Tensor, "batch hidden"]:
        return torch.sigmoid(total)


class LinearRNN(SimpleCell):
    """h' = x W_x + h W_h + b

    The one in the vanishing-gradient proof: ∂h_T/∂h_t = (W_hᵀ)^(T−t), so the gradient shrinks or grows with the powers
    of W_h's largest eigenvalue (Pascanu et al. 2013, https://arxiv.org/abs/1211.5063).
    """

    equation: ClassVar[str | None] = "rnn-linear"

    def activate(self, total: Float[Tensor, "batch hidden"]) -> Float[Tensor, "batch hidden"]:
        return total
