"""A module that begins with weights it is given."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn

Module = TypeVar("Module", bound=nn.Module)


def filled(make: Callable[[], Module], weights: Mapping[str, Tensor | None]) -> Module:
    """What `make` gives, with a copy of these weights, in their precision, on their device. No random number is drawn.

    >>> filled(lambda: nn.Linear(1, 1, bias=False), {"weight": torch.tensor([[2.0]]), "bias": None})(
    ...     torch.tensor([3.0])
    ... )
    tensor([6.], grad_fn=...)
    """
    with torch.device("meta"):  # shapes without storage
        module = make()
    return fill(module, weights)


def fill(module: Module, weights: Mapping[str, Tensor | None]) -> Module:
    """The same module, with a copy of these weights. All must be there; None stands for one that it does without."""
    copies = {name: weight.detach().clone() for name, weight in weights.items() if weight is not None}
    module.load_state_dict(copies, assign=True)
    return module
