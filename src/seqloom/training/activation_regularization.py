"""Activation regularization (AR) and temporal activation regularization (TAR) (Merity et al. 2017)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.core.config.train import Train
from seqloom.kernels.masks import mask_padding

Lengths = Int[Tensor, " batch"]


def activation_penalty(
    y: Float[Tensor, "batch time dim"], lengths: Lengths | None, train: Train
) -> Float[Tensor, ""] | None:
    """α mean(y²) + β mean((y_t − y_{t−1})²) over valid steps; None if α and β are 0.

    α is `activation_l2`, β is `temporal_activation_l2`. y: the input of the head, after dropout
    """
    if not train.activation_l2 and not train.temporal_activation_l2:
        return None
    penalty = torch.zeros((), device=y.device)
    if train.activation_l2:
        penalty = penalty + train.activation_l2 * masked_mean(y.float().square(), lengths)
    if train.temporal_activation_l2 and y.shape[1] > 1:
        differences = (y[:, 1:] - y[:, :-1]).float()
        shorter = None if lengths is None else (lengths - 1).clamp(min=0)
        penalty = penalty + train.temporal_activation_l2 * masked_mean(differences.square(), shorter)
    return penalty


def masked_mean(values: Float[Tensor, "batch time dim"], lengths: Lengths | None) -> Float[Tensor, ""]:
    """The mean over valid steps and all features."""
    if lengths is None:
        return values.mean()
    lengths = lengths.to(values.device, non_blocking=values.device.type != "cpu")
    return mask_padding(values, lengths).sum() / (lengths.sum().clamp(min=1) * values.shape[2])
