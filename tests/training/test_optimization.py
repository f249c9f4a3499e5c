"""Clipping equals the functions of torch; optimizers equal their equations in float64."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from seqloom.core.config.applicability import holds
from seqloom.core.config.section import info_of
from seqloom.core.config.train import Train
from seqloom.core.names import OPTIMIZERS
from seqloom.nn.heads.head import Loss
from seqloom.training.optimization import (
    average_and_clip,
    build_optimizer,
    loss_and_norm,
)
from tests.training.small import tiny

# Gradients ------------------------------------------------------------------------------------------------------------


def clip_config(clip_norm: float | str = "none", clip_value: float | None = None) -> Train:
    return tiny("language", train={"clip_norm": clip_norm, "clip_value": clip_value}).train


def weights(seed: int = 0, scale: float = 1.0) -> list[Tensor]:
    """Two weights with gradients and one without."""
    generator = torch.Generator().manual_seed(seed)
    parameters = [nn.Parameter(torch.zeros(size)) for size in ((3, 2), (4,), (2,))]
    for weight in parameters[:2]:
        weight.grad = scale * torch.randn(weight.shape, generator=generator)
    return list(parameters)


def norm(tensors: list[Tensor]) -> float:
    return loss_and_norm([Loss(torch.tensor(0.0), torch.tensor(1))], tensors)[2]


def clip(parameters: list[Tensor], count: int, train: Train) -> tuple[float, bool]:
    """Clip as a training step does."""
    length = norm(gradients(parameters)) / max(count, 1)
    return length, average_and_clip(gradients(parameters), length, count, train)


def gradients(parameters: list[Tensor]) -> list[Tensor]:
    return [weight.grad for weight in parameters if weight.grad is not None]


@given(st.integers(0, 1000), st.floats(0.01, 10), st.integers(1, 500), st.floats(0.1, 1000))
def test_clip_norm_equals_that_of_torch_on_the_mean(seed: int, limit: float, count: int, scale: float) -> None:
    actual, expected = weights(seed, scale), weights(seed, scale)
    length, clipped = clip(actual, count, clip_config(limit))
    for weight in expected:
        if weight.grad is not None:
            weight.grad /= count
    torch_norm = float(nn.utils.clip_grad_norm_(expected, limit))
    assert length == pytest.approx(torch_norm, rel=1e-5)
    assert clipped == (length > limit)
    for left, right in zip(gradients(actual), gradients(expected), strict=True):
        torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-7)
    assert norm(gradients(actual)) <= limit * (1 + 1e-5)


@given(st.integers(0, 1000), st.floats(0.01, 2))
def test_clip_value_equals_that_of_torch(seed: int, limit: float) -> None:
    actual, expected = weights(seed), weights(seed)
    length, clipped = clip(actual, 1, clip_config(clip_value=limit))
    nn.utils.clip_grad_value_(expected, limit)
    assert not clipped  # only clip_norm sets it
    assert length == pytest.approx(norm(gradients(weights(seed))))
    for left, right in zip(gradients(actual), gradients(expected), strict=True):
        torch.testing.assert_close(left, right)


def test_clip_norm_is_applied_before_clip_value() -> None:
    weight = nn.Parameter(torch.zeros(2))
    weight.grad = torch.tensor([30.0, -40.0])
    assert clip([weight], 10, clip_config(1.0, 0.7)) == (pytest.approx(5.0), True)
    torch.testing.assert_close(weight.grad, torch.tensor([0.6, -0.7]), rtol=1e-5, atol=0)


def test_without_clipping_the_gradient_is_the_mean() -> None:
    actual, before = weights(), gradients(weights())
    assert clip(actual, 4, clip_config()) == (pytest.approx(norm(before) / 4), False)
    for left, right in zip(gradients(actual), before, strict=True):
        torch.testing.assert_close(left, right / 4)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_gradients_that_are_not_finite_stay_unchanged(value: float) -> None:
    actual = weights()
    gradients(actual)[1][2] = value
    before = [gradient.clone() for gradient in gradients(actual)]
    length, clipped = clip(actual, 3, clip_config(0.1, 0.1))
    assert not math.isfinite(length)
    assert not clipped
    for left, right in zip(gradients(actual), before, strict=True):
        torch.testing.assert_close(left, right, rtol=0, atol=0, equal_nan=True)


def test_without_gradients_or_items_nothing_changes() -> None:
    assert clip([nn.Parameter(torch.zeros(2))], 3, clip_config(1.0, 1.0)) == (0.0, False)
    assert clip(weights(), 0, clip_config())[0] == pytest.approx(
        norm(gradients(weights()))
    )  # without items the sum is not divided


def test_losses_of_batches_are_summed_in_double_precision() -> None:
    losses = [Loss(torch.tensor(0.1), torch.tensor(3)), Loss(torch.tensor(2.0), torch.tensor(16_777_216))]
    total, count, length = loss_and_norm(losses, [torch.tensor([[3.0]]), torch.tensor([4.0])])
    assert total == float(torch.tensor(0.1)) + 2.0  # in double precision
    assert count == 16_777_219
    assert length == 5.0


# Optimizers -----------------------------------------------------------------------------------------------------------


STEPS = 5
Array = np.ndarray[Any, np.dtype[np.float64]]


def optimizer_config(optimizer: str = "sgd", **more: Any) -> Train:
    """A config with another momentum and epsilon than the defaults, if the optimizer has them."""
    own = {"momentum": 0.7, "epsilon": 1e-6}
    used = {name: info_of(Train.model_fields[name]).only_with["train.optimizer"] for name in own}
    has = {name: value for name, value in own.items() if holds(used[name], optimizer)}
    return tiny("language", train={"optimizer": optimizer, "lr": 0.1, **has, **more}).train


class Problem(nn.Module):
    """½ ‖A w + b − y‖², with a matrix and a vector as parameters."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.w = nn.Parameter(torch.randn(3, 2, dtype=torch.float64))
        self.b = nn.Parameter(torch.randn(2, dtype=torch.float64))
        self.A = torch.randn(4, 3, dtype=torch.float64)
        self.y = torch.randn(4, 2, dtype=torch.float64)

    def forward(self) -> torch.Tensor:
        return 0.5 * (self.A @ self.w + self.b - self.y).square().sum()


