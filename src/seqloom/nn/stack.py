"""Layers on layers."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.nn.layer import Layer, Shapes, Traits
from seqloom.nn.record import scope
from seqloom.nn.state import State


class Composite(Layer):
    """A layer made of named layers, whose state is theirs under dotted names.

    What they promise and carry is asked once, here: a step of decoding has little time for it.
    """

    layers: nn.ModuleDict

    def __init__(self, layers: Mapping[str, Layer] | Sequence[Layer]) -> None:
        super().__init__()
        named = layers if isinstance(layers, Mapping) else {str(i): layer for i, layer in enumerate(layers)}
        if not named:
            raise ArgumentError(type(self).__name__, "layers", "nothing", "at least one layer")
        for layer in named.values():
            check_layer(type(self).__name__, layer)
        self.layers = nn.ModuleDict(named)
        inner = ((part, layer.state_shapes()) for part, layer in named.items())
        self._shapes = {f"{part}.{name}": shape for part, shapes in inner for name, shape in shapes.items()}
        self._traits = Traits.of_all(named.values())

    def sublayers(self) -> dict[str, Layer]:
        """The layers by name."""
        return dict(self.layers.items())  # type: ignore[arg-type]

    @property
    def traits(self) -> Traits:
        return self._traits

    def state_shapes(self) -> Shapes:
        return dict(self._shapes)

    def initial(self, rows: int, like: Tensor) -> State:
        return State.join({name: layer.initial(rows, like) for name, layer in self.sublayers().items()})

    def start(
        self,
        memory: Float[Tensor, "batch steps memory_size"],
        lengths: Int[Tensor, " batch"] | None = None,
        final: State | None = None,
    ) -> State:
        return State.join({name: layer.start(memory, lengths, final) for name, layer in self.sublayers().items()})

    def run_layer(
        self, name: str, x: Tensor, lengths: Tensor | None, state: State
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        """One of the layers, with its own part of the state."""
        with scope(name):
            y, after = self.layers[name](x, lengths, state.substate(name))
        return y, after


class Stack(Composite):
    """Each layer reads the one below: y = f_n(… f_2(f_1(x))).

    >>> from seqloom.nn import GRU, Recurrent
    >>> deep = Stack([Recurrent(GRU(3, 4)), Recurrent(GRU(4, 5))])
    >>> y, state = deep(torch.randn(2, 6, 3))
    >>> y.shape, sorted(state)
    (torch.Size([2, 6, 5]), ['0.hidden', '1.hidden'])
    """

    def __init__(self, layers: Mapping[str, Layer] | Sequence[Layer]) -> None:
        super().__init__(layers)
        stacked = list(self.sublayers().values())
        for below, above in pairwise(stacked):
            _check_meets("Stack", below.output_size, above)
        self.input_size, self.output_size = stacked[0].input_size, stacked[-1].output_size

    def mix(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        after = {}
        for name in self.layers:
            x, after[name] = self.run_layer(name, x, lengths, state)
        return x, State.join(after)


class DenseStack(Composite):
    """Each layer reads the input and all layers below, and so does whoever reads the stack (Huang et al. 2017).

    x_k = [x; y_1; …; y_{k−1}]
    y = [x; y_1; …; y_n]
    """

    def __init__(self, layers: Mapping[str, Layer] | Sequence[Layer]) -> None:
        super().__init__(layers)
        stacked = list(self.sublayers().values())
        width = self.input_size = stacked[0].input_size
        for layer in stacked:
            _check_meets("DenseStack", width, layer)
            width += layer.output_size
        self.output_size = width

    def mix(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        after = {}
        for name in self.layers:
            y, after[name] = self.run_layer(name, x, lengths, state)
            x = torch.cat([x, y], dim=2)
        return x, State.join(after)


def check_layer(where: str, layer: object) -> None:
    """A part that keeps the contract."""
    if not isinstance(layer, Layer):
        expected = "a layer of seqloom.nn; from_torch converts those of torch.nn that have an equal"
        raise ArgumentError(where, "a part", type(layer).__name__, expected, verb="is a")


def _check_meets(where: str, width: int, above: Layer) -> None:
    if width != above.input_size:
        reads = f"input_size {above.input_size}"
        raise ArgumentError(where, type(above).__name__, reads, f"{width}, the width of what it is given")
