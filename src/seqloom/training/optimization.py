"""Gradient clipping and optimizers, built-in and user-defined; the state of an optimizer."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop

from seqloom.core import names
from seqloom.core.config.train import Train
from seqloom.core.part import Part, register_function
from seqloom.core.part_origin import location_of
from seqloom.core.problem import PartError
from seqloom.core.registry import Registry
from seqloom.core.wording import short_repr
from seqloom.nn.heads.head import Loss
from seqloom.training.schedules import TRIAL_CONFIG

TRIAL_STEPS = 24  # before a checkpoint and after it
BUILTIN = (SGD, Adagrad, RMSprop, Adam, AdamW)


# Gradients -----------------------------------------------------------------------------------------------------------


@torch.no_grad()
def loss_and_norm(losses: Sequence[Loss], gradients: list[Tensor]) -> tuple[float, int, float]:
    """Σ losses, the number of their items, and ‖Σ g‖ over all weights. The host waits for the device once.

    >>> loss_and_norm([Loss(torch.tensor(2.5), torch.tensor(4))], [torch.tensor([3.0]), torch.tensor([4.0])])
    (2.5, 4, 5.0)
    """
    totals, counts = ([value.float() for value in values] for values in zip(*losses, strict=True))
    norm = torch.nn.utils.get_total_norm(gradients).float().to(totals[0].device)
    values = torch.stack([*totals, *counts, norm]).tolist()
    return sum(values[: len(losses)]), int(sum(values[len(losses) : -1])), values[-1]


@torch.no_grad()
def average_and_clip(gradients: list[Tensor], norm: float, count: int, train: Train) -> bool:
    """Divide summed gradients by `count` and clip them, in place; return whether they were clipped by norm.

    norm: that of the gradients divided by `count`

        g ← Σ g / n
        g ← g · min(1, c / ‖g‖)             clip_norm = c (Pascanu et al. 2013)
        g ← min(max(g, −v), v)              clip_value = v

    If the norm is not finite, the gradients stay as they are, and the caller skips the step.
    """
    if not math.isfinite(norm):
        return False
    scale, clipped = 1 / max(count, 1), False
    if train.clip_norm is not None and norm > train.clip_norm:
        scale *= train.clip_norm / (norm + 1e-6)  # as torch.nn.utils.clip_grad_norm_ does
        clipped = True
    if gradients and scale != 1:
        torch._foreach_mul_(gradients, scale)
    if train.clip_value is not None and gradients:
        torch._foreach_clamp_min_(gradients, -train.clip_value)
        torch._foreach_clamp_max_(gradients, train.clip_value)
    return clipped


# Optimizers ----------------------------------------------------------------------------------------------------------

ParamGroups = list[dict[str, Any]]
OptimizerBuilder = Callable[[ParamGroups, Train], Optimizer]


# g is the gradient, with l2 · w added to it; η the learning rate.
BUILTIN_OPTIMIZERS: dict[str, OptimizerBuilder] = {
    # w ← w − η g
    "sgd": lambda groups, c: SGD(groups, c.lr, weight_decay=c.l2),
    # v ← μ v + g;   w ← w − η v                                              (Polyak 1964)
    "momentum": lambda groups, c: SGD(groups, c.lr, momentum=c.momentum, weight_decay=c.l2),
    # s ← s + g²;   w ← w − η g / (√s + ε)                                    (Duchi et al. 2011)
    "adagrad": lambda groups, c: Adagrad(groups, c.lr, weight_decay=c.l2, eps=c.epsilon),
    # s ← β s + (1 − β) g²;   v ← μ v + g / (√s + ε);   w ← w − η v           (Tieleman & Hinton 2012)
    "rmsprop": lambda groups, c: RMSprop(groups, c.lr, c.beta2, c.epsilon, c.l2, c.momentum),
    # m ← β₁ m + (1 − β₁) g;   s ← β₂ s + (1 − β₂) g²;   w ← w − η m̂ / (√ŝ + ε)      (Kingma & Ba 2015)
    "adam": lambda groups, c: Adam(groups, c.lr, (c.beta1, c.beta2), c.epsilon, c.l2, fused=True),
    # as adam, and w ← w − η · decay · w                                      (Loshchilov & Hutter 2019)
    "adamw": lambda groups, c: AdamW(groups, c.lr, (c.beta1, c.beta2), c.epsilon, fused=True),
}
OPTIMIZERS = Registry(names.OPTIMIZERS, BUILTIN_OPTIMIZERS)


def build_optimizer(model: nn.Module, train: Train) -> Optimizer:
    """The optimizer of a model's weights. AdamW decays matrices only: no biases, norms or scales."""
    weights = list(model.parameters())
    if train.optimizer != "adamw":
        return OPTIMIZERS[train.optimizer]([{"params": weights}], train)
    matrices = {"params": [weight for weight in weights if weight.dim() >= 2], "weight_decay": train.weight_decay}
    vectors = {"params": [weight for weight in weights if weight.dim() < 2], "weight_decay": 0.0}
    return OPTIMIZERS[train.optimizer]([group for group in (matrices, vectors) if group["params"]], train)


