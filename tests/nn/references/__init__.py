"""The textbook equations in numpy and float64: one row, one step, one vector at a time."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

Array = np.ndarray


def by_row(row: Callable[[nn.Module, Array], Array]) -> Callable[[nn.Module, Tensor, Tensor | None], Tensor]:
    """A reference from a function that computes one row: (layer, x [time, dim]) to y [time, out], without padding."""

    def reference(layer: nn.Module, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        rows, time = x.shape[:2]
        ends = [time] * rows if lengths is None else lengths.tolist()
        outputs = []
        for steps, end in zip(x.detach().numpy(), ends, strict=True):
            y = row(layer, steps[:end])
            outputs.append(np.concatenate([y, np.zeros((time - end, y.shape[1]))]))
        return torch.from_numpy(np.stack(outputs))

    return reference


def weight(module: nn.Module, name: str) -> Array:
    """A parameter as an array; 0 if the module has none (a bias that is off)."""
    parameter = getattr(module, name)
    return np.zeros(()) if parameter is None else parameter.detach().numpy()
