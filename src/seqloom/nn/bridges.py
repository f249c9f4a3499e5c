"""From the end of an encoder to the beginning of a decoder."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.nn.cells.cell import Cell
from seqloom.nn.layer import Layer
from seqloom.nn.pooling import POOLS
from seqloom.nn.state import State


class Bridge(nn.Module, ABC):
    """The state in which a decoder's body begins.

    memory_size: the width of the encoder's outputs; None where it does not matter
    """

    memory_size: int | None = None

    @abstractmethod
    def forward(
        self, body: Layer, memory: Float[Tensor, "batch steps dim"], lengths: Int[Tensor, " batch"], final: State | None
    ) -> State:
        """The body's first state, from the encoder's outputs and the state in which it ended."""


class NoBridge(Bridge):
    """The body begins as if there were no encoder; what it knows of the source comes from the context alone."""

    def forward(
        self, body: Layer, memory: Float[Tensor, "batch steps dim"], lengths: Int[Tensor, " batch"], final: State | None
    ) -> State:
        return body.initial(memory.shape[0], memory)


class CopyBridge(Bridge):
    """s_0 = the encoder's final state itself (Sutskever et al. 2014, https://arxiv.org/abs/1409.3215)."""

    def forward(
        self, body: Layer, memory: Float[Tensor, "batch steps dim"], lengths: Int[Tensor, " batch"], final: State | None
    ) -> State:
        wanted = [[memory.shape[0], *shape] for shape in body.state_shapes().values()]
        came = None if final is None else [list(tensor.shape) for tensor in final.values()]
        if final is None or came != wanted:
            expected = f"the shapes {wanted}, as the decoder's body has; or use LearnedBridge"
            told = "nothing" if final is None else f"the shapes {came}"
            raise ArgumentError("CopyBridge", "the encoder's final state", told, expected)
        begun = dict(zip(body.state_shapes(), final.values(), strict=True))  # by order: names of parts may differ
        return State(begun, position=torch.zeros_like(lengths))


class LearnedBridge(Bridge):
    """s_0 = tanh(W pool(memory) + b), for each tensor of the state (Cho et al. 2014, who pool by the last step).

    So any encoder goes with any decoder. Tensors that are not one vector a row (the last inputs of a window, say) begin
    as the body has them.
    """

    def __init__(self, memory_size: int, body: Layer, *, pool: str = "mean") -> None:
        super().__init__()
        vectors = {name: shape[0] for name, shape in body.state_shapes().items() if len(shape) == 1 and shape[0]}
        self.memory_size = memory_size
        self.pool = POOLS[pool](memory_size)
        self.maps = nn.ModuleDict({_key(name): nn.Linear(memory_size, size) for name, size in vectors.items()})

    def forward(
        self, body: Layer, memory: Float[Tensor, "batch steps dim"], lengths: Int[Tensor, " batch"], final: State | None
    ) -> State:
        pooled = self.pool(memory, lengths)
        begun = body.initial(memory.shape[0], memory)
        mapped = {name: torch.tanh(self.maps[_key(name)](pooled)) for name in begun if _key(name) in self.maps}
        return State({**begun, **mapped}, position=begun.position)


def choose_bridge(encoder: Layer, body: Layer) -> Bridge:
    """The encoder's final state where cells, sizes and depth agree, a learned map otherwise.

    >>> from seqloom.nn import GRU, LSTM, Recurrent
    >>> choose_bridge(Recurrent(GRU(3, 4)), Recurrent(GRU(5, 4)))
    CopyBridge()
    >>> type(choose_bridge(Recurrent(GRU(3, 4)), Recurrent(LSTM(5, 4)))).__name__
    'LearnedBridge'
    """
    shapes, kinds = body.state_shapes(), cells(body)
    fixed = all(None not in shape for shape in shapes.values())  # a cache is not a state to begin with
    same = list(encoder.state_shapes().values()) == list(shapes.values()) and cells(encoder) == kinds
    one_way = encoder.traits.causal  # the end of a backward layer is the start of the source
    if kinds and fixed and same and one_way:
        return CopyBridge()
    return LearnedBridge(encoder.output_size, body)


def cells(layer: Layer) -> list[type[Cell]]:
    """The kinds of its cells, from the first layer up."""
    return [type(part) for part in layer.modules() if isinstance(part, Cell)]


def _key(name: str) -> str:
    """A module's name may not hold a dot."""
    return name.replace(".", "/")