@register_function("optimizer")
def register_optimizer(part: Part) -> None:
    """An optimizer, for `train.optimizer`: a `torch.optim.Optimizer`, called as `part(groups, lr=train.lr)`, or a
    function of (groups, train) that returns one. Registration tries a step.

    seqloom.register.optimizer("adamax", torch.optim.Adamax)
    """
    optimizer_class: Callable[..., object] | None = part.value if isinstance(part.value, type) else None
    if isinstance(part.value, type) and not issubclass(part.value, Optimizer):
        advice = "Derive it from torch.optim.Optimizer, or write a function of (groups, train)"
        raise part.misfit("is not a torch.optim.Optimizer", advice)
    function = optimizer_class or part.as_function("groups, train")

    def build(groups: ParamGroups, train: Train) -> Optimizer:
        with part.errors():
            optimizer = function(groups, lr=train.lr) if optimizer_class else function(groups, train)
        if not isinstance(optimizer, Optimizer):
            reason = f"returned {short_repr(optimizer)}, not a torch.optim.Optimizer"
            raise part.misfit(reason, "Return the optimizer of the groups")
        return optimizer

    try:
        check_resumes(part, build, "cpu")
    except PartError:
        if not torch.cuda.is_available():
            raise
        check_resumes(part, build, "cuda")  # some run on a GPU only
    OPTIMIZERS.register(part.name, build, part.origin)


def check_resumes(part: Part, build: OptimizerBuilder, device: str) -> None:
    """Check that steps with a checkpoint between them end where steps without one do."""

    def take_steps(weight: nn.Parameter, optimizer: Optimizer, steps: range) -> None:
        with torch.random.fork_rng(devices=[]):
            for step in steps:
                torch.default_generator.manual_seed(step)  # an optimizer may draw noise
                weight.grad = torch.full_like(weight, 1 + step)
                optimizer.step()

    weight, copy = (nn.Parameter(torch.ones(2, 3, device=device)) for _ in range(2))
    optimizer = build([{"params": [weight]}], TRIAL_CONFIG)
    if [id(w) for group in optimizer.param_groups for w in group["params"]] != [id(weight)]:
        raise part.misfit("has other weights than it was given", "Give it the groups")
    with part.errors():
        take_steps(weight, optimizer, range(TRIAL_STEPS))
        saved = {key: value.clone() for key, value in state_tensors(optimizer).items()}
        resumed = build([{"params": [copy]}], TRIAL_CONFIG)
        copy.data.copy_(weight)
        restore_state(resumed, saved)
        take_steps(weight, optimizer, range(TRIAL_STEPS, 2 * TRIAL_STEPS))
        take_steps(copy, resumed, range(TRIAL_STEPS, 2 * TRIAL_STEPS))
    if not torch.equal(weight, copy):
        reason = "gives different steps after its state was saved and restored"
        advice = "Keep what changes from step to step in `self.state` or in its groups, as tensors and numbers"
        raise part.misfit(reason, advice)


# Optimizer state -----------------------------------------------------------------------------------------------------


def state_tensors(optimizer: Optimizer) -> dict[str, Tensor]:
    """An optimizer's state as named tensors: `3.exp_avg` belongs to the weight of index 3.

    A user-defined optimizer may also keep numbers: `number.3.count` of a weight, `group.0.count` of a group.
    """

    def error(name: str, value: object) -> PartError:
        kind = type(optimizer).__name__
        message = f"{kind} keeps {short_repr(value)} as {name!r} in its state, which a checkpoint can't hold"
        return PartError(message, "Keep tensors and numbers", location=location_of(optimizer), code="part-state")

    def as_tensor(name: str, value: object) -> Tensor:
        if isinstance(value, Tensor):
            return value
        if isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63):
            return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)  # holds all bits
        raise error(name, value)

    state = optimizer.state_dict()
    tensors: dict[str, Tensor] = {}
    for index, values in state["state"].items():
        if not isinstance(index, int) or not isinstance(values, dict):
            raise error(str(index), values)
        for name, value in values.items():
            key = f"{index}.{name}" if isinstance(value, Tensor) else f"number.{index}.{name}"
            if value is not None:
                tensors[key] = as_tensor(name, value)
    if type(optimizer) not in BUILTIN:
        for index, group in enumerate(state["param_groups"]):
            numbers = {name: value for name, value in group.items() if isinstance(value, int | float | Tensor)}
            tensors |= {f"group.{index}.{name}": as_tensor(name, value) for name, value in numbers.items()}
    return tensors


def restore_state(optimizer: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Load what `state_tensors` returned. A built-in optimizer's tensors have their weight's shape or one element."""
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    groups = optimizer.state_dict()["param_groups"]
    state: dict[int, dict[str, Any]] = {}
    for key, tensor in tensors.items():
        kind, _, rest = key.partition(".") if key.startswith(("number.", "group.")) else ("", "", key)
        number, name = rest.split(".", 1)
        index = int(number)
        if kind == "group":
            groups[index][name] = tensor if isinstance(groups[index].get(name), Tensor) else tensor.item()
            continue
        if type(optimizer) in BUILTIN and tensor.numel() != 1 and tensor.shape != weights[index].shape:
            raise ValueError(f"the optimizer's {key} is {list(tensor.shape)}")
        state.setdefault(index, {})[name] = tensor.item() if kind == "number" else tensor
    optimizer.load_state_dict({"state": state, "param_groups": groups})
    for index, values in state.items():  # load_state_dict rounds to the dtype of the weight
        loaded = optimizer.state[weights[index]]
        for name, value in values.items():
            if isinstance(value, Tensor) and value.dtype != loaded[name].dtype:
                loaded[name] = value
