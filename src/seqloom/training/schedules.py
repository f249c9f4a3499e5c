"""How the learning rate goes: a factor of `train.lr`, a pure function of where the run stands."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from seqloom.spec import names
from seqloom.spec.config.train import Train
from seqloom.spec.origin import Origin
from seqloom.spec.part_checks import as_function, call, misfit
from seqloom.spec.registry import Registry, shown

SAMPLE = Train(batch=1, optimizer="sgd", lr=0.1, schedule="constant")  # what a registration tries a part with


@dataclass(frozen=True)
class Standing:
    """Where a run stands: steps taken, of how many, epochs finished, and how often a plateau has been met."""

    step: int
    total: int
    epoch: int
    plateaus: int


Factor = Callable[[Standing, Train], float]


def constant(at: Standing, part: Train) -> float:
    """1"""
    return 1.0


def halve(at: Standing, part: Train) -> float:
    """2^−⌊epoch / k⌋"""
    return 0.5 ** (at.epoch // part.halve_every)


def plateau(at: Standing, part: Train) -> float:
    """2^−(plateaus met): a plateau is k validations in a row without a better one."""
    return 0.5**at.plateaus


def inverse_sqrt(at: Standing, part: Train) -> float:
    """√(w / max(s, w)), s the step and w the warm-up (Vaswani et al. 2017): with w = 0, √(1 / s)"""
    warm = max(1, part.warmup)
    return math.sqrt(warm / max(at.step + 1, warm))


def cosine(at: Standing, part: Train) -> float:
    """f + (1 − f) (1 + cos πr) / 2, r the share of the steps after the warm-up that are taken, f the floor"""
    done = (at.step - part.warmup) / max(1, at.total - part.warmup)
    return part.floor + (1 - part.floor) * 0.5 * (1 + math.cos(math.pi * min(1.0, max(0.0, done))))


SCHEDULES: Registry[Factor] = Registry(
    names.SCHEDULES,
    {"constant": constant, "halve": halve, "plateau": plateau, "inverse-sqrt": inverse_sqrt, "cosine": cosine},
)


def rate(at: Standing, part: Train) -> float:
    """The learning rate of the next step: a linear rise in the warm-up, times the schedule."""
    rise = min(1.0, (at.step + 1) / part.warmup) if part.warmup else 1.0
    return part.lr * rise * SCHEDULES[part.schedule](at, part)


def register(name: str, part: object) -> None:
    """Add a user-defined schedule: a function of (at, train) to a factor of `train.lr`, tried at a few standings."""
    function = as_function("schedule", name, part, "at", "train")

    def factor(at: Standing, train: Train) -> float:
        value = call("schedule", name, part, lambda: function(at, train))
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            reason = f"is {shown(value)} at step {at.step} of {at.total}"
            raise misfit("schedule", name, part, reason, "Return a finite factor of train.lr, 0 or more")
        return float(value)

    for at in (Standing(0, 1, 0, 0), Standing(0, 100, 0, 0), Standing(50, 100, 2, 1), Standing(100, 100, 5, 3)):
        if factor(at, SAMPLE) != factor(at, SAMPLE):
            reason = f"gave two results for step {at.step} of {at.total}"
            raise misfit("schedule", name, part, reason, "Compute the factor from `at` alone, so that a run can resume")
    SCHEDULES.register(name, factor, Origin.registered(part))
