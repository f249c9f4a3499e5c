"""How the learning rate goes: a factor of `train.lr`, a pure function of where the run stands."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop

from seqloom.core import names
from seqloom.core.config.train import Train
from seqloom.core.part_checks import as_function, call_part, misfit
from seqloom.core.part_origin import Origin
from seqloom.core.problem import PartError
from seqloom.core.registry import Registry, short_repr
from seqloom.nn.heads.head import Loss

SAMPLE = Train(batch=1, optimizer="sgd", lr=0.1, schedule="constant")  # what a registration tries a part with


@dataclass(frozen=True)
class ScheduleState:
    """Where a run stands: steps taken, of how many, epochs finished, and how often a plateau has been met."""

    step: int
    total: int
    epoch: int
    plateaus: int


Factor = Callable[[ScheduleState, Train], float]


def constant(at: ScheduleState, part: Train) -> float:
    """1"""
    return 1.0


def halve(at: ScheduleState, part: Train) -> float:
    """2^−⌊epoch / k⌋"""
    return 0.5 ** (at.epoch // part.halve_every)


def plateau(at: ScheduleState, part: Train) -> float:
    """2^−(plateaus met): a plateau is k validations in a row without a better one."""
    return 0.5**at.plateaus


def inverse_sqrt(at: ScheduleState, part: Train) -> float:
    """√(w / max(s, w)), s the step and w the warm-up (Vaswani et al. 2017): with w = 0, √(1 / s)"""
    warm = max(1, part.warmup)
    return math.sqrt(warm / max(at.step + 1, warm))


def cosine(at: ScheduleState, part: Train) -> float:
    """f + (1 − f) (1 + cos πr) / 2, r the share of the steps after the warm-up that are taken, f the floor"""
    done = (at.step - part.warmup) / max(1, at.total - part.warmup)
    return part.floor + (1 - part.floor) * 0.5 * (1 + math.cos(math.pi * min(1.0, max(0.0, done))))


SCHEDULES: Registry[Factor] = Registry(
    names.SCHEDULES,
    {"constant": constant, "halve": halve, "plateau": plateau, "inverse-sqrt": inverse_sqrt, "cosine": cosine},
)


def rate(at: ScheduleState, part: Train) -> float:
    """The learning rate of the next step: a linear rise in the warm-up, times the schedule."""
    rise = min(1.0, (at.step + 1) / part.warmup) if part.warmup else 1.0
    return part.lr * rise * SCHEDULES[part.schedule](at, part)


def register_schedule(name: str, part: object) -> None:
    """Add a user-defined schedule: a function of (at, train) to a factor of `train.lr`, tried at a few standings."""
    function = as_function("schedule", name, part, "at", "train")

    def factor(at: ScheduleState, train: Train) -> float:
        value = call_part("schedule", name, part, lambda: function(at, train))
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            reason = f"is {short_repr(value)} at step {at.step} of {at.total}"
            raise misfit("schedule", name, part, reason, "Return a finite factor of train.lr, 0 or more")
        return float(value)

    for at in (
        ScheduleState(0, 1, 0, 0),
        ScheduleState(0, 100, 0, 0),
        ScheduleState(50, 100, 2, 1),
        ScheduleState(100, 100, 5, 3),
    ):
        if factor(at, SAMPLE) != factor(at, SAMPLE):
            reason = f"gave two results for step {at.step} of {at.total}"
            raise misfit("schedule", name, part, reason, "Compute the factor from `at` alone, so that a run can resume")
    SCHEDULES.register(name, factor, Origin.registered(part))


@torch.no_grad()
def read(losses: Sequence[Loss], gradients: list[Tensor]) -> tuple[float, int, float]:
    """Σ losses, the number of their items, and ‖Σ g‖ of all weights together: what a step waits for, in one wait.

    >>> read([Loss(torch.tensor(2.5), torch.tensor(4))], [torch.tensor([3.0]), torch.tensor([4.0])])
    (2.5, 4, 5.0)
    """
    totals, counts = ([value.float() for value in values] for values in zip(*losses, strict=True))
    norm = torch.nn.utils.get_total_norm(gradients).float().to(totals[0].device)
    *each, length = torch.stack([*totals, *counts, norm]).tolist()
    return sum(each[: len(losses)]), int(sum(each[len(losses) :])), length


@torch.no_grad()
def ready(gradients: list[Tensor], length: float, count: int, part: Train) -> bool:
    """Make of summed gradients their mean over `count` items, clipped in place; whether its norm, `length`, was cut.

        g ← Σ g / n
        g ← g · min(1, c / ‖g‖)             clip_norm = c (Pascanu et al. 2013)
        g ← min(max(g, −v), v)              clip_value = v

    A norm that is not finite leaves the gradients as they are: the step is for the caller to skip.
    """
    if not math.isfinite(length):
        return False
    scale = 1 / max(count, 1)
    clipped = part.clip_norm is not None and length > part.clip_norm
    if clipped:
        scale *= (part.clip_norm or 0.0) / (length + 1e-6)  # as torch.nn.utils.clip_grad_norm_ does
    if gradients and scale != 1:
        torch._foreach_mul_(gradients, scale)
    if part.clip_value is not None and gradients:
        torch._foreach_clamp_min_(gradients, -part.clip_value)
        torch._foreach_clamp_max_(gradients, part.clip_value)
    return clipped


Groups = list[dict[str, Any]]
Build = Callable[[Groups, Train], Optimizer]
TRIED = 24  # steps, before a checkpoint and after
BUILTIN = (SGD, Adagrad, RMSprop, Adam, AdamW)

# g is the gradient, with l2 · w added to it; η the learning rate.
OPTIMIZERS: Registry[Build] = Registry(
    names.OPTIMIZERS,
    {
        # w ← w − η g
        "sgd": lambda groups, part: SGD(groups, part.lr, weight_decay=part.l2),
        # v ← μ v + g;   w ← w − η v                                              (Polyak 1964)
        "momentum": lambda groups, part: SGD(groups, part.lr, momentum=part.momentum, weight_decay=part.l2),
        # s ← s + g²;   w ← w − η g / (√s + ε)                                    (Duchi et al. 2011)
        "adagrad": lambda groups, part: Adagrad(groups, part.lr, weight_decay=part.l2, eps=part.epsilon),
        # s ← β s + (1 − β) g²;   v ← μ v + g / (√s + ε);   w ← w − η v           (Tieleman & Hinton 2012)
        "rmsprop": lambda groups, part: RMSprop(
            groups,
            part.lr,
            alpha=part.beta2,
            eps=part.epsilon,
            momentum=part.momentum,
            weight_decay=part.l2,
        ),
        # m ← β₁ m + (1 − β₁) g;   s ← β₂ s + (1 − β₂) g²;   w ← w − η m̂ / (√ŝ + ε)      (Kingma & Ba 2015)
        "adam": lambda groups, part: Adam(groups, part.lr, betas(part), part.epsilon, part.l2, fused=True),
        # as adam, and w ← w − η · decay · w                                      (Loshchilov & Hutter 2019)
        "adamw": lambda groups, part: AdamW(groups, part.lr, betas(part), part.epsilon, fused=True),
    },
)


def betas(part: Train) -> tuple[float, float]:
    """β₁ and β₂."""
    return part.beta1, part.beta2


def optimizer(model: nn.Module, part: Train) -> Optimizer:
    """The optimizer of a model's weights. Decoupled decay is for matrices; biases, norms and scales have none."""
    if part.optimizer != "adamw":
        return OPTIMIZERS[part.optimizer]([{"params": list(model.parameters())}], part)
    matrices, others = parted(model.parameters())
    groups = [{"params": matrices, "weight_decay": part.decay}, {"params": others, "weight_decay": 0.0}]
    return OPTIMIZERS[part.optimizer]([group for group in groups if group["params"]], part)