def by_seqloom(config: Train) -> list[Array]:
    problem = Problem()
    optimizer = build_optimizer(problem, config)
    for _ in range(STEPS):
        optimizer.zero_grad()
        problem().backward()
        optimizer.step()
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


def by_hand(config: Train) -> list[Array]:
    problem = Problem()
    A, y = problem.A.numpy(), problem.y.numpy()
    w, b = problem.w.detach().numpy().copy(), problem.b.detach().numpy().copy()
    memories: list[dict[str, Array]] = [{}, {}]
    for t in range(1, STEPS + 1):
        error = A @ w + b - y
        gradients = [A.T @ error + config.l2 * w, error.sum(axis=0) + config.l2 * b]
        update = EQUATIONS[config.optimizer]
        w, b = (update(v, g, m, t, config) for v, g, m in zip((w, b), gradients, memories, strict=True))
    return [w, b]


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_each_optimizer_equals_its_equation(name: str, l2: float) -> None:
    config = optimizer_config(optimizer=name, **({"weight_decay": l2} if name == "adamw" else {"l2": l2}))
    for actual, expected in zip(by_seqloom(config), by_hand(config), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


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


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_each_optimizer_equals_that_of_torch(name: str) -> None:
    problem = Problem()
    optimizer = TORCH[name]([problem.w, problem.b])
    for _ in range(STEPS):
        optimizer.zero_grad()
        problem().backward()
        optimizer.step()
    actual = by_seqloom(optimizer_config(optimizer=name, **({"weight_decay": 0.2} if name == "adamw" else {"l2": 0.2})))
    for ours, theirs in zip(actual, (problem.w, problem.b), strict=True):
        np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-12)


def test_weight_decay_applies_to_matrices_only() -> None:
    """Without a gradient, a step changes a weight by its decay alone."""
    model = nn.ModuleDict({"linear": nn.Linear(3, 2), "norm": nn.LayerNorm(3), "conv": nn.Conv1d(2, 2, 3)})
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    build_optimizer(model, optimizer_config(optimizer="adamw", weight_decay=0.5)).step()
    for name, weight in model.named_parameters():
        factor = 1 - 0.1 * 0.5 if name in ("linear.weight", "conv.weight") else 1.0
        torch.testing.assert_close(weight.detach(), before[name] * factor)


def test_each_weight_is_in_one_group() -> None:
    matrices, vectors = build_optimizer(nn.LSTM(3, 4), optimizer_config(optimizer="adamw")).param_groups
    assert [weight.dim() for weight in matrices["params"]] == [2, 2]
    assert [weight.dim() for weight in vectors["params"]] == [1, 1]


def test_a_model_without_vectors_has_one_group() -> None:
    groups = build_optimizer(
        nn.Linear(3, 2, bias=False), optimizer_config(optimizer="adamw", weight_decay=0.1)
    ).param_groups
    assert [(len(group["params"]), group["weight_decay"]) for group in groups] == [(1, 0.1)]


def test_a_resolved_config_gives_the_same_optimizer() -> None:
    """A resolved config has every key, and gives the same optimizer."""
    for name in OPTIMIZERS:
        config = tiny("language", train={"optimizer": name}).train
        resolved = type(config).model_validate(config.model_dump())
        first, second = (build_optimizer(Problem(), either).param_groups for either in (config, resolved))
        for left, right in zip(first, second, strict=True):
            settings = {key: value for key, value in left.items() if key != "params"}
            assert settings == {key: value for key, value in right.items() if key != "params"}
            assert all(math.isfinite(value) for value in settings.values() if isinstance(value, float))
