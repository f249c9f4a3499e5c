"""Bridges: the initial state s_0 of a decoder's body, from the encoder's outputs and final state."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.nn.cells.cell import Cell
from seqloom.nn.layer import Layer
from seqloom.nn.pooling import POOLS
from seqloom.nn.state import State

Memory = Float[Tensor, "batch steps dim"]
Lengths = Int[Tensor, " batch"]


class Bridge(nn.Module, ABC):
    """memory_size: the width of the encoder's outputs; None for any"""

    memory_size: int | None = None

    @abstractmethod
    def forward(self, body: Layer, memory: Memory, lengths: Lengths, final: State | None) -> State:
        """s_0 of the body, from the encoder's outputs and its final state."""


class NoBridge(Bridge):
    """s_0 = the body's own initial state. The decoder knows the source only through the context."""

    def forward(self, body: Layer, memory: Memory, lengths: Lengths, final: State | None) -> State:
        return body.initial(memory.shape[0], memory)


class CopyBridge(Bridge):
    """s_0 = the encoder's final state (Sutskever et al. 2014, https://arxiv.org/abs/1409.3215)."""

    def forward(self, body: Layer, memory: Memory, lengths: Lengths, final: State | None) -> State:
        expected = [[memory.shape[0], *shape] for shape in body.state_shapes().values()]
        shapes = None if final is None else [list(tensor.shape) for tensor in final.values()]
        if final is None or shapes != expected:
            requirement = f"the shapes {expected}, as the decoder's body has; or use LearnedBridge"
            actual = "nothing" if final is None else f"the shapes {shapes}"
            raise ArgumentError("CopyBridge", "the encoder's final state", actual, requirement)
        copied = dict(zip(body.state_shapes(), final.values(), strict=True))  # by order, since names may differ
        return State(copied, position=torch.zeros_like(lengths))


class LearnedBridge(Bridge):
    """s_0 = tanh(W pool(memory) + b), for each tensor of the state (Cho et al. 2014, with the last step as pool).

    It connects any encoder to any decoder. Tensors that are not one vector per row, such as the last inputs of a
    window, come from the body's own initial state.
    """

    def __init__(self, memory_size: int, body: Layer, *, pool: str = "mean") -> None:
        super().__init__()
        vectors = {name: shape[0] for name, shape in body.state_shapes().items() if len(shape) == 1 and shape[0]}
        self.memory_size = memory_size
        self.pool = POOLS[pool](memory_size)
        # A module name can't contain a dot.
        self.maps = nn.ModuleDict({name.replace(".", "/"): nn.Linear(memory_size, n) for name, n in vectors.items()})

    def forward(self, body: Layer, memory: Memory, lengths: Lengths, final: State | None) -> State:
        pooled = self.pool(memory, lengths)
        initial = body.initial(memory.shape[0], memory)
        mapped = {key.replace("/", "."): torch.tanh(linear(pooled)) for key, linear in self.maps.items()}
        return State({**initial, **mapped}, position=initial.position)


def choose_bridge(encoder: Layer, body: Layer) -> Bridge:
    """`CopyBridge` if the cells, sizes and depth are equal, otherwise `LearnedBridge`.

    >>> from seqloom.nn import GRU, LSTM, Recurrent
    >>> choose_bridge(Recurrent(GRU(3, 4)), Recurrent(GRU(5, 4)))
    CopyBridge()
    >>> type(choose_bridge(Recurrent(GRU(3, 4)), Recurrent(LSTM(5, 4)))).__name__
    'LearnedBridge'
    """
    shapes, kinds = body.state_shapes(), cell_types(body)
    same = list(encoder.state_shapes().values()) == list(shapes.values()) and cell_types(encoder) == kinds
    has_cache = any(None in shape for shape in shapes.values())
    # The final state of a layer that is not causal is not at the end of the source.
    if kinds and same and not has_cache and encoder.traits.causal:
        return CopyBridge()
    return LearnedBridge(encoder.output_size, body)


def cell_types(layer: Layer) -> list[type[Cell]]:
    return [type(module) for module in layer.modules() if isinstance(module, Cell)]
