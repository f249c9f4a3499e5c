"""Gradients between the backward pass and the step: made a mean, looked at, clipped."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from seqloom.spec.config.train import Train


@torch.no_grad()
def norm(gradients: list[Tensor]) -> float:
    """‖g‖, all weights together.

    >>> norm([torch.tensor([3.0]), torch.tensor([4.0])])
    5.0
    """
    return float(torch.nn.utils.get_total_norm(gradients)) if gradients else 0.0


@torch.no_grad()
def ready(parameters: Iterable[Tensor], count: int, part: Train) -> tuple[float, bool]:
    """Make of summed gradients their mean over `count` items, clipped in place; the norm before, whether it was cut.

        g ← Σ g / n
        g ← g · min(1, c / ‖g‖)             clip_norm = c (Pascanu et al. 2013)
        g ← min(max(g, −v), v)              clip_value = v

    A norm that is not finite leaves the gradients as they are: the step is for the caller to skip.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    length = norm(gradients) / max(count, 1)
    if not math.isfinite(length):
        return length, False
    scale = 1 / max(count, 1)
    clipped = part.clip_norm is not None and length > part.clip_norm
    if clipped:
        scale *= (part.clip_norm or 0.0) / (length + 1e-6)  # as torch.nn.utils.clip_grad_norm_ does
    if gradients and scale != 1:
        torch._foreach_mul_(gradients, scale)
    if part.clip_value is not None and gradients:
        torch._foreach_clamp_min_(gradients, -part.clip_value)
        torch._foreach_clamp_max_(gradients, part.clip_value)
    return length, clipped
