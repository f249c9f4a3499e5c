"""Where a run stands: everything that the loop remembers beside weights, optimizer and carried state."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any

NONE = ("best", "best_loss")  # fields that may have no value yet


@dataclass
class Recent:
    """Sums since the last line in the log."""

    loss: float = 0.0
    count: int = 0
    gradient: float = 0.0
    clipped: int = 0
    steps: int = 0


@dataclass
class Progress:
    """Plain numbers, saved as JSON with each checkpoint."""

    epoch: int = 0
    item: int = 0  # how many of the epoch's items have been read
    step: int = 0  # how many steps have been taken, skipped ones included
    tokens: int = 0
    seconds: float = 0.0  # of all of it, over all sittings
    stepping: float = 0.0  # of them, in steps: without validations, samples and checkpoints
    best: float | None = None
    best_loss: float | None = None  # which of two equals is the better
    best_step: int = 0
    since_best: int = 0  # validations
    waiting: int = 0  # validations since the learning rate was last halved or the score last rose
    plateaus: int = 0
    not_finite: int = 0  # steps in a row
    validated: int = -1  # the step of the last validation
    validations: list[int] = field(default_factory=list)  # the steps of the last, as many as are averaged at the end
    log_bytes: int = 0  # of metrics.jsonl
    recent: Recent = field(default_factory=Recent)

    def told(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @staticmethod
    def of(told: dict[str, Any]) -> "Progress":
        """From JSON; keys that are not known are left out, values that can't be are refused."""
        recent = Recent(**checked(told.get("recent", {}), Recent))
        validations = told.get("validations", [])
        if not isinstance(validations, list) or not all(type(step) is int and step >= 0 for step in validations):
            raise ValueError(f"validations is {str(validations)[:50]!r}")
        return Progress(**{**checked(told, Progress), "recent": recent, "validations": validations})


def checked(told: dict[str, Any], kind: type) -> dict[str, Any]:
    """The values of the fields that are numbers: whole where they count, none below −1."""
    values = {}
    for each in fields(kind):
        value = told.get(each.name)
        if each.name not in told or each.name in ("recent", "validations") or (value is None and each.name in NONE):
            continue
        whole = each.type is int
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            raise ValueError(f"{each.name} is {str(value)[:50]!r}")
        if (whole and value < -1) or (each.name.endswith("bytes") and value < 0):
            raise ValueError(f"{each.name} is {value}")
        values[each.name] = value
    return values