def parted(parameters: Iterable[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Those of two dimensions or more, and the rest."""
    matrices: list[Tensor] = []
    others: list[Tensor] = []
    for parameter in parameters:
        (matrices if parameter.dim() >= 2 else others).append(parameter)
    return matrices, others


# User-defined optimizers ---------------------------------------------------------------------------------------------


def register_optimizer(name: str, part: object) -> None:
    """Add a user-defined optimizer: a class, called as `part(groups, lr=train.lr)`, or a function of (groups, train).

    A function reads the other keys of `train` that it wants; all of them may be given beside a user-defined optimizer.
    """
    if not isinstance(part, type):
        function = as_function("optimizer", name, part, "groups", "train")
    elif issubclass(part, Optimizer):
        function = with_rate(part)
    else:
        advice = "Derive it from torch.optim.Optimizer, or write a function of (groups, train)"
        raise misfit("optimizer", name, part, "is not a torch.optim.Optimizer", advice)

    def build(groups: Groups, train: Train) -> Optimizer:
        built = call_part("optimizer", name, part, lambda: function(groups, train))
        if not isinstance(built, Optimizer):
            reason = f"returned {short_repr(built)}, not a torch.optim.Optimizer"
            raise misfit("optimizer", name, part, reason, "Return the optimizer of the groups")
        return built

    try:
        check_resumes(name, part, build, "cpu")
    except PartError:
        if not torch.cuda.is_available():
            raise
        check_resumes(name, part, build, "cuda")  # some run only there
    OPTIMIZERS.register(name, build, Origin.registered(part))


def check_resumes(name: str, part: object, build: Build, device: str) -> None:
    """Steps with a checkpoint between them end where steps without it do; an error is the part's."""

    def steps(weight: nn.Parameter, optimizer: Optimizer, numbers: range) -> None:
        with torch.random.fork_rng(devices=[]):
            for number in numbers:
                torch.default_generator.manual_seed(number)  # it may draw noise
                weight.grad = torch.full_like(weight, 1 + number)
                call_part("optimizer", name, part, optimizer.step)

    weight, copy = (nn.Parameter(torch.ones(2, 3, device=device)) for _ in range(2))
    optimizer = build([{"params": [weight]}], SAMPLE)
    if [id(each) for group in optimizer.param_groups for each in group["params"]] != [id(weight)]:
        raise misfit("optimizer", name, part, "has other weights than it was given", "Give it the groups")
    steps(weight, optimizer, range(TRIED))
    state = call_part("optimizer", name, part, lambda: state_tensors(optimizer))
    saved = {key: value.clone() for key, value in state.items()}
    resumed = build([{"params": [copy]}], SAMPLE)
    with torch.no_grad():
        copy.copy_(weight)
    call_part("optimizer", name, part, lambda: restore_state(resumed, saved))
    steps(weight, optimizer, range(TRIED, 2 * TRIED))
    steps(copy, resumed, range(TRIED, 2 * TRIED))
    if not torch.equal(weight, copy):
        reason = "goes on differently after its state was saved and restored"
        advice = "Keep what changes from step to step in `self.state` or in its groups, as tensors and numbers"
        raise misfit("optimizer", name, part, reason, advice)


def with_rate(kind: Callable[..., Optimizer]) -> Build:
    """A class of optimizers as a function: of the keys of `train` it takes the learning rate."""
    return lambda groups, train: kind(groups, lr=train.lr)


# State ---------------------------------------------------------------------------------------------------------------


def state_tensors(optimizer: Optimizer) -> dict[str, Tensor]:
    """An optimizer's state as named tensors: 3.exp_avg is of the third weight. Rates come from the schedule.

    A user-defined optimizer may also keep plain numbers, of a weight (number.3.count) or of a group (group.0.count).
    """
    state = optimizer.state_dict()
    tensors: dict[str, Tensor] = {}
    for number, values in state["state"].items():
        if not isinstance(number, int) or not isinstance(values, dict):
            raise unsaved(optimizer, str(number), values)
        for name, value in values.items():
            if isinstance(value, Tensor):
                tensors[f"{number}.{name}"] = value
            elif value is not None:
                tensors[f"number.{number}.{name}"] = as_tensor(optimizer, name, value)
    if type(optimizer) not in BUILTIN:
        for number, group in enumerate(state["param_groups"]):
            changing = {name: value for name, value in group.items() if isinstance(value, int | float | Tensor)}
            tensors |= {f"group.{number}.{name}": as_tensor(optimizer, name, value) for name, value in changing.items()}
    return tensors


def as_tensor(optimizer: Optimizer, name: str, value: object) -> Tensor:
    """A number as a tensor that holds all of its bits."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, bool):
        return torch.tensor(value)
    if isinstance(value, int) and abs(value) < 2**63:
        return torch.tensor(value, dtype=torch.int64)
    if isinstance(value, float):
        return torch.tensor(value, dtype=torch.float64)
    raise unsaved(optimizer, name, value)


def unsaved(optimizer: Optimizer, name: str, value: object) -> PartError:
    """The error for what a checkpoint can't hold."""
    message = (
        f"{type(optimizer).__name__} keeps {short_repr(value)} in its state as {name!r}, and a checkpoint can't hold it"
    )
    return PartError(message, "Keep tensors and numbers", location=Origin.of(optimizer).location, code="part-state")


def restore_state(optimizer: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """The reverse. What a built-in optimizer keeps of a weight has the weight's shape, or is one number."""
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    groups = optimizer.state_dict()["param_groups"]
    state: dict[int, dict[str, Any]] = {}
    for key, tensor in tensors.items():
        kind, _, rest = key.partition(".") if key.startswith(("number.", "group.")) else ("", "", key)
        first, name = rest.split(".", 1)
        number = int(first)
        if kind == "group":
            groups[number][name] = tensor if isinstance(groups[number].get(name), Tensor) else tensor.item()
            continue
        if type(optimizer) in BUILTIN and tensor.numel() != 1 and tensor.shape != weights[number].shape:
            raise ValueError(f"the optimizer's {key} is {list(tensor.shape)}")
        state.setdefault(number, {})[name] = tensor.item() if kind == "number" else tensor
    optimizer.load_state_dict({"state": state, "param_groups": groups})
    for number, values in state.items():  # load_state_dict rounds to the type of the weight
        own = optimizer.state[weights[number]]
        for name, value in values.items():
            if isinstance(value, Tensor) and value.dtype != own[name].dtype:
                own[name] = value
