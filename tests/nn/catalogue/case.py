"""One layer in the catalogue, ready for the conformance suite."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from seqloom.nn.conformance import perturb
from seqloom.nn.layer import Layer, Traits
from seqloom.nn.state import State

Reference = Callable[[Layer, Tensor, Tensor | None], Tensor]


def nothing(layer: Layer, rows: int) -> None:
    """Most layers begin with nothing."""


@dataclass(frozen=True)
class Case:
    """A layer, and what the suite can't find out from its traits.

    make: a new layer of small sizes; the suite moves all its weights off their starting points by itself
    reference: y from (layer, x, lengths) as a textbook would compute it: plain loops in float64 (see `by_row`)
    initial_state: the state to begin with, for a layer that looks at a memory; the same arguments give the same values
    noisy: training mode draws random numbers (dropout above 0, zoneout, random initial states)
    shares: rows share work (a word in several of them is spelt once), so that batch-mates may change the last bit
    """

    name: str
    make: Callable[[], Layer]
    reference: Reference | None = None
    initial_state: Callable[[Layer, int], State | None] = nothing
    noisy: bool = False
    shares: bool = False

    def __str__(self) -> str:
        return self.name

    @cached_property
    def traits(self) -> Traits:
        return self.make().traits

    def layer(self, dtype: torch.dtype = torch.float64) -> Layer:
        """In eval mode, with no weight at zero or equal to another."""
        layer = self.make().to(dtype).eval()
        perturb(layer)
        return layer
