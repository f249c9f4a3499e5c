"""Position encodings: vectors added to x, or rotations of queries and keys, for layers that don't know the order."""

from collections.abc import Callable
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.core.registry import Registry
from seqloom.nn.layer import Identity, Layer, Lengths, Output, Traits, Vectors
from seqloom.nn.state import State
from seqloom.nn.validation import check_count

Positions = Int[Tensor, "rows time"]
Heads = Float[Tensor, "batch heads time dim"]
Angles = Float[Tensor, "#batch 1 time half"]


class Sinusoidal(Layer):
    """y_p = x_p + PE_p   (Vaswani et al. 2017)

        PE_{p, 2i}   = sin(p / base^(2i/dim))
        PE_{p, 2i+1} = cos(p / base^(2i/dim))

    >>> y, _ = Sinusoidal(4)(torch.zeros(1, 2, 4))
    >>> y[0, 0].tolist()
    [0.0, 1.0, 0.0, 1.0]
    """

    traits = Traits(causal=True)

    def __init__(self, size: int, *, base: float = 10_000.0) -> None:
        super().__init__()
        self.input_size = self.output_size = size
        self.base = base

    def encode(self, positions: Positions, like: Tensor) -> Float[Tensor, "rows time dim"]:
        angles = rotation_angles(positions, self.input_size, self.base, like)
        return torch.stack([angles.sin(), angles.cos()], dim=3).flatten(2)[..., : self.input_size].to(like.dtype)

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        return x + self.encode(state.step_positions(x), x), State()


class LearnedPositions(Layer):
    """y_p = x_p + E_p, with a learned vector for each of `length` positions; later ones are an error"""

    def __init__(self, size: int, length: int) -> None:
        super().__init__()
        self.input_size = self.output_size = size
        check_count("LearnedPositions", "length", length)
        self.embedding = PositionVectors(length, size)
        nn.init.normal_(self.embedding.weight, 0.0, 0.02)

    @property
    def traits(self) -> Traits:
        return Traits(causal=True, max_length=self.embedding.num_embeddings)

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        # The padding of a row may be past the last position; its values do not matter.
        return x + self.embedding(state.step_positions(x).clamp(max=self.embedding.num_embeddings - 1)), State()


class PositionVectors(nn.Embedding):
    """E. It has no role, so `initialize` does not scale it as it scales word embeddings."""

    roles: ClassVar[dict[str, str]] = {}


class Rotary(nn.Module):
    """Rotates pairs of features by an angle that grows with the position (Su et al. 2021, https://arxiv.org/abs/2104.09864).

        (a, b) -> (a cos pθ_i − b sin pθ_i, b cos pθ_i + a sin pθ_i),   θ_i = base^(−2i/dim)

    where a is feature i and b feature i + dim/2 of a head. Then q_p · k_s depends on p − s alone.
    """

    def __init__(self, size: int, *, base: float = 10_000.0) -> None:
        super().__init__()
        if base <= 1:
            raise ArgumentError("Rotary", "base", str(base), "a number above 1, such as 10,000", verb="is")
        if size < 1 or size % 2:
            raise ArgumentError("Rotary", "size", str(size), "an even number, since it rotates pairs", verb="is")
        self.size, self.base = size, base

    def forward(self, x: Heads, positions: Positions) -> Heads:
        return rotate(x, *self.cos_sin(positions, x))

    def cos_sin(self, positions: Positions, like: Tensor) -> tuple[Tensor, Tensor]:
        """cos pθ_i and sin pθ_i, each [rows, 1, time, dim/2], for queries and keys"""
        angles = rotation_angles(positions, self.size, self.base, like).unsqueeze(1)
        return angles.cos().to(like.dtype), angles.sin().to(like.dtype)


def rotate(x: Heads, cos: Angles, sin: Angles) -> Heads:
    """(a, b) -> (a cos − b sin, b cos + a sin), a the first half of the features and b the second"""
    a, b = x.chunk(2, dim=3)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=3)


def rotation_angles(positions: Positions, size: int, base: float, like: Tensor) -> Float[Tensor, "rows time half"]:
    """p / base^(2i/size) for each pair i of features, at least in float32, because bfloat16 can't count past 256"""
    dtype = torch.promote_types(like.dtype, torch.float32)
    pairs = torch.arange(0, size, 2, device=like.device, dtype=dtype)
    return positions.to(dtype).unsqueeze(2) * base ** (-pairs / size)


# What a stem adds to vectors of this size, for up to this many positions. Rotary positions act inside attention, and
# recurrent layers need none.
POSITIONS: Registry[Callable[[int, int], Layer]] = Registry(
    "positions",
    {
        "sinusoidal": lambda size, length: Sinusoidal(size),
        "learned": LearnedPositions,
        "rotary": lambda size, length: Identity(size),
        "none": lambda size, length: Identity(size),
    },
)
