"""Sampling: one token per row at a temperature, with top-k, top-p and min-p, from reproducible noise."""

import math
from collections.abc import Iterable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.core.problem import NotFinite


def sample_tokens(
    logits: Float[Tensor, "rows vocabulary"],
    *,
    temperature: float,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    noise: Float[Tensor, " rows"],
) -> Int[Tensor, " rows"]:
    """The most likely token of each row at temperature 0, otherwise a token drawn from

        p = softmax(logits / temperature), over
            the k most likely tokens (top_k), then, of these with p normalized again,
            the fewest most likely ones whose p sums to top_p, at least one (Holtzman et al. 2020), then, of these,
            those with p ≥ min_p · max p (Nguyen et al. 2024, https://arxiv.org/abs/2407.01082)

    noise: in [0, 1); a row's token is the first, in the order of the vocabulary, at which the cumulative sum of p
        exceeds the noise

    The result is undefined for a row whose largest logit is not finite; see `check_finite`.

    >>> logits = torch.tensor([[0.5, 0.2, 0.3]]).log()
    >>> [sample_tokens(logits, temperature=1, noise=torch.tensor([u])).item() for u in (0.4, 0.6, 0.8)]
    [0, 1, 2]
    >>> sample_tokens(logits, temperature=1, top_k=2, noise=torch.tensor([0.6])).item()
    0
    """
    if temperature == 0:
        return logits.argmax(dim=1)
    # Sums over a large vocabulary need float64, which Apple's devices lack.
    dtype = torch.float32 if logits.device.type == "mps" else torch.float64
    weights = ((logits - logits.amax(dim=1, keepdim=True)).to(dtype) / temperature).exp()
    if top_k is not None or top_p is not None:
        weights = weights.masked_fill(~top_k_top_p_mask(logits, weights, top_k, top_p), 0)
    if min_p is not None:
        weights = weights.masked_fill(weights < min_p, 0)  # the largest weight is 1
    # A parallel sum may have a rounding error where a weight is 0, and noise · total may round to the total: in neither
    # case may a token of weight 0 be chosen.
    sums = weights.cumsum(dim=1).masked_fill(weights == 0, 0)
    total = sums.amax(dim=1, keepdim=True)
    threshold = torch.minimum(noise.to(total).unsqueeze(1) * total, torch.nextafter(total, torch.zeros_like(total)))
    return (sums > threshold).int().argmax(dim=1)


def top_k_top_p_mask(
    logits: Float[Tensor, "rows vocabulary"],
    weights: Float[Tensor, "rows vocabulary"],
    top_k: int | None,
    top_p: float | None,
) -> Bool[Tensor, "rows vocabulary"]:
    """The tokens that remain after top_k, then top_p; of equal logits, the first in the vocabulary come first."""
    order = logits.argsort(dim=1, descending=True, stable=True)
    kept = torch.ones_like(order, dtype=torch.bool)
    if top_k is not None:
        kept[:, top_k:] = False
    if top_p is not None:
        ordered = weights.gather(1, order).masked_fill(~kept, 0)
        preceding = ordered.cumsum(dim=1) - ordered
        kept &= preceding < top_p * ordered.sum(dim=1, keepdim=True)
        kept[:, 0] = True
    return torch.zeros_like(kept).scatter(1, order, kept)


def uniform_noise(seed: int, samples: Iterable[int], step: int) -> Float[Tensor, " rows"]:
    """A number in [0, 1) for each sample, a function of (seed, sample number, step) only.

    The Philox counter generator (Salmon et al. 2011) with the key (seed, sample) and the counter step.

    >>> float(uniform_noise(seed=1, samples=[0, 5], step=3)[1]) == float(uniform_noise(seed=1, samples=[5], step=3))
    True
    """
    counter = np.array([step, 0, 0, 0], np.uint64)
    keys = [np.array([seed % 2**64, sample], np.uint64) for sample in samples]
    noise = [np.random.Generator(np.random.Philox(key=key, counter=counter)).random() for key in keys]
    return torch.tensor(noise, dtype=torch.float64)


def check_finite(location: str, largest: Iterable[float]) -> None:
    """Raise if the largest logit of a row is NaN or ∞, which weights that are not finite cause."""
    if any(math.isnan(value) or value == math.inf for value in largest):
        raise NotFinite(location, "logits", "no finite largest value", "numbers: are the model's weights finite?")
