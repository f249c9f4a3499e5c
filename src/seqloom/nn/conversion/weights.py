"""Build modules with existing weights."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from torch import Tensor, nn

from seqloom.nn.initialization import without_values

Module = TypeVar("Module", bound=nn.Module)


def build_with_weights(build: Callable[[], Module], weights: Mapping[str, Tensor | None]) -> Module:
    """The module that `build` returns, with copies of these weights, on their device. It draws no random numbers.

    >>> layer = build_with_weights(lambda: nn.Linear(1, 1, bias=False), {"weight": torch.tensor([[2.0]]), "bias": None})
    >>> layer(torch.tensor([3.0]))
    tensor([6.], grad_fn=...)
    """
    with without_values():
        module = build()
    return load_copies(module, weights)


def load_copies(module: Module, weights: Mapping[str, Tensor | None]) -> Module:
    """Load copies of all weights of a module, and return it; a weight that is None is one that it does not have."""
    copies = {name: weight.detach().clone() for name, weight in weights.items() if weight is not None}
    module.load_state_dict(copies, assign=True)
    return module
