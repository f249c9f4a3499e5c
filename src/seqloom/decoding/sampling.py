"""One token of many, drawn by how likely each is, and the noise that decides."""

import math
from collections.abc import Iterable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.core.config.decode import DecodeSection
from seqloom.core.problem import NotFinite


def choose(
    logits: Float[Tensor, "rows vocabulary"],
    *,
    temperature: float,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    noise: Float[Tensor, " rows"],
) -> Int[Tensor, " rows"]:
    """One token a row: the best at temperature 0, else drawn from

        p = softmax(logits / temperature), over
            the k likeliest tokens (top_k), then, of these made to sum to 1,
            the fewest likeliest whose probabilities reach top_p, one at least (Holtzman et al. 2020), then of these
            those with p ≥ min_p · max p (Nguyen et al. 2024, https://arxiv.org/abs/2407.01082)

    noise: from 0 to 1, 1 excluded; a row takes the first token at which the sum of p, in the order of the vocabulary,
        is larger, so that the noise decides and nothing else does

    Of a row without a finite largest score no token means anything: look first.

    >>> logits = torch.tensor([[0.5, 0.2, 0.3]]).log()
    >>> [choose(logits, temperature=1, noise=torch.tensor([u])).item() for u in (0.4, 0.6, 0.8)]
    [0, 1, 2]
    >>> choose(logits, temperature=1, top_k=2, noise=torch.tensor([0.6])).item()
    0
    """
    if temperature == 0:
        return logits.argmax(dim=1)
    # Sums over a large vocabulary want float64; Apple's devices have none.
    precise = torch.float32 if logits.device.type == "mps" else torch.float64
    weights = ((logits - logits.amax(dim=1, keepdim=True)).to(precise) / temperature).exp()
    if top_k is not None or top_p is not None:
        weights = weights.masked_fill(~allowed(logits, weights, top_k, top_p), 0)
    if min_p is not None:
        weights = weights.masked_fill(weights < min_p, 0)  # that of the likeliest is 1
    # A parallel sum may be off by a rounding where a weight is 0, and noise · total may round to the total: neither may
    # choose a token that has no weight.
    sums = weights.cumsum(dim=1).masked_fill(weights == 0, 0)
    total = sums.amax(dim=1, keepdim=True)
    drawn = torch.minimum(noise.to(total).unsqueeze(1) * total, torch.nextafter(total, torch.zeros_like(total)))
    return (sums > drawn).int().argmax(dim=1)


def allowed(
    logits: Float[Tensor, "rows vocabulary"],
    weights: Float[Tensor, "rows vocabulary"],
    top_k: int | None,
    top_p: float | None,
) -> Bool[Tensor, "rows vocabulary"]:
    """The tokens that top_k, then top_p, leave to choose from; of equals, the first in the vocabulary."""
    order = logits.argsort(dim=1, descending=True, stable=True)
    kept = torch.ones_like(order, dtype=torch.bool)
    if top_k is not None:
        kept[:, top_k:] = False
    if top_p is not None:
        ordered = weights.gather(1, order).masked_fill(~kept, 0)
        before = ordered.cumsum(dim=1) - ordered  # the mass of those that are likelier
        kept &= before < top_p * ordered.sum(dim=1, keepdim=True)
        kept[:, 0] = True
    return torch.zeros_like(kept).scatter(1, order, kept)


def drawn(
    logits: Float[Tensor, "rows vocabulary"], options: DecodeSection, seed: int, numbers: Iterable[int], step: int
) -> Int[Tensor, " rows"]:
    """`choose` as the options say, with the noise of this step."""
    return choose(
        logits,
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        min_p=options.min_p,
        noise=uniform(seed, numbers, step),
    )


def uniform(seed: int, numbers: Iterable[int], step: int) -> Float[Tensor, " rows"]:
    """A number from 0 to 1, 1 excluded, for each sample: a function of (seed, its number, step) and of nothing else.

    The Philox counter generator (Salmon et al. 2011) with (seed, number) as its key and the step as its counter.

    >>> float(uniform(seed=1, numbers=[0, 5], step=3)[1]) == float(uniform(seed=1, numbers=[5], step=3))
    True
    """
    counter = np.array([step, 0, 0, 0], np.uint64)
    keys = [np.array([seed % 2**64, number], np.uint64) for number in numbers]
    noise = [np.random.Generator(np.random.Philox(key=key, counter=counter)).random() for key in keys]
    return torch.tensor(noise, dtype=torch.float64)


def check_finite(where: str, largest: Iterable[float]) -> None:
    """Scores are numbers: a row's largest that is NaN or ∞ comes from weights that are not finite."""
    if any(math.isnan(value) or value == math.inf for value in largest):
        raise NotFinite(where, "logits", "no finite largest value", "numbers: are the model's weights finite?")
