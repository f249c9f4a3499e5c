"""A penalty on attention, so that a decoder attends to each source position about once in all."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.kernels.masks import sequence_mask


def doubly_stochastic(
    weights: Sequence[Float[Tensor, "batch heads target source"]],
    target_lengths: Int[Tensor, " batch"] | None = None,
    source_lengths: Int[Tensor, " batch"] | None = None,
) -> Float[Tensor, ""]:
    """Σ_rows Σ_i (1 − Σ_t α_ti)², the mean over heads and over attention layers (Xu et al. 2015, eq. 14).

    The weights α_t of each step sum to 1 over the source; here their sum over the steps is pulled to 1 too.

    weights: one tensor per attention layer, as `record("attention")` has them

    >>> weights = torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]])  # two steps, which both attend to the first of two regions
    >>> doubly_stochastic([weights])
    tensor(2.)
    >>> doubly_stochastic([weights], target_lengths=torch.tensor([1]))
    tensor(1.)
    """
    penalties = []
    for layer in weights:
        alpha = layer.float()
        if target_lengths is not None:
            steps = sequence_mask(target_lengths.to(alpha.device), alpha.shape[2])
            alpha = alpha.masked_fill(~steps[:, None, :, None], 0)
        squares = (1 - alpha.sum(dim=2)).square().mean(dim=1)
        if source_lengths is not None:
            squares = squares.masked_fill(~sequence_mask(source_lengths.to(alpha.device), alpha.shape[3]), 0)
        penalties.append(squares.sum())
    return torch.stack(penalties).mean()
