"""What is added to the loss so that a decoder looks at each place of its source about once."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.kernels.masks import sequence_mask

Weights = Float[Tensor, "batch heads written read"]


def doubly_stochastic(
    attention: Sequence[Weights],
    written: Int[Tensor, " batch"] | None = None,
    read: Int[Tensor, " batch"] | None = None,
) -> Float[Tensor, ""]:
    """Σ_rows Σ_i (1 − Σ_t α_ti)², the mean over heads and over the places that attend (Xu et al. 2015, eq. 14).

    Each step's weights α_t sum to 1 over the source; here they are asked to sum to 1 over the steps too.

    attention: the weights of each place that attends, as `record("attention")` has them
    written, read: how much of each row is real, of the steps and of the source

    >>> weights = torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]])  # two steps, which both look at the first of two regions
    >>> doubly_stochastic([weights])
    tensor(2.)
    >>> doubly_stochastic([weights], written=torch.tensor([1]))
    tensor(1.)
    """
    return torch.stack([missed(weights, written, read) for weights in attention]).mean()


def missed(
    weights: Weights, written: Int[Tensor, " batch"] | None, read: Int[Tensor, " batch"] | None
) -> Float[Tensor, ""]:
    """The same of one place."""
    weights = weights.float()
    if written is not None:
        weights = weights.masked_fill(~sequence_mask(written.to(weights.device), weights.shape[2])[:, None, :, None], 0)
    squares = (1 - weights.sum(dim=2)).square().mean(dim=1)
    if read is not None:
        squares = squares.masked_fill(~sequence_mask(read.to(weights.device), weights.shape[3]), 0)
    return squares.sum()
