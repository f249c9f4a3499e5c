"""Three linear layers over a sequence: over features, over tokens, over both.

                         weights                what mixes               lengths
    over features        output · input         nothing: each step       any
                                                by itself
    over tokens          length²                positions, each feature  up to `length`
                                                with the same weights
    over both            length² output·input   everything               up to `length`

X is a row [time, input_size], and φ an activation by name. The last two have weights for each position. So they have a
maximum length, can't step, and what they learn at one position they don't know at the next. Convolution, recurrence and
attention each solve that in their own way.
"""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.kernels.linear import linear
from seqloom.nn.activations import activation as build_activation
from seqloom.nn.layer import Layer, Lengths, Output, Pointwise, Traits, Vectors
from seqloom.nn.state import State
from seqloom.nn.validation import check_count


class Linear(nn.Linear):
    """`nn.Linear` computed by `kernels.linear`, which is faster in decoding; for use in other layers and heads."""

    def forward(self, x: Float[Tensor, "*batch in"]) -> Float[Tensor, "*batch out"]:
        return linear(x, self.weight, self.bias)


class DenseOverFeatures(Pointwise):
    """y_t = φ(W x_t + b)

    Takes sequences of any length; no position depends on another.

    >>> y, _ = DenseOverFeatures(3, 4)(torch.randn(2, 5, 3))
    >>> y.shape
    torch.Size([2, 5, 4])
    """

    def __init__(self, input_size: int, output_size: int, *, activation: str = "identity", bias: bool = True) -> None:
        super().__init__()
        self.input_size, self.output_size = input_size, output_size
        self.linear = nn.Linear(input_size, output_size, bias=bias)
        self.activation = build_activation(activation)

    def transform(self, x: Vectors) -> Float[Tensor, "batch time out"]:
        y: Tensor = self.activation(self.linear(x))
        return y


class FixedLengthLayer(Layer):
    """A layer with weights for each of `length` positions, so for at most that many steps, in one call."""

    needs_zeros = True

    def __init__(self, input_size: int, output_size: int, length: int) -> None:
        super().__init__()
        check_count(type(self).__name__, "length", length)
        self.input_size, self.output_size, self.length = input_size, output_size, length

    @property
    def traits(self) -> Traits:
        return Traits(causal=False, max_length=self.length)


class DenseOverTokens(FixedLengthLayer):
    """Y = φ(W X + b 1ᵀ), that is y_t = φ(Σ_s W_ts x_s + b_t)

    W: [length, length]; b: [length]. Takes sequences of up to `length` steps, in one call. A shorter one uses the
    first rows and columns of W, so padding contributes nothing.

    >>> layer = DenseOverTokens(3, length=8)
    >>> y, _ = layer(torch.randn(2, 5, 3))
    >>> y.shape, layer.traits.max_length
    (torch.Size([2, 5, 3]), 8)
    """

    def __init__(self, size: int, length: int, *, activation: str = "identity", bias: bool = True) -> None:
        super().__init__(size, size, length)
        self.linear = nn.Linear(length, length, bias=bias)
        self.activation = build_activation(activation)

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        return self.activation(over_tokens(x, self.linear, steps=x.shape[1])), State()


class DenseOverBoth(FixedLengthLayer):
    """vec(Y) = φ(W vec(X) + b), with vec(X) = [x_1; …; x_T]

    W: [length · output_size, length · input_size]. Takes sequences of up to `length` steps, in one call. A shorter
    one uses the first rows and columns of W, so padding contributes nothing.

    >>> layer = DenseOverBoth(3, 4, length=8)
    >>> y, _ = layer(torch.randn(2, 5, 3))
    >>> y.shape, layer.linear.weight.shape
    (torch.Size([2, 5, 4]), torch.Size([32, 24]))
    """

    def __init__(
        self, input_size: int, output_size: int, length: int, *, activation: str = "identity", bias: bool = True
    ) -> None:
        super().__init__(input_size, output_size, length)
        self.linear = nn.Linear(length * input_size, length * output_size, bias=bias)
        self.activation = build_activation(activation)

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        time = x.shape[1]
        y = F.linear(x.flatten(1), *corner(self.linear, time * self.output_size, time * self.input_size))
        return self.activation(y.unflatten(1, (time, self.output_size))), State()


def over_tokens(x: Vectors, linear: nn.Linear, steps: int) -> Float[Tensor, "batch {steps} dim"]:
    """y_t = Σ_s W_ts x_s + b_t, for the first `steps` rows of Y

    >>> over_tokens(torch.randn(2, 5, 3), nn.Linear(8, 6), steps=4).shape
    torch.Size([2, 4, 3])
    """
    return F.linear(x.transpose(1, 2), *corner(linear, steps, x.shape[1])).transpose(1, 2)


def corner(
    linear: nn.Linear, rows: int, columns: int
) -> tuple[Float[Tensor, "{rows} {columns}"], Float[Tensor, " {rows}"] | None]:
    """The first rows and columns of W, and the first rows of b."""
    bias: Tensor | None = linear.bias
    return linear.weight[:rows, :columns], None if bias is None else bias[:rows]
