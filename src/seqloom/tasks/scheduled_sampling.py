"""Scheduled sampling: a decoder learns to go on from words that it wrote itself (Bengio et al. 2015)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def mixed(
    given: Int[Tensor, "batch time"], logits: Float[Tensor, "batch time vocabulary"], share: float
) -> Int[Tensor, "batch time"]:
    """What a decoder reads in its second pass, where `logits` are its first pass's over `given`.

        ĝ_t = argmax logits_{t−1}        with probability `share`, for t > 1
        ĝ_t = g_t                        else

    The first pass goes over the right words, all steps at once, so that a Transformer learns as fast as ever (Mihaylova
    & Martins 2019; Duckworth et al. 2019). Its argmax has no gradient. What is drawn is torch's own, one number a step.

    >>> given = torch.tensor([[7, 1, 2]])
    >>> logits = torch.eye(8)[torch.tensor([[3, 4, 5]])]
    >>> mixed(given, logits, share=1.0), mixed(given, logits, share=0.0)
    (tensor([[7, 3, 4]]), tensor([[7, 1, 2]]))
    """
    wrote = torch.cat([given[:, :1], logits[:, :-1].argmax(dim=2)], dim=1)
    own = torch.rand(given.shape, device=given.device) < share
    return torch.where(own, wrote, given)
