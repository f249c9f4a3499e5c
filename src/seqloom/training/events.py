"""The events of a run, sent to listeners: the log, the terminal, TensorBoard. The loop itself draws nothing."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

    from seqloom.data.source import DataSource
    from seqloom.training.session import Session


@dataclass(frozen=True)
class Event:
    step: int

    @property
    def name(self) -> str:
        """The name in metrics.jsonl."""
        return type(self).__name__.lower()

    def to_json(self) -> str:
        """The event as one line of JSON."""
        return json.dumps({"event": self.name, **jsonable(asdict(self))}, ensure_ascii=False)


@dataclass(frozen=True)
class Reading(Event):
    """The files exist, and reading begins."""

    source: "DataSource"


@dataclass(frozen=True)
class Ready(Event):
    """The data is read and the model is built; training has not begun."""

    session: "Session"
    model: "nn.Module"
    steps: int  # of the whole run
    parameters: int


@dataclass(frozen=True)
class Start(Event):
    """Training begins."""

    time: str
    device: str
    parameters: int
    steps: int  # of the whole run; approximate if batches are grouped by length
    chosen_by: str  # the score that selects the best weights
    loss_margin: float | None  # only validations whose loss is at most this above the lowest can be the best


@dataclass(frozen=True)
class Step(Event):
    """Means over the steps since the last such event, and totals since the start.

    gradient: the mean norm of the gradient before clipping
    clipped: the fraction of steps whose gradient was clipped by norm
    """

    epoch: float
    loss: float
    lr: float
    gradient: float
    clipped: float
    tokens: int
    seconds: float


@dataclass(frozen=True)
class Tick(Event):
    """One step was taken, for a display of progress."""

    total: int  # steps of the whole run
    epoch: int
    loss: float
    tokens: int  # of this step


@dataclass(frozen=True)
class Skip(Event):
    """A step was skipped, because its loss or gradient was not finite.

    what: "loss", or "gradient" for the norm of the gradient
    value: that of the loss or the norm
    """

    what: str
    value: float


@dataclass(frozen=True)
class Valid(Event):
    """The model was evaluated on the validation split."""

    epoch: float
    scores: dict[str, float]
    best: bool


@dataclass(frozen=True)
class Disqualified(Event):
    """The best validation so far is no longer the best: the loss of this one is so low that it is out of the margin.

    former, former_loss: the validation that was the best, by its step
    lowest_loss: of all validations, and of the average of their weights
    loss_margin: how far above the lowest loss that of the best may be
    best, scores: the best now, with the score that selects and its loss: a validation, or None for the average
    """

    former: int
    former_loss: float
    lowest_loss: float
    loss_margin: float
    best: int | None
    scores: dict[str, float]


@dataclass(frozen=True)
class Average(Event):
    """The mean of the weights at the last validations (`steps`) was evaluated."""

    steps: tuple[int, ...]
    scores: dict[str, float]
    best: bool


@dataclass(frozen=True)
class Sample(Event):
    """A text that the model generated."""

    prompt: str
    text: str


@dataclass(frozen=True)
class Saved(Event):
    """A checkpoint was written."""


@dataclass(frozen=True)
class Resume(Event):
    """The run continues from the checkpoint of this step."""

    time: str


@dataclass(frozen=True)
class Stop(Event):
    """The run was asked to stop."""

    why: str


@dataclass(frozen=True)
class End(Event):
    """The run is finished."""

    seconds: float


Listener = Callable[[Event], None]
NOT_LOGGED = (Reading, Ready, Tick, Saved)


def jsonable(value: Any) -> Any:
    """A value that JSON can hold: a number that is not finite becomes a string.

    >>> jsonable({"loss": math.nan, "steps": (1, 2)})
    {'loss': 'nan', 'steps': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {name: jsonable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
