"""Optimisers: the equations above their names, in plain float64, and torch's own."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from seqloom.core.config.applicability import holds
from seqloom.core.config.section import info_of
from seqloom.core.config.train import Train
from seqloom.core.names import OPTIMIZERS as NAMES
from seqloom.training.optimization import build_optimizer
from tests.training.small import tiny

STEPS = 5
Array = np.ndarray[Any, np.dtype[np.float64]]


def part(optimizer: str = "sgd", **more: Any) -> Train:
    """With a momentum and an epsilon of its own where the optimizer has them."""
    own = {"momentum": 0.7, "epsilon": 1e-6}
    used = {name: info_of(Train.model_fields[name]).only_with["train.optimizer"] for name in own}
    has = {name: value for name, value in own.items() if holds(used[name], optimizer)}
    return tiny("language", train={"optimizer": optimizer, "lr": 0.1, **has, **more}).train


class Problem(nn.Module):
    """½ ‖A w + b − y‖², a matrix and a vector to learn."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.w = nn.Parameter(torch.randn(3, 2, dtype=torch.float64))
        self.b = nn.Parameter(torch.randn(2, dtype=torch.float64))
        self.A = torch.randn(4, 3, dtype=torch.float64)
        self.y = torch.randn(4, 2, dtype=torch.float64)

    def forward(self) -> torch.Tensor:
        return 0.5 * (self.A @ self.w + self.b - self.y).square().sum()


def by_package(chosen: Train) -> list[Array]:
    problem = Problem()
    steps = build_optimizer(problem, chosen)
    for _ in range(STEPS):
        steps.zero_grad()
        problem().backward()
        steps.step()
    return [problem.w.detach().numpy(), problem.b.detach().numpy()]


Update = Callable[[Array, Array, dict[str, Array], int, Train], Array]


def zeros(memory: dict[str, Array], name: str, like: Array) -> Array:
    return memory.setdefault(name, np.zeros_like(like))


def sgd(w: Array, g: Array, memory: dict[str, Array], t: int, p: Train) -> Array:
    return w - p.lr * g


def momentum(w: Array, g: Array, memory: dict[str, Array], t: int, p: Train) -> Array:
    memory["v"] = p.momentum * zeros(memory, "v", w) + g
    return w - p.lr * memory["v"]


def adagrad(w: Array, g: Array, memory: dict[str, Array], t: int, p: Train) -> Array:
    memory["s"] = zeros(memory, "s", w) + g**2
    return w - p.lr * g / (np.sqrt(memory["s"]) + p.epsilon)


def rmsprop(w: Array, g: Array, memory: dict[str, Array], t: int, p: Train) -> Array:
    memory["s"] = p.beta2 * zeros(memory, "s", w) + (1 - p.beta2) * g**2
    memory["v"] = p.momentum * zeros(memory, "v", w) + g / (np.sqrt(memory["s"]) + p.epsilon)
    return w - p.lr * memory["v"]


def adam(w: Array, g: Array, memory: dict[str, Array], t: int, p: Train) -> Array:
    memory["m"] = p.beta1 * zeros(memory, "m", w) + (1 - p.beta1) * g
    memory["s"] = p.beta2 * zeros(memory, "s", w) + (1 - p.beta2) * g**2
    m, s = memory["m"] / (1 - p.beta1**t), memory["s"] / (1 - p.beta2**t)
    return w - p.lr * m / (np.sqrt(s) + p.epsilon)


def adamw(w: Array, g: Array, memory: dict[str, Array], t: int, p: Train) -> Array:
    decay = p.weight_decay if w.ndim > 1 else 0.0
    return adam(w, g, memory, t, p) - p.lr * decay * w


EQUATIONS: dict[str, Update] = {
    "sgd": sgd,
    "momentum": momentum,
    "adagrad": adagrad,
    "rmsprop": rmsprop,
    "adam": adam,
    "adamw": adamw,
}


