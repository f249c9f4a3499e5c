"""What a search looked at: the candidates that it kept, and those that it did not."""

from dataclasses import dataclass, field
from typing import Literal

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
