"""Which validation of a run is the best. Its weights are the result of the run."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from seqloom.training.trainer_state import Candidate, Progress


@dataclass(frozen=True)
class Selection:
    """How the best validation is selected (docs/decisions/0014-which-checkpoint-is-best.md).

    best = argmax_i score_i        over the validations with  loss_i ≤ min_j loss_j + margin

    Between equal scores the lower loss decides, then the earlier validation. A loss or score that is NaN is the worst.

    margin: in the unit of the loss; with None the score alone decides
    """

    margin: float | None
    higher_is_better: bool

    def rank(self, candidates: Iterable[Candidate], lowest_loss: float = math.inf) -> list[Candidate]:
        """The best candidate, then those that would be the best if a later, lower loss disqualified all before them.

        lowest_loss: of other validations

        >>> losses, scores = (3.4, 3.0, 3.2, 2.8), (30.0, 28.0, 27.0, 25.0)
        >>> first, second, third, fourth = map(Candidate, (1, 2, 3, 4), scores, losses)
        >>> selection = Selection(margin=0.5, higher_is_better=True)
        >>> [candidate.step for candidate in selection.rank([first, second, third])]
        [1, 2]
        >>> [candidate.step for candidate in selection.rank([first, second, fourth])]
        [2, 4]
        """
        ordered = sorted(candidates, key=self.order)
        if self.margin is None:
            return ordered[:1]
        limit = min(lowest_loss, *(candidate.loss for candidate in ordered)) + self.margin
        ranked: list[Candidate] = []
        for candidate in ordered:
            if candidate.loss <= limit and (not ranked or candidate.loss < ranked[-1].loss):
                ranked.append(candidate)
        return ranked

    def order(self, candidate: Candidate) -> tuple[float, float]:
        """A key that sorts by score, the best first, then by loss."""
        score = -candidate.score if self.higher_is_better else candidate.score
        return (math.inf if math.isnan(score) else score), candidate.loss

    def add(self, progress: Progress, candidate: Candidate) -> bool:
        """Add a validation; return whether it improved: it is the best or, with a margin, its loss is the lowest.

        `train.early_stop` and the schedule `plateau` count validations that did not improve.
        """
        lowest_so_far = self.margin is not None and candidate.loss < progress.lowest_loss
        progress.lowest_loss = min(progress.lowest_loss, candidate.loss)
        progress.candidates = self.rank([*progress.candidates, candidate], progress.lowest_loss)
        return lowest_so_far or progress.best is candidate
