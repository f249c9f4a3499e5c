"""Modules built with given weights."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn

Module = TypeVar("Module", bound=nn.Module)


def build_with_weights(make: Callable[[], Module], weights: Mapping[str, Tensor | None]) -> Module:
    """The module that `make` builds, with copies of these weights, on their device. No random number is drawn.

    >>> layer = build_with_weights(lambda: nn.Linear(1, 1, bias=False), {"weight": torch.tensor([[2.0]]), "bias": None})
    >>> layer(torch.tensor([3.0]))
    tensor([6.], grad_fn=...)
    """
    with torch.device("meta"):  # shapes without storage
        module = make()
    return load_copies(module, weights)


def load_copies(module: Module, weights: Mapping[str, Tensor | None]) -> Module:
    """The same module with copies of these weights, which must be all of its own; None is one that it does not have."""
    copies = {name: weight.detach().clone() for name, weight in weights.items() if weight is not None}
    module.load_state_dict(copies, assign=True)
    return module
