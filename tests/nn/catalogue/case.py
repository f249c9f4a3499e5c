"""A layer in the catalogue of the conformance suite."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from seqloom.nn.conformance import perturb
from seqloom.nn.layer import Layer, Traits
from seqloom.nn.state import State

Reference = Callable[[Layer, Tensor, Tensor | None], Tensor]


def no_state(layer: Layer, rows: int) -> None:
    """Most layers start without a state."""


@dataclass(frozen=True)
class Case:
    """A layer and its properties besides traits.

    make: builds the layer with small sizes; the suite perturbs its weights
    reference: y from (layer, x, lengths) as a textbook computes it: loops in float64 (see `by_row`)
    initial_state: the first state of a layer with cross-attention; the same arguments give the same values
    noisy: training mode draws random numbers (dropout above 0, zoneout, random initial states)
    shares: rows share work (a word in several rows is encoded once), so that other rows may change the last bit
    """

    name: str
    make: Callable[[], Layer]
    reference: Reference | None = None
    initial_state: Callable[[Layer, int], State | None] = no_state
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
