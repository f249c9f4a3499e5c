"""Residual connections with dropout and a norm."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor

from seqloom.core.problem import ArgumentError
from seqloom.core.registry import Registry
from seqloom.nn.dropout import Dropout, DropoutBase
from seqloom.nn.layer import Flags, Layer, Lengths, Output, Vectors
from seqloom.nn.normalization import NORMS
from seqloom.nn.stack import Composite
from seqloom.nn.state import State

Sublayer = Callable[[Tensor], Tensor]


class ResidualBase(Composite):
    """A layer f with dropout D and, in some subclasses, a norm; `combine` computes y from them.

    dropout: a probability or a layer

    Only f may have a state.
    """

    def __init__(self, layer: Layer, stateless: dict[str, Layer], dropout: float | Layer) -> None:
        if layer.input_size != layer.output_size:
            widths = f"input_size {layer.input_size} and output_size {layer.output_size}"
            raise ArgumentError(type(self).__name__, type(layer).__name__, widths, "the same, for x + f(x)")
        size = layer.input_size
        stateless = {**stateless, "dropout": dropout if isinstance(dropout, Layer) else Dropout(size, dropout)}
        super().__init__({"layer": layer, **stateless})
        self.input_size = self.output_size = size
        self.stateless = tuple(stateless)
        for name, sublayer in stateless.items():
            if names := sorted(sublayer.state_shapes()):
                actual = f"a {name} that carries {', '.join(names)}"
                raise ArgumentError(type(self).__name__, name, actual, "one without a state", verb="is")

    @abstractmethod
    def combine(self, x: Tensor, *layer: Any, **stateless: Any) -> Tensor:
        """The equation for y; the sublayers are functions of one tensor."""

    def backward_features(self, of_input: Flags | None = None) -> Flags:
        """A feature of x + f(x) is complete where the network from the end has read all, if one of the two is its."""
        of_input = of_input or (False,) * self.input_size
        of_layer = self.sublayers()["layer"].backward_features(of_input)
        return tuple(x or f for x, f in zip(of_input, of_layer, strict=True))

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        new_state = State()

        def layer(x: Tensor) -> Tensor:
            nonlocal new_state
            y, new_state = self.run_layer("layer", x, lengths, state)
            return y

        stateless = {name: partial(self._run_stateless, name, lengths, state) for name in self.stateless}
        return self.combine(x, layer, **stateless), State.join({"layer": new_state})

    def _run_stateless(self, name: str, lengths: Tensor | None, state: State, x: Tensor) -> Vectors:
        sublayer = self.layers[name]
        if isinstance(sublayer, DropoutBase) and not sublayer.training:
            return x
        return self.run_layer(name, x, lengths, state)[0]


class Residual(ResidualBase):
    """y = x + D(f(x))   (He et al. 2016)

    >>> from seqloom.nn import GRU, Recurrent
    >>> Residual(Recurrent(GRU(4, 4))).traits.causal
    True
    """

    def __init__(self, layer: Layer, *, dropout: float | Layer = 0.0) -> None:
        super().__init__(layer, {}, dropout)

    def combine(self, x: Tensor, layer: Sublayer, dropout: Sublayer) -> Tensor:
        return x + dropout(layer(x))


class NormedResidual(ResidualBase):
    """A residual connection with a norm: a name in `NORMS`, or a layer."""

    def __init__(self, layer: Layer, *, norm: str | Layer = "none", dropout: float | Layer = 0.0) -> None:
        norm = NORMS[norm](layer.input_size) if isinstance(norm, str) else norm
        super().__init__(layer, {"norm": norm}, dropout)


class PreNorm(NormedResidual):
    """y = x + D(f(norm(x)))   (GPT-2; https://arxiv.org/abs/2002.04745)"""

    def combine(self, x: Tensor, layer: Sublayer, norm: Sublayer, dropout: Sublayer) -> Tensor:
        return x + dropout(layer(norm(x)))


class PostNorm(NormedResidual):
    """y = norm(x + D(f(x)))   (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762)"""

    def combine(self, x: Tensor, layer: Sublayer, norm: Sublayer, dropout: Sublayer) -> Tensor:
        return norm(x + dropout(layer(x)))


NORM_ORDERS: Registry[type[NormedResidual]] = Registry("norm order", {"pre": PreNorm, "post": PostNorm})
