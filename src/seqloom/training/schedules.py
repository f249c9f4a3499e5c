"""Learning rate schedules, built-in and user-defined. This module does not import torch."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from seqloom.core import names
from seqloom.core.config.train import Train
from seqloom.core.part import Part, register_function
from seqloom.core.registry import Registry
from seqloom.core.wording import short_repr

# The config for checks at registration.
TRIAL_CONFIG = Train(batch_tokens=1, batch_size=1, optimizer="sgd", lr=0.1, schedule="constant")


@dataclass(frozen=True)
class ScheduleState:
    """What a learning rate schedule depends on: steps taken, steps in all, epochs finished, plateaus so far."""

    step: int
    total_steps: int
    epoch: int
    plateaus: int


Schedule = Callable[[ScheduleState, Train], float]
"""A factor of `train.lr`."""


BUILTIN_SCHEDULES: dict[str, Schedule] = {
    # 1
    "constant": lambda state, c: 1.0,
    # 2^−⌊epoch / k⌋
    "halve": lambda state, c: 0.5 ** (state.epoch // c.halve_every),
    # 2^−plateaus;   a plateau: k validations in a row without a better one
    "plateau": lambda state, c: 0.5**state.plateaus,
    # √(w / max(s, w));   s the step from 1, w the warm-up, at least 1        (Vaswani et al. 2017)
    "inverse-sqrt": lambda state, c: math.sqrt(max(c.warmup, 1) / max(state.step + 1, c.warmup, 1)),
    # m + (1 − m) (1 + cos πr) / 2;   r the fraction done of the steps after the warm-up, m the least ratio
    "cosine": lambda state, c: (
        c.min_lr_ratio + (1 - c.min_lr_ratio) * 0.5 * (1 + math.cos(math.pi * fraction_done(state, c)))
    ),
}
SCHEDULES = Registry(names.SCHEDULES, BUILTIN_SCHEDULES)


def fraction_done(state: ScheduleState, train: Train) -> float:
    fraction = (state.step - train.warmup) / max(1, state.total_steps - train.warmup)
    return min(1.0, max(0.0, fraction))


def learning_rate(state: ScheduleState, train: Train) -> float:
    """The learning rate of the next step: a linear warm-up times the schedule."""
    warmup = min(1.0, (state.step + 1) / train.warmup) if train.warmup else 1.0
    return train.lr * warmup * SCHEDULES[train.schedule](state, train)


@register_function("schedule")
def register_schedule(part: Part) -> None:
    """A learning rate schedule, for `train.schedule`: a function of (state, train) that returns a factor of `train.lr`.

    state: a `seqloom.training.schedules.ScheduleState`: step, total_steps, epoch, plateaus

    @seqloom.register.schedule("linear")
    def linear(state, train):
        return 1 - state.step / state.total_steps
    """
    function = part.as_function("state, train")

    def schedule(state: ScheduleState, train: Train) -> float:
        value = part.call(function, state, train)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            reason = f"is {short_repr(value)} at step {state.step} of {state.total_steps}"
            raise part.misfit(reason, "Return a finite factor of train.lr, 0 or more")
        return float(value)

    for trial in ((0, 1, 0, 0), (0, 100, 0, 0), (50, 100, 2, 1), (100, 100, 5, 3)):
        state = ScheduleState(*trial)
        if schedule(state, TRIAL_CONFIG) != schedule(state, TRIAL_CONFIG):
            reason = f"gave two results for step {state.step} of {state.total_steps}"
            raise part.misfit(reason, "Compute the factor from `state` alone, so that a run can resume")
    SCHEDULES.register(part.name, schedule, part.origin)
