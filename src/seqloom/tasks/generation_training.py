"""What `train.scheduled_sampling` and `train.doubly_stochastic` compute, for tasks that generate text."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.kernels.masks import sequence_mask


def sample_inputs(
    decoder_input: Int[Tensor, "batch time"], logits: Float[Tensor, "batch time vocabulary"], probability: float
) -> Int[Tensor, "batch time"]:
    """Scheduled sampling: a decoder learns to continue from tokens that it predicted itself (Bengio et al. 2015).

        ĝ_t = argmax logits_{t−1}        with this probability, for t > 1
        ĝ_t = g_t                        otherwise

    ĝ is the input of a second pass; `logits` are those of a first pass over `decoder_input`, g. The first pass reads
    the target's own tokens, all steps at once, so a Transformer stays parallel (Mihaylova & Martins 2019; Duckworth et
    al. 2019). The argmax has no gradient. One number of torch's generator is drawn per step.

    >>> tokens = torch.tensor([[7, 1, 2]])
    >>> logits = torch.eye(8)[torch.tensor([[3, 4, 5]])]
    >>> sample_inputs(tokens, logits, probability=1.0), sample_inputs(tokens, logits, probability=0.0)
    (tensor([[7, 3, 4]]), tensor([[7, 1, 2]]))
    """
    predicted = torch.cat([decoder_input[:, :1], logits[:, :-1].argmax(dim=2)], dim=1)
    replace = torch.rand(decoder_input.shape, device=decoder_input.device) < probability
    return torch.where(replace, predicted, decoder_input)


def doubly_stochastic(
    weights: Sequence[Float[Tensor, "batch heads target source"]],
    target_lengths: Int[Tensor, " batch"] | None = None,
    source_lengths: Int[Tensor, " batch"] | None = None,
) -> Float[Tensor, ""]:
    """A penalty on attention, so that a decoder attends to each source position about once in all (Xu et al. 2015).

        Σ_rows Σ_i (1 − Σ_t α_ti)²       the mean over heads and over attention layers (eq. 14)

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
