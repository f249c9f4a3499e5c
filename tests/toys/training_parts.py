"""Examples of a user-defined optimizer and a user-defined schedule."""

from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer

import seqloom
from seqloom.core.config.train import Train
from seqloom.training.optimization import ParamGroups
from seqloom.training.schedules import ScheduleState


class Drift(Optimizer):
    """w ← w − η m / (1 + c), where m is a mean of gradients; it has every kind of state that a checkpoint can store."""

    def __init__(self, groups: ParamGroups, lr: float, keep: float = 0.9) -> None:
        super().__init__(groups, {"lr": lr, "keep": keep, "steps": 0, "total": 0.0})

    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            group["steps"] += 1
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state: dict[str, Any] = self.state[weight]
                if not state:
                    state |= {
                        "mean": torch.zeros_like(weight, dtype=torch.float64),
                        "rows": torch.zeros(weight.shape[:1]),
                    }
                    state |= {"count": 0, "norm": 0.1, "seen": False, "nothing": None}
                state["mean"].mul_(group["keep"]).add_(weight.grad.double(), alpha=1 - group["keep"])
                state["rows"] += weight.grad.reshape(len(weight), -1).sum(1)
                state["count"] += 1
                state["norm"] += float(weight.grad.norm()) / 3
                state["seen"] = True
                group["total"] += state["norm"] * 1e-3
                scale = group["lr"] / (1 + group["total"] + state["count"] / (7 + group["steps"]))
                weight.data -= (scale * state["mean"]).float()
                weight.data[:1] -= 1e-6 * state["rows"].mean() * state["norm"]


def drift(groups: ParamGroups, train: Train) -> Optimizer:
    """`Drift` with the momentum of the config."""
    return Drift(groups, train.lr, keep=train.momentum)


def sawtooth(state: ScheduleState, train: Train) -> float:
    """Decay to the minimum every five steps."""
    return max(train.min_lr_ratio, 1 - state.step % 5 / 5)


def register() -> None:
    seqloom.register.optimizer("drift", Drift)
    seqloom.register.optimizer("drift-with-momentum", drift)
    seqloom.register.schedule("sawtooth", sawtooth)
