"""What happens in a run, told to whoever listens: the log, a terminal, TensorBoard. The loop itself draws nothing."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqloom.data.source import DataSource
    from seqloom.training.session import Session


@dataclass(frozen=True)
class Event:
    """Something that happened at a step."""

    step: int

    @property
    def name(self) -> str:
        """As it stands in metrics.jsonl."""
        return type(self).__name__.lower()

    def line(self) -> str:
        """As JSON, on one line; a number that is not finite is a word there."""
        return json.dumps({"event": self.name, **plain(asdict(self))}, ensure_ascii=False)


@dataclass(frozen=True)
class Reading(Event):
    """The data are read. It is not logged."""

    source: "DataSource"


@dataclass(frozen=True)
class Ready(Event):
    """The data are read and the model is built; what follows is training. It is not logged."""

    session: "Session"
    steps: int  # of the whole run
    parameters: int


@dataclass(frozen=True)
class Start(Event):
    """Training begins."""

    time: str
    device: str
    parameters: int
    steps: int  # of the whole run, as far as known


@dataclass(frozen=True)
class Step(Event):
    """Some steps were taken: their mean loss and gradient norm, the share that was clipped, and totals so far."""

    epoch: float
    loss: float
    lr: float
    gradient: float
    clipped: float
    tokens: int
    seconds: float


@dataclass(frozen=True)
class Tick(Event):
    """One step was taken; for those who show progress. It is not logged."""

    total: int
    epoch: int
    loss: float
    tokens: int  # of this step


@dataclass(frozen=True)
class Skip(Event):
    """A step was left out, because its loss or gradient was not finite."""

    what: str
    value: float


@dataclass(frozen=True)
class Valid(Event):
    """The model was measured on the validation part."""

    epoch: float
    scores: dict[str, float]
    best: bool


@dataclass(frozen=True)
class Average(Event):
    """The weights of some validations were averaged at the end, and measured; whether that is the best of all."""

    steps: tuple[int, ...]
    scores: dict[str, float]
    best: bool


@dataclass(frozen=True)
class Sample(Event):
    """A text that the model wrote."""

    prompt: str
    text: str


@dataclass(frozen=True)
class Saved(Event):
    """A checkpoint is on the disk. It is not logged."""


@dataclass(frozen=True)
class Resume(Event):
    """The run goes on from here."""

    time: str


@dataclass(frozen=True)
class Stop(Event):
    """The run was asked to stop, or had to."""

    why: str


@dataclass(frozen=True)
class End(Event):
    """The run is finished."""

    seconds: float


Listener = Callable[[Event], None]
NOT_LOGGED = (Reading, Ready, Tick, Saved)


def plain(values: Mapping[str, object]) -> dict[str, object]:
    """An object as JSON can hold it: numbers that are not finite become words.

    >>> plain({"loss": math.nan, "steps": (1, 2)})
    {'loss': 'nan', 'steps': [1, 2]}
    """
    return {name: plain_value(value) for name, value in values.items()}


def plain_value(value: object) -> object:
    """The same of any value."""
    if isinstance(value, Mapping):
        return plain(value)
    if isinstance(value, list | tuple):
        return [plain_value(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
