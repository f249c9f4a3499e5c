"""Scheduled sampling: a decoder learns to continue from tokens that it predicted itself (Bengio et al. 2015)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def sample_inputs(
    decoder_input: Int[Tensor, "batch time"], logits: Float[Tensor, "batch time vocabulary"], probability: float
) -> Int[Tensor, "batch time"]:
    """The input of a decoder's second pass, where `logits` are its first pass's over `decoder_input`, g.

        ĝ_t = argmax logits_{t−1}        with this probability, for t > 1
        ĝ_t = g_t                        otherwise

    The first pass reads the target's own tokens, all steps at once, so a Transformer stays parallel (Mihaylova &
    Martins 2019; Duckworth et al. 2019). The argmax has no gradient. One number of torch's generator is drawn per step.

    >>> tokens = torch.tensor([[7, 1, 2]])
    >>> logits = torch.eye(8)[torch.tensor([[3, 4, 5]])]
    >>> sample_inputs(tokens, logits, probability=1.0), sample_inputs(tokens, logits, probability=0.0)
    (tensor([[7, 3, 4]]), tensor([[7, 1, 2]]))
    """
    predicted = torch.cat([decoder_input[:, :1], logits[:, :-1].argmax(dim=2)], dim=1)
    replace = torch.rand(decoder_input.shape, device=decoder_input.device) < probability
    return torch.where(replace, predicted, decoder_input)
