"""The progress of a run: what the trainer remembers apart from weights, optimizer and carried state."""

from dataclasses import field
from typing import Annotated, Any

from pydantic import Field, ValidationError
from pydantic.dataclasses import dataclass

Count = Annotated[int, Field(strict=True, ge=0)]
Real = Annotated[float, Field(strict=True)]


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


@dataclass
class Progress:
    """Plain numbers, saved as JSON with each checkpoint."""

    epoch: Count = 0
    item: Count = 0  # items of the epoch that have been read
    step: Count = 0  # steps taken, skipped ones included
    tokens: Count = 0
    seconds: Real = 0.0  # of all sessions
    stepping: Real = 0.0  # of these, in steps: without validations, samples and checkpoints
    best: Real | None = None
    best_loss: Real | None = None  # decides between equal scores
    best_step: Count = 0
    since_best: Count = 0  # validations since the best one
    waiting: Count = 0  # validations since the best one or the last plateau
    plateaus: Count = 0
    not_finite: Count = 0  # steps in a row
    validated: Annotated[int, Field(strict=True, ge=-1)] = -1  # the step of the last validation
    validations: list[Count] = field(default_factory=list)  # the steps of the last ones, as many as are averaged
    log_bytes: Count = 0  # of metrics.jsonl
    recent: RunningSums = field(default_factory=RunningSums)

    @staticmethod
    def from_json(values: dict[str, Any]) -> "Progress":
        """Keys of later versions are ignored; a value of another type or out of range is a ValueError."""
        try:
            return Progress(**values)
        except ValidationError as error:
            detail = error.errors()[0]
            raise ValueError(f"{'.'.join(map(str, detail['loc']))} is {str(detail['input'])[:50]!r}") from None
