"""The three ways to put a sequence through a linear layer: over features, over tokens, over both.

                         weights                what mixes            lengths
    over features        output · input         nothing: each step    any
                                                by itself
    over tokens          length²                positions, the same   up to `length`
                                                way in each feature
    over both            length² output·input   everything            up to `length`

X is a row [time, input_size], and φ an activation by name. A weight for each position is a weight for no other, which is why
the last two have a longest length, can't step, and learn nothing that holds at another position: what convolution,
recurrence and attention mend, each in its own way.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.nn.activations import activation as activation_named
from seqloom.nn.checks import check_count
from seqloom.nn.layer import Layer, Pointwise, Traits
from seqloom.nn.state import State


class DenseOverFeatures(Pointwise):
    """y_t = φ(W x_t + b)

    Takes sequences of any length; no position knows about another.

    >>> y, _ = DenseOverFeatures(3, 4)(torch.randn(2, 5, 3))
    >>> y.shape
    torch.Size([2, 5, 4])
    """

    def __init__(self, input_size: int, output_size: int, *, activation: str = "identity", bias: bool = True) -> None:
        super().__init__()
        self.input_size, self.output_size = input_size, output_size
        self.linear = nn.Linear(input_size, output_size, bias=bias)
        self.activation = activation_named(activation)

    def each(self, x: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch time out"]:
        y: Tensor = self.activation(self.linear(x))
        return y


class DenseOverTokens(Layer):
    """Y = φ(W X + b 1ᵀ), that is y_t = φ(Σ_s W_ts x_s + b_t)

    W: [length, length]; b: [length]. Takes sequences of up to `length` steps: a shorter one uses the first rows and columns of W, so what
    lies beyond it contributes nothing.

    >>> layer = DenseOverTokens(3, length=8)
    >>> y, _ = layer(torch.randn(2, 5, 3))
    >>> y.shape, layer.traits.max_length
    (torch.Size([2, 5, 3]), 8)
    """

    def __init__(self, size: int, length: int, *, activation: str = "identity", bias: bool = True) -> None:
        super().__init__()
        check_count("DenseOverTokens", "length", length)
        self.input_size = self.output_size = size
        self.length = length
        self.linear = nn.Linear(length, length, bias=bias)
        self.activation = activation_named(activation)

    @property
    def traits(self) -> Traits:
        return Traits(causal=False, max_length=self.length)

    def mix(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time dim"], State]:
        time = x.shape[1]
        y = over_tokens(x, self.linear.weight[:time, :time], None if self.linear.bias is None else self.linear.bias[:time])
        return self.activation(y), State()


class DenseOverBoth(Layer):
    """vec(Y) = φ(W vec(X) + b), with vec(X) = [x_1; …; x_T]

    W: [length · output_size, length · input_size]. Takes sequences of up to `length` steps: a shorter one uses the first rows and columns
    of W, so what lies beyond it contributes nothing.

    >>> layer = DenseOverBoth(3, 4, length=8)
    >>> y, _ = layer(torch.randn(2, 5, 3))
    >>> y.shape, layer.linear.weight.shape
    (torch.Size([2, 5, 4]), torch.Size([32, 24]))
    """

    def __init__(
        self, input_size: int, output_size: int, length: int, *, activation: str = "identity", bias: bool = True
    ) -> None:
        super().__init__()
        check_count("DenseOverBoth", "length", length)
        self.input_size, self.output_size = input_size, output_size
        self.length = length
        self.linear = nn.Linear(length * input_size, length * output_size, bias=bias)
        self.activation = activation_named(activation)

    @property
    def traits(self) -> Traits:
        return Traits(causal=False, max_length=self.length)

    def mix(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        time = x.shape[1]
        rows, columns = time * self.output_size, time * self.input_size
        bias = None if self.linear.bias is None else self.linear.bias[:rows]
        y = F.linear(x.flatten(1), self.linear.weight[:rows, :columns], bias)
        return self.activation(y.unflatten(1, (time, self.output_size))), State()


def over_tokens(
    x: Float[Tensor, "batch time dim"], weight: Float[Tensor, "out time"], bias: Float[Tensor, " out"] | None
) -> Float[Tensor, "batch out dim"]:
    """y_t = Σ_s W_ts x_s + b_t

    >>> over_tokens(torch.tensor([[[1.0], [2.0]]]), torch.tensor([[1.0, 1.0]]), bias=torch.tensor([0.5])).item()
    3.5
    """
    y = torch.matmul(weight, x)
    return y if bias is None else y + bias.unsqueeze(1)
