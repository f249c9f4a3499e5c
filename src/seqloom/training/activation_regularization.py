"""What is added to the loss so that activations stay small and slow (Merity et al. 2017)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.core.config.train import Train
from seqloom.kernels.masks import mask_padding


def penalty(
    y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, part: Train
) -> Float[Tensor, ""] | None:
    """α mean(y²) + β mean((y_t − y_{t−1})²) over real steps, α `activation_l2` and β `slowness`; None if both are 0.

    y is what the head reads, dropout included.
    """
    if not part.activation_l2 and not part.slowness:
        return None
    total = torch.zeros((), device=y.device)
    if part.activation_l2:
        total = total + part.activation_l2 * mean(y.float().square(), lengths)
    if part.slowness and y.shape[1] > 1:
        later = None if lengths is None else (lengths - 1).clamp(min=0)
        total = total + part.slowness * mean((y[:, 1:] - y[:, :-1]).float().square(), later)
    return total


def mean(values: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None) -> Float[Tensor, ""]:
    """Over real steps and all features."""
    if lengths is None:
        return values.mean()
    lengths = lengths.to(values.device, non_blocking=values.device.type != "cpu")
    return mask_padding(values, lengths).sum() / (lengths.sum().clamp(min=1) * values.shape[2])