def by_hand(chosen: Train) -> list[Array]:
    problem = Problem()
    A, y = problem.A.numpy(), problem.y.numpy()
    w, b = problem.w.detach().numpy().copy(), problem.b.detach().numpy().copy()
    memories: list[dict[str, Array]] = [{}, {}]
    for t in range(1, STEPS + 1):
        error = A @ w + b - y
        gradients = [A.T @ error + chosen.l2 * w, error.sum(axis=0) + chosen.l2 * b]
        update = EQUATIONS[chosen.optimizer]
        w, b = (update(v, g, m, t, chosen) for v, g, m in zip((w, b), gradients, memories, strict=True))
    return [w, b]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_the_equation(name: str, l2: float) -> None:
    chosen = part(optimizer=name, **({"weight_decay": l2} if name == "adamw" else {"l2": l2}))
    for came, expected in zip(by_package(chosen), by_hand(chosen), strict=True):
        np.testing.assert_allclose(came, expected, rtol=1e-9, atol=1e-12)


TORCH: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda weights: torch.optim.SGD(weights, 0.1, weight_decay=0.2),
    "momentum": lambda weights: torch.optim.SGD(weights, 0.1, momentum=0.7, weight_decay=0.2),
    "adagrad": lambda weights: torch.optim.Adagrad(weights, 0.1, eps=1e-6, weight_decay=0.2),
    "rmsprop": lambda weights: torch.optim.RMSprop(weights, 0.1, alpha=0.999, eps=1e-6, momentum=0.7, weight_decay=0.2),
    "adam": lambda weights: torch.optim.Adam(weights, 0.1, eps=1e-6, weight_decay=0.2),
    "adamw": lambda weights: torch.optim.AdamW(
        [{"params": weights[:1]}, {"params": weights[1:], "weight_decay": 0.0}], 0.1, eps=1e-6, weight_decay=0.2
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_equals_torchs_own(name: str) -> None:
    problem = Problem()
    steps = TORCH[name]([problem.w, problem.b])
    for _ in range(STEPS):
        steps.zero_grad()
        problem().backward()
        steps.step()
    came = by_package(part(optimizer=name, **({"weight_decay": 0.2} if name == "adamw" else {"l2": 0.2})))
    for ours, theirs in zip(came, (problem.w, problem.b), strict=True):
        np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-12)


def test_decay_is_for_matrices_alone() -> None:
    """With no gradient, what is left of a weight after a step is what decay left of it."""
    model = nn.ModuleDict({"linear": nn.Linear(3, 2), "norm": nn.LayerNorm(3), "conv": nn.Conv1d(2, 2, 3)})
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    build_optimizer(model, part(optimizer="adamw", weight_decay=0.5)).step()
    for name, weight in model.named_parameters():
        factor = 1 - 0.1 * 0.5 if name in ("linear.weight", "conv.weight") else 1.0
        torch.testing.assert_close(weight.detach(), before[name] * factor)


def test_each_weight_is_in_one_group() -> None:
    matrices, vectors = build_optimizer(nn.LSTM(3, 4), part(optimizer="adamw")).param_groups
    assert [weight.dim() for weight in matrices["params"]] == [2, 2]
    assert [weight.dim() for weight in vectors["params"]] == [1, 1]


def test_a_model_without_vectors_has_one_group() -> None:
    groups = build_optimizer(nn.Linear(3, 2, bias=False), part(optimizer="adamw", weight_decay=0.1)).param_groups
    assert [(len(group["params"]), group["weight_decay"]) for group in groups] == [(1, 0.1)]


def test_what_the_config_says_is_what_steps_with_or_without_saying_it() -> None:
    """A resolved config, read back with every key spelt out, must give the same optimizer."""
    for name in NAMES:
        chosen = tiny("language", train={"optimizer": name}).train
        told = type(chosen).model_validate(chosen.model_dump())
        first, second = (build_optimizer(Problem(), each).param_groups for each in (chosen, told))
        for one, other in zip(first, second, strict=True):
            settings = {key: value for key, value in one.items() if key != "params"}
            assert settings == {key: value for key, value in other.items() if key != "params"}
            assert all(math.isfinite(value) for value in settings.values() if isinstance(value, float))
