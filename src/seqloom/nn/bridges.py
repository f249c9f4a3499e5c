"""Bridges: the initial state s_0 of a decoder's body, from the encoder's final state or its outputs m_1 … m_n.

last        s_0 = [→h_n; ←h_1], of an LSTM c too     Sutskever et al. 2014
last-map    s_0 = tanh(W [→h_n; ←h_1] + b)           Bahdanau et al. 2014, with ←h_1 alone; Cho et al. 2014
mean        s_0 = 1/n Σ_t m_t
mean-map    s_0 = tanh(W 1/n Σ_t m_t + b)
none        s_0 = the decoder's own
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.core.registry import Registry
from seqloom.nn.cells.cell import Cell
from seqloom.nn.layer import Layer
from seqloom.nn.pooling import POOLS, MeanPool
from seqloom.nn.recurrent import Bidirectional
from seqloom.nn.stack import Composite
from seqloom.nn.state import State

Memory = Float[Tensor, "batch steps dim"]
Lengths = Int[Tensor, " batch"]
Names = tuple[str, ...]  # of tensors in a state: one, or those of both directions


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


class LastBridge(Bridge):
    """s_0 = the encoder's final state, copied layer by layer (Sutskever et al. 2014, https://arxiv.org/abs/1409.3215).

        s_0^k = h_n^k               of a layer that reads forwards: its state at the row's own end
        s_0^k = [→h_n^k; ←h_1^k]    of a bidirectional layer: the backward state is that at the row's start

    An LSTM's c likewise. The layers of encoder and body must have states of the same shapes.

    >>> from seqloom.nn import GRU, Bidirectional, Recurrent
    >>> encoder, body = Bidirectional(Recurrent(GRU(3, 2)), Recurrent(GRU(3, 2))), Recurrent(GRU(5, 4))
    >>> memory, final = encoder(torch.randn(2, 7, 3), lengths=torch.tensor([7, 5]))
    >>> state = LastBridge(encoder, body)(body, memory, torch.tensor([7, 5]), final)
    >>> torch.equal(state["hidden"], torch.cat([memory[[0, 1], [6, 4], :2], memory[:, 0, 2:]], dim=1))
    True
    """

    def __init__(self, encoder: Layer, body: Layer) -> None:
        super().__init__()
        if not fits(encoder, body):
            requirement = f"the shapes {shape_levels(body)}, as the decoder's body has; or use LastMapBridge (last-map)"
            actual = f"the shapes {shape_levels(encoder)}"
            raise ArgumentError("LastBridge", "the encoder's final state", actual, requirement)
        self.sources: dict[str, Names] = {}
        for target, level in zip(state_levels(body), state_levels(encoder), strict=True):
            for (name,), names in zip(target.values(), level.values(), strict=True):  # by order: their names may differ
                self.sources[name] = names

    def forward(self, body: Layer, memory: Memory, lengths: Lengths, final: State | None) -> State:
        copied = read_final("LastBridge", final, self.sources, memory.shape[0])
        return State(copied, position=torch.zeros_like(lengths))


class LastMapBridge(Bridge):
    """s_0 = tanh(W e + b), for each vector of each layer's state, from the encoder's final state at that layer.

        e = [→h_n^k; ←h_1^k]    h_n^k alone if the encoder's layer k reads one way
        e = [→c_n^k; ←c_1^k]    for a c, if the encoder has one (otherwise as for h)

    If the depths differ, all layers read the encoder's top layer. Bahdanau et al. (2014) map ←h_1 alone. Tensors that
    are not one vector per row come from the body's own initial state.

    An encoder that carries no vectors, such as a Transformer, has no final state: see `LearnedBridge`.
    """

    def __init__(self, encoder: Layer, body: Layer) -> None:
        super().__init__()
        targets, levels = vector_levels(body), vector_levels(encoder)
        for role, vectors in (("the encoder", levels), ("the decoder's body", targets)):
            if not vectors:
                requirement = "at least one vector per row, such as an h; or use LearnedBridge (mean-map)"
                raise ArgumentError("LastMapBridge", f"the state of {role}", "no vectors", requirement)
        if len(levels) != len(targets):
            levels = levels[-1:] * len(targets)
        self.sources: dict[str, Names] = {}
        for target, level in zip(targets, levels, strict=True):
            for tensor, (name,) in target.items():
                self.sources[name] = level.get(tensor) or next(iter(level.values()))
        of_encoder, of_body = vector_widths(encoder), vector_widths(body)
        widths = {name: sum(of_encoder[source] for source in names) for name, names in self.sources.items()}
        self.maps = nn.ModuleDict({module_name(name): nn.Linear(widths[name], n) for name, n in of_body.items()})

    def forward(self, body: Layer, memory: Memory, lengths: Lengths, final: State | None) -> State:
        initial = body.initial(memory.shape[0], memory)
        vectors = read_final("LastMapBridge", final, self.sources, memory.shape[0])
        mapped = {name: torch.tanh(self.maps[module_name(name)](e)) for name, e in vectors.items()}
        return State({**initial, **mapped}, position=initial.position)


class MeanBridge(Bridge):
    """h_0 = 1/n Σ_t m_t, the mean of the encoder's outputs, in each layer.

    The rest of the state, such as the c of an LSTM, is the body's own initial state.
    """

    def __init__(self, encoder: Layer, body: Layer) -> None:
        super().__init__()
        self.memory_size = encoder.output_size
        self.pool = MeanPool(encoder.output_size)
        self.names = [next(iter(level.values()))[0] for level in vector_levels(body)]
        widths = [vector_widths(body)[name] for name in self.names]
        if set(widths) != {encoder.output_size}:
            requirement = f"{encoder.output_size}, the width of the encoder's outputs; or use LearnedBridge (mean-map)"
            raise ArgumentError("MeanBridge", "the decoder's body", f"states of the widths {widths}", requirement)

    def forward(self, body: Layer, memory: Memory, lengths: Lengths, final: State | None) -> State:
        initial = body.initial(memory.shape[0], memory)
        mean = self.pool(memory, lengths)
        return State({**initial, **dict.fromkeys(self.names, mean)}, position=initial.position)


class LearnedBridge(Bridge):
    """s_0 = tanh(W pool(memory) + b), for each vector of the state; by default the mean of the encoder's outputs.

    It connects any encoder to any decoder. Tensors that are not one vector per row, such as the last inputs of a
    window, come from the body's own initial state.
    """

    def __init__(self, memory_size: int, body: Layer, *, pool: str = "mean") -> None:
        super().__init__()
        self.memory_size = memory_size
        self.pool = POOLS[pool](memory_size)
        widths = vector_widths(body)
        self.maps = nn.ModuleDict({module_name(name): nn.Linear(memory_size, n) for name, n in widths.items()})

    def forward(self, body: Layer, memory: Memory, lengths: Lengths, final: State | None) -> State:
        pooled = self.pool(memory, lengths)
        initial = body.initial(memory.shape[0], memory)
        mapped = {key.replace("/", "."): torch.tanh(linear(pooled)) for key, linear in self.maps.items()}
        return State({**initial, **mapped}, position=initial.position)


def choose_bridge(encoder: Layer, body: Layer) -> Bridge:
    """`LastBridge` if the encoder reads one way and has the body's cells, sizes and depth, otherwise `LearnedBridge`.

    >>> from seqloom.nn import GRU, LSTM, Recurrent
    >>> choose_bridge(Recurrent(GRU(3, 4)), Recurrent(GRU(5, 4)))
    LastBridge()
    >>> type(choose_bridge(Recurrent(GRU(3, 4)), Recurrent(LSTM(5, 4)))).__name__
    'LearnedBridge'
    """
    kinds = cell_types(body)
    if kinds and cell_types(encoder) == kinds and encoder.traits.causal and fits(encoder, body):
        return LastBridge(encoder, body)
    return mean_map(encoder, body)


def cell_types(layer: Layer) -> list[type[Cell]]:
    return [type(module) for module in layer.modules() if isinstance(module, Cell)]


def mean_map(encoder: Layer, body: Layer) -> LearnedBridge:
    return LearnedBridge(encoder.output_size, body)


def no_bridge(encoder: Layer, body: Layer) -> NoBridge:
    return NoBridge()


BRIDGES: Registry[Callable[[Layer, Layer], Bridge]] = Registry(
    "bridge",
    {
        "last": LastBridge,
        "last-map": LastMapBridge,
        "mean": MeanBridge,
        "mean-map": mean_map,
        "source": choose_bridge,
        "none": no_bridge,
    },
)


# The state of a stack, layer by layer ---------------------------------------------------------------------------------


def state_levels(layer: Layer) -> list[dict[str, Names]]:
    """The layers that carry a state, from the bottom: for each tensor its name in the state of the stack.

    A bidirectional layer has two names for each.

    >>> from seqloom.nn import recurrent_stack
    >>> state_levels(recurrent_stack("gru", 3, 4, depth=2, bidirectional=True, connection="residual"))[1]
    {'hidden': ('1.layer.forwards.hidden', '1.layer.backwards.reversed.hidden')}
    """
    if not isinstance(layer, Composite):
        names = list(layer.state_shapes())
        return [{name: (name,) for name in names}] if names else []
    levels = [
        {tensor: tuple(f"{key}.{name}" for name in names) for tensor, names in level.items()}
        for key, part in layer.sublayers().items()
        for level in state_levels(part)
    ]
    if not isinstance(layer, Bidirectional):
        return levels
    forwards, backwards = levels
    return [{tensor: forwards.get(tensor, ()) + backwards.get(tensor, ()) for tensor in {**forwards, **backwards}}]


def vector_levels(layer: Layer) -> list[dict[str, Names]]:
    """The same, of tensors that are one vector per row: an h or a c, no cache."""
    vectors = vector_widths(layer)
    levels = [
        {tensor: names for tensor, names in level.items() if vectors.keys() >= set(names)}
        for level in state_levels(layer)
    ]
    return [level for level in levels if level]


def vector_widths(layer: Layer) -> dict[str, int]:
    """The widths of the tensors in a state that are one vector per row."""
    return {name: shape[0] for name, shape in layer.state_shapes().items() if len(shape) == 1 and shape[0]}


def shape_levels(layer: Layer) -> list[list[list[int | None]]]:
    """The shapes of each layer's state, without the batch; both directions of a bidirectional layer as one."""
    shapes = layer.state_shapes()
    return [[joined([shapes[name] for name in names]) for names in level.values()] for level in state_levels(layer)]


