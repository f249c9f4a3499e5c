"""The progress of a run: what the trainer remembers apart from weights, optimizer and carried state."""

import math
from dataclasses import field
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError
from pydantic.dataclasses import dataclass

Count = Annotated[int, Field(strict=True, ge=0)]
Real = Annotated[float, Field(strict=True)]
Loss = Annotated[Real, AfterValidator(lambda loss: loss if math.isfinite(loss) else math.inf)]


@dataclass
class RunningSums:
    """Sums over the steps since the last `step` line of the log."""

    loss: Real = 0.0
    count: Count = 0  # the number of items in the loss
    gradient: Real = 0.0
    clipped: Count = 0
    steps: Count = 0

    def add(self, loss: float, count: int, gradient: float, clipped: bool) -> None:
        self.loss += loss
        self.count += count
        self.gradient += gradient
        self.clipped += clipped
        self.steps += 1


@dataclass(frozen=True)
class Candidate:
    """A validation that is the best or may become it: the step, the score that selects, and the loss.

    A loss that is not known or not finite is infinite.
    """

    step: Count
    score: Real
    loss: Loss = math.inf


@dataclass
class Progress:
    """Plain numbers, saved as JSON with each checkpoint."""

    epoch: Count = 0
    item: Count = 0  # items of the epoch that have been read
    step: Count = 0  # steps taken, skipped ones included
    tokens: Count = 0
    seconds: Real = 0.0  # of all sessions
    stepping: Real = 0.0  # of these, in steps: without validations, samples and checkpoints
    candidates: list[Candidate] = field(default_factory=list)  # the best validation, and those that may become it
    lowest_loss: Loss = math.inf  # of all validations
    since_best: Count = 0  # validations since the last that improved
    waiting: Count = 0  # validations since the last that improved, or the last plateau
    plateaus: Count = 0
    not_finite: Count = 0  # steps in a row
    validated: Annotated[int, Field(strict=True, ge=-1)] = -1  # the step of the last validation
    validations: list[Count] = field(default_factory=list)  # the steps of the last ones, as many as are averaged
    log_bytes: Count = 0  # of metrics.jsonl
    recent: RunningSums = field(default_factory=RunningSums)

    @property
    def best(self) -> Candidate | None:
        """The best validation, whose weights are saved."""
        return self.candidates[0] if self.candidates else None

    @staticmethod
    def from_json(values: dict[str, Any]) -> "Progress":
        """Keys of later versions are ignored; a value of another type or out of range is a ValueError.

        Older checkpoints have the best validation alone, as `best`, `best_loss` and `best_step`.
        """
        if values.get("best") is not None:
            loss = math.inf if values.get("best_loss") is None else values["best_loss"]
            best = {"step": values.get("best_step"), "score": values["best"], "loss": loss}
            values = {"candidates": [best], "lowest_loss": loss, **values}
        try:
            return Progress(**values)
        except ValidationError as error:
            detail = error.errors()[0]
            raise ValueError(f"{'.'.join(map(str, detail['loc']))} is {str(detail['input'])[:50]!r}") from None
