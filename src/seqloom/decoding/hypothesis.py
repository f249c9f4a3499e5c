"""What a search looked at: the candidates that it kept, and those that it did not."""

from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

Fate = Literal["kept", "ended", "pruned"]


@dataclass(frozen=True)
class Candidate:
    """One token more after a text.

    step: its place in the text, from 0
    parent: the number of the candidate that it goes on from in the tree; None at the beginning
    log_prob, total: of the token, and of the text up to it
    fate: "ended" if the token is the end and the text was kept
    """

    step: int
    parent: int | None
    token: int
    log_prob: float
    total: float
    fate: Fate


@dataclass
class Tree:
    """The candidates of one source, step by step: at each the kept ones, and as many of the next best as texts may be
    followed."""

    candidates: list[Candidate] = field(default_factory=list)

    def path(self, number: int) -> list[int]:
        """The tokens up to this candidate.

        >>> tree = Tree([Candidate(0, None, 5, -1.0, -1.0, "kept"), Candidate(1, 0, 8, -0.5, -1.5, "pruned")])
        >>> tree.path(1)
        [5, 8]
        """
        tokens: list[int] = []
        place: int | None = number
        while place is not None:
            tokens.append(self.candidates[place].token)
            place = self.candidates[place].parent
        return tokens[::-1]


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
