"""A layer with a way around it, and where its norm stands."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor

from seqloom.core.problem import ArgumentError
from seqloom.core.registry import Registry
from seqloom.nn.dropout import Dropout, DropoutBase
from seqloom.nn.layer import Layer
from seqloom.nn.normalization import NORMS
from seqloom.nn.stack import Composite
from seqloom.nn.state import State

Sublayer = Callable[[Tensor], Tensor]


class ResidualBase(Composite):
    """A layer f, what stands around it, and dropout D; what y is made of them is the equation of each kind.

    dropout: by probability, or a layer of your own
    Only f may carry a state.
    """

    def __init__(self, layer: Layer, around: dict[str, Layer], dropout: float | Layer) -> None:
        if layer.input_size != layer.output_size:
            widths = f"input_size {layer.input_size} and output_size {layer.output_size}"
            raise ArgumentError(type(self).__name__, type(layer).__name__, widths, "the same, for x + f(x)")
        size = layer.input_size
        drop = dropout if isinstance(dropout, Layer) else Dropout(size, dropout)
        super().__init__({"layer": layer, **around, "dropout": drop})
        self.input_size = self.output_size = size
        self.around = (*around, "dropout")
        for name in self.around:
            if carried := sorted(self.sublayers()[name].state_shapes()):
                came = f"a {name} that carries {', '.join(carried)}"
                raise ArgumentError(type(self).__name__, name, came, "one without a state", verb="is")

    @abstractmethod
    def combine(self, x: Tensor, *args: Any, **around: Any) -> Tensor:
        """The equation, of x, of the layer, and of each part around it by its name."""

    def mix(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time dim"], State]:
        after = State()

        def layer(x: Tensor) -> Tensor:
            nonlocal after
            y, after = self.run_layer("layer", x, lengths, state)
            return y

        around = {name: partial(self.beside, name, lengths, state) for name in self.around}
        return self.combine(x, layer, **around), State.join({"layer": after})

    def beside(self, name: str, lengths: Tensor | None, state: State, x: Tensor) -> Float[Tensor, "batch time dim"]:
        """A part around the layer, as a function of x: all it knows of the state is the position."""
        part = self.layers[name]
        if isinstance(part, DropoutBase) and not part.training:
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
    """With a norm, by name or a layer of your own."""

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


NORM_ORDERS: Registry[type[NormedResidual]] = Registry("order of norm", {"pre": PreNorm, "post": PostNorm})