def joined(shapes: Sequence[tuple[int | None, ...]]) -> list[int | None]:
    """The shape of tensors that are concatenated along their last dimension."""
    if len(shapes) == 1:
        return list(shapes[0])
    return [*shapes[0][:-1], sum(shape[-1] or 0 for shape in shapes)]


def fits(encoder: Layer, body: Layer) -> bool:
    """Whether the encoder's final state can be copied to the body: states of fixed, equal shapes, layer by layer."""
    shapes = shape_levels(body)
    is_fixed = all(None not in shape for level in shapes for shape in level)
    return bool(shapes) and is_fixed and shape_levels(encoder) == shapes


def read_final(location: str, final: State | None, sources: Mapping[str, Names], rows: int) -> dict[str, Tensor]:
    """Tensors of the encoder's final state; [→; ←] where there are two names."""
    required = [name for names in sources.values() for name in names]
    if final is None or any(name not in final or final[name].shape[0] != rows for name in required):
        actual = "nothing" if final is None else repr(final)
        expected = f"{', '.join(dict.fromkeys(required))} with {rows} rows"
        raise ArgumentError(location, "the encoder's final state", actual, expected)
    return {name: torch.cat([final[source] for source in names], dim=-1) for name, names in sources.items()}


def module_name(name: str) -> str:
    """The name of a state's tensor as that of a module, which can't contain a dot."""
    return name.replace(".", "/")
