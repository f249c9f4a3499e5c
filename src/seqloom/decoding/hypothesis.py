"""A text that a model may have meant, and all that is known about it."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """Tokens, without those that begin and end a text.

    log_probs: the model's log p of each token, and of the end if there is one
    ended: whether the model ended it; else it was cut at the most tokens asked for
    score: total / (how many log_probs)^penalty, by which hypotheses are ranked
    attention: where it looked in the source while it chose each token, and the end: for each place in the model
        (see `record`) the weights [heads, steps, source]; None unless asked for

    >>> text = Hypothesis([7, 3], [-0.5, -0.25, -0.125], ended=True, score=-0.875)
    >>> text.total
    -0.875
    """

    tokens: list[int]
    log_probs: list[float]
    ended: bool
    score: float
    attention: dict[str, Float[Tensor, "heads steps source"]] | None = None

    @property
    def total(self) -> float:
        """log p of the whole text."""
        return sum(self.log_probs)

    @property
    def alignment(self) -> Float[Tensor, "steps source"] | None:
        """The weights, their mean over heads and then over places; None where nothing looks at the source."""
        if not self.attention:
            return None
        return torch.stack([weights.mean(dim=0) for weights in self.attention.values()]).mean(dim=0)
