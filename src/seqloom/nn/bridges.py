"""From the end of an encoder to the beginning of a decoder."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.nn.layer import Layer
from seqloom.nn.pooling import POOLS
from seqloom.nn.state import State
from seqloom.spec.errors import ArgumentError


class Bridge(nn.Module, ABC):
    """The state in which a decoder's body begins."""

    @abstractmethod
    def forward(
        self, body: Layer, memory: Float[Tensor, "batch steps dim"], lengths: Int[Tensor, " batch"], final: State | None
    ) -> State:
        """The body's first state, from the encoder's outputs and the state in which it ended."""


class Fresh(Bridge):
    """The body begins as if there were no encoder; what it knows of the source comes from the context alone."""

    def forward(
        self, body: Layer, memory: Float[Tensor, "batch steps dim"], lengths: Int[Tensor, " batch"], final: State | None
    ) -> State:
        return body.initial(memory.shape[0], memory)


class Carry(Bridge):
    """s_0 = the encoder's final state itself (Sutskever et al. 2014, https://arxiv.org/abs/1409.3215)."""

    def forward(
        self, body: Layer, memory: Float[Tensor, "batch steps dim"], lengths: Int[Tensor, " batch"], final: State | None
    ) -> State:
        if final is None or set(final) != set(body.state_shapes()):
            came = "no final state" if final is None else f"a final state of {sorted(final)}"
            expected = f"{sorted(body.state_shapes())}, as the decoder's body has; or use LearnedBridge"
            raise ArgumentError("Carry", "the encoder", came, expected)
        return final.at(torch.zeros_like(lengths), 0)


class LearnedBridge(Bridge):
    """s_0 = tanh(W pool(memory) + b), for each tensor of the state (Cho et al. 2014; Bahdanau et al. 2014).

    So any encoder goes with any decoder. Tensors that are not one vector a row (the last inputs of a window, say) begin as the body has them.
    """

    def __init__(self, memory_size: int, body: Layer, *, pool: str = "mean") -> None:
        super().__init__()
        vectors = {name: shape[0] for name, shape in body.state_shapes().items() if len(shape) == 1 and shape[0]}
        self.pool = POOLS[pool](memory_size)
        self.maps = nn.ModuleDict({_key(name): nn.Linear(memory_size, size) for name, size in vectors.items()})

    def forward(
        self, body: Layer, memory: Float[Tensor, "batch steps dim"], lengths: Int[Tensor, " batch"], final: State | None
    ) -> State:
        pooled = self.pool(memory, lengths)
        begun = body.initial(memory.shape[0], memory)
        mapped = {name: torch.tanh(self.maps[_key(name)](pooled)) for name in begun if _key(name) in self.maps}
        return State({**begun, **mapped}, position=begun.position)


def bridge(encoder: Layer, body: Layer) -> Bridge:
    """The encoder's final state where cells and depth agree, a learned map otherwise.

    >>> from seqloom.nn import GRU, LSTM, Recurrent
    >>> bridge(Recurrent(GRU(3, 4)), Recurrent(GRU(5, 4)))
    Carry()
    >>> type(bridge(Recurrent(GRU(3, 4)), Recurrent(LSTM(5, 4)))).__name__
    'LearnedBridge'
    """
    shapes = body.state_shapes()
    if shapes and encoder.state_shapes() == shapes and all(None not in shape for shape in shapes.values()):
        return Carry()
    return LearnedBridge(encoder.output_size, body)


def _key(name: str) -> str:
    """A module's name may not hold a dot."""
    return name.replace(".", "/")
