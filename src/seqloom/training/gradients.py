"""Gradients between the backward pass and the step: made a mean, looked at, clipped."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from seqloom.nn.heads.loss import Loss
from seqloom.spec.config.train import Train


@torch.no_grad()
def read(losses: Sequence[Loss], gradients: list[Tensor]) -> tuple[float, int, float]:
    """Σ losses, the number of their items, and ‖Σ g‖ of all weights together: what a step waits for, in one wait.

    >>> read([Loss(torch.tensor(2.5), torch.tensor(4))], [torch.tensor([3.0]), torch.tensor([4.0])])
    (2.5, 4, 5.0)
    """
    totals, counts = ([value.float() for value in values] for values in zip(*losses, strict=True))
    norm = torch.nn.utils.get_total_norm(gradients).float().to(totals[0].device)
    *each, length = torch.stack([*totals, *counts, norm]).tolist()
    return sum(each[: len(losses)]), int(sum(each[len(losses) :])), length


@torch.no_grad()
def ready(gradients: list[Tensor], length: float, count: int, part: Train) -> bool:
    """Make of summed gradients their mean over `count` items, clipped in place; whether its norm, `length`, was cut.

        g ← Σ g / n
        g ← g · min(1, c / ‖g‖)             clip_norm = c (Pascanu et al. 2013)
        g ← min(max(g, −v), v)              clip_value = v

    A norm that is not finite leaves the gradients as they are: the step is for the caller to skip.
    """
    if not math.isfinite(length):
        return False
    scale = 1 / max(count, 1)
    clipped = part.clip_norm is not None and length > part.clip_norm
    if clipped:
        scale *= (part.clip_norm or 0.0) / (length + 1e-6)  # as torch.nn.utils.clip_grad_norm_ does
    if gradients and scale != 1:
        torch._foreach_mul_(gradients, scale)
    if part.clip_value is not None and gradients:
        torch._foreach_clamp_min_(gradients, -part.clip_value)
        torch._foreach_clamp_max_(gradients, part.clip_value)
    return clipped
