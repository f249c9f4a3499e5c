"""Feed-forward layers: each position by itself through a wider layer and back."""

from torch import Tensor, nn

from seqloom.nn.activations import activation as build_activation
from seqloom.nn.dense import Linear
from seqloom.nn.layer import Pointwise, Vectors
from seqloom.nn.validation import check_count, check_probability


class FeedForward(Pointwise):
    """y = φ(x W_1 + b_1) W_2 + b_2

    >>> import torch
    >>> FeedForward(4, hidden_size=16, activation="gelu")(torch.randn(2, 3, 4))[0].shape
    torch.Size([2, 3, 4])
    """

    def __init__(
        self, size: int, hidden_size: int, *, activation: str = "relu", dropout: float = 0.0, bias: bool = True
    ) -> None:
        super().__init__()
        check_count(type(self).__name__, "size", size)
        check_count(type(self).__name__, "hidden_size", hidden_size)
        check_probability(type(self).__name__, "dropout", dropout)
        self.input_size = self.output_size = size
        self.widen: nn.Linear = Linear(size, hidden_size, bias=bias)
        self.activation = build_activation(activation)
        self.dropout = nn.Dropout(dropout)
        self.narrow: nn.Linear = Linear(hidden_size, size, bias=bias)

    def transform(self, x: Vectors) -> Vectors:
        y: Tensor = self.narrow(self.dropout(self.activation(self.widen(x))))
        return y


class GatedFeedForward(FeedForward):
    """y = (φ(x W_g) ⊙ x W_1) W_2   (Shazeer 2020, https://arxiv.org/abs/2002.05202; SwiGLU with φ = swish)"""

    def __init__(
        self, size: int, hidden_size: int, *, activation: str = "swish", dropout: float = 0.0, bias: bool = False
    ) -> None:
        super().__init__(size, hidden_size, activation=activation, dropout=dropout, bias=bias)
        self.gate = Linear(size, hidden_size, bias=bias)

    def transform(self, x: Vectors) -> Vectors:
        y: Tensor = self.narrow(self.dropout(self.activation(self.gate(x)) * self.widen(x)))
        return y
