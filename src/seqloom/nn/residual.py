"""A layer with a way around it, and where its norm stands."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial

from jaxtyping import Float, Int
from torch import Tensor

from seqloom.nn.dropout import Dropout
from seqloom.nn.layer import Layer
from seqloom.nn.normalisation import NORMS
from seqloom.nn.stack import Composite
from seqloom.nn.state import State
from seqloom.spec.errors import ArgumentError
from seqloom.spec.registry import Registry

Sublayer = Callable[[Tensor], Tensor]


class AnyResidual(Composite):
    """A layer f, a norm and dropout D; what y is made of them is the equation of each kind.

    norm, dropout: by name and by probability, or as layers of your own
    """

    def __init__(self, layer: Layer, *, norm: str | Layer = "none", dropout: float | Layer = 0.0) -> None:
        if layer.input_size != layer.output_size:
            widths = f"input_size {layer.input_size} and output_size {layer.output_size}"
            raise ArgumentError(type(self).__name__, type(layer).__name__, widths, "the same, for x + f(x)")
        size = layer.input_size
        parts = {"layer": layer, "norm": NORMS[norm](size) if isinstance(norm, str) else norm}
        super().__init__({**parts, "dropout": dropout if isinstance(dropout, Layer) else Dropout(size, dropout)})
        self.input_size = self.output_size = size

    @abstractmethod
    def combine(self, x: Tensor, layer: Sublayer, norm: Sublayer, dropout: Sublayer) -> Tensor:
        """The equation."""

    def mix(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time dim"], State]:
        after: dict[str, State] = {}
        layer, norm, dropout = (
            partial(self._keep_state, after, name, lengths, state) for name in ("layer", "norm", "dropout")
        )
        return self.combine(x, layer, norm, dropout), State.join(after)

    def _keep_state(
        self, after: dict[str, State], name: str, lengths: Tensor | None, state: State, x: Tensor
    ) -> Float[Tensor, "batch time dim"]:
        """One part as a function of x alone; the state after it is put aside."""
        y, after[name] = self.run_part(name, x, lengths, state)
        return y


class Residual(AnyResidual):
    """y = x + D(f(x))   (He et al. 2016)

    >>> from seqloom.nn import GRU, Recurrent
    >>> Residual(Recurrent(GRU(4, 4))).traits.causal
    True
    """

    def __init__(self, layer: Layer, *, dropout: float | Layer = 0.0) -> None:
        super().__init__(layer, dropout=dropout)

    def combine(self, x: Tensor, layer: Sublayer, norm: Sublayer, dropout: Sublayer) -> Tensor:
        return x + dropout(layer(x))


class PreNorm(AnyResidual):
    """y = x + D(f(norm(x)))   (GPT-2; https://arxiv.org/abs/2002.04745)"""

    def combine(self, x: Tensor, layer: Sublayer, norm: Sublayer, dropout: Sublayer) -> Tensor:
        return x + dropout(layer(norm(x)))


class PostNorm(AnyResidual):
    """y = norm(x + D(f(x)))   (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762)"""

    def combine(self, x: Tensor, layer: Sublayer, norm: Sublayer, dropout: Sublayer) -> Tensor:
        return norm(x + dropout(layer(x)))


ORDERS: Registry[type[AnyResidual]] = Registry("order of norm", {"pre": PreNorm, "post": PostNorm})
