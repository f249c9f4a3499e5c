"""The results of a search: hypotheses, and the tree of kept and pruned candidates."""

from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

Status = Literal["kept", "ended", "pruned"]


@dataclass(frozen=True)
class Candidate:
    """A hypothesis extended by one token.

    step: the position of the token, from 0
    parent: the index in the tree of the candidate that it extends; None at the first step
    log_prob, total: of the token, and of the hypothesis up to it
    status: "ended" if the token is the end and the candidate was kept
    """

    step: int
    parent: int | None
    token: int
    log_prob: float
    total: float
    status: Status


@dataclass
class SearchTree:
    """The candidates of one source: at each step the kept ones, and the best pruned ones, as many as the beam size."""

    candidates: list[Candidate] = field(default_factory=list)

    def path(self, index: int) -> list[int]:
        """The tokens up to this candidate.

        >>> tree = SearchTree([Candidate(0, None, 5, -1.0, -1.0, "kept"), Candidate(1, 0, 8, -0.5, -1.5, "pruned")])
        >>> tree.path(1)
        [5, 8]
        """
        tokens: list[int] = []
        next_index: int | None = index
        while next_index is not None:
            tokens.append(self.candidates[next_index].token)
            next_index = self.candidates[next_index].parent
        return tokens[::-1]


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """Generated tokens, without the prompt and the end.

    log_probs: log p of each token, and of the end if there is one
    ended: whether the model generated the end; otherwise the hypothesis was cut at the step limit
    score: total / len(log_probs)^penalty, by which hypotheses are ranked
    attention: for each layer that attends to the source (named as in `record`), the weights [heads, steps, source] at
        each step; None if not recorded

    >>> hypothesis = Hypothesis([7, 3], [-0.5, -0.25, -0.125], ended=True, score=-0.875)
    >>> hypothesis.total
    -0.875
    """

    tokens: list[int]
    log_probs: list[float]
    ended: bool
    score: float
    attention: dict[str, Float[Tensor, "heads steps source"]] | None = None

    @property
    def total(self) -> float:
        """log p of the hypothesis."""
        return sum(self.log_probs)

    @property
    def alignment(self) -> Float[Tensor, "steps source"] | None:
        """The weights averaged over heads, then over layers; None if no layer attends to the source."""
        if not self.attention:
            return None
        return torch.stack([weights.mean(dim=0) for weights in self.attention.values()]).mean(dim=0)
