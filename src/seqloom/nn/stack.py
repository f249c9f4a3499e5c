"""Layers composed of layers: `Stack` applies one after the other, `DenseStack` also joins the outputs of all."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.nn.layer import Flags, Layer, Lengths, Memory, Output, Shapes, Traits, Vectors
from seqloom.nn.record import scope
from seqloom.nn.state import State


class Composite(Layer):
    """A layer made of named layers. Its state is theirs under dotted names.

    Traits and state shapes are computed once, here, because a decoding step has little time for it.
    """

    layers: nn.ModuleDict

    def __init__(self, layers: Mapping[str, Layer] | Sequence[Layer]) -> None:
        super().__init__()
        named = layers if isinstance(layers, Mapping) else {str(i): layer for i, layer in enumerate(layers)}
        if not named:
            raise ArgumentError(type(self).__name__, "layers", "nothing", "at least one layer")
        if others := [layer for layer in named.values() if not isinstance(layer, Layer)]:
            expected = "a layer of seqloom.nn; from_torch converts those of torch.nn that have an equivalent"
            raise ArgumentError(type(self).__name__, "a part", type(others[0]).__name__, expected, verb="is a")
        self.layers = nn.ModuleDict(named)
        self._shapes = {
            f"{key}.{name}": shape for key, layer in named.items() for name, shape in layer.state_shapes().items()
        }
        self._traits = Traits.combine(named.values())

    def sublayers(self) -> dict[str, Layer]:
        return dict(self.layers.items())  # type: ignore[arg-type]

    @property
    def traits(self) -> Traits:
        return self._traits

    def state_shapes(self) -> Shapes:
        return dict(self._shapes)

    def initial(self, rows: int, like: Tensor) -> State:
        return State.join({name: layer.initial(rows, like) for name, layer in self.sublayers().items()})

    def start(self, memory: Memory, lengths: Lengths = None, final: State | None = None) -> State:
        return State.join({name: layer.start(memory, lengths, final) for name, layer in self.sublayers().items()})

    def run_layer(self, name: str, x: Tensor, lengths: Tensor | None, state: State) -> Output:
        """Apply the layer of this name, with its substate."""
        with scope(name):
            y, after = self.layers[name](x, lengths, state.substate(name))
        return y, after


class Stack(Composite):
    """y = f_n(… f_2(f_1(x)))

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
            _check_width("Stack", below.output_size, above)
        self.input_size, self.output_size = stacked[0].input_size, stacked[-1].output_size

    def backward_features(self, of_input: Flags | None = None) -> Flags:
        flags = of_input or (False,) * self.input_size
        for layer in self.sublayers().values():
            flags = layer.backward_features(flags)
        return flags

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        after = {}
        for name in self.layers:
            x, after[name] = self.run_layer(name, x, lengths, state)
        return x, State.join(after)


class DenseStack(Composite):
    """Each layer reads the input and the outputs of all layers below; y is all of these (Huang et al. 2017).

    x_k = [x; y_1; …; y_{k−1}]
    y = [x; y_1; …; y_n]
    """

    def __init__(self, layers: Mapping[str, Layer] | Sequence[Layer]) -> None:
        super().__init__(layers)
        stacked = list(self.sublayers().values())
        width = self.input_size = stacked[0].input_size
        for layer in stacked:
            _check_width("DenseStack", width, layer)
            width += layer.output_size
        self.output_size = width

    def backward_features(self, of_input: Flags | None = None) -> Flags:
        flags = of_input or (False,) * self.input_size
        for layer in self.sublayers().values():
            flags += layer.backward_features(flags)
        return flags

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        after = {}
        for name in self.layers:
            y, after[name] = self.run_layer(name, x, lengths, state)
            x = torch.cat([x, y], dim=2)
        return x, State.join(after)


def _check_width(location: str, width: int, layer: Layer) -> None:
    if width != layer.input_size:
        actual, expected = f"input_size {layer.input_size}", f"{width}, the width of its input"
        raise ArgumentError(location, type(layer).__name__, actual, expected)
