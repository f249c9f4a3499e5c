"""Optimizers by name: torch's own, and user-defined ones."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop

from seqloom.spec import names
from seqloom.spec.config.train import Train
from seqloom.spec.errors import PartError
from seqloom.spec.origin import Origin
from seqloom.spec.part_checks import as_function, call, misfit
from seqloom.spec.registry import Registry, shown
from seqloom.training.schedules import SAMPLE

Groups = list[dict[str, Any]]
Build = Callable[[Groups, Train], Optimizer]
TRIED = 24  # steps, before a checkpoint and after
BUILTIN = (SGD, Adagrad, RMSprop, Adam, AdamW)

# g is the gradient, with l2 · w added to it; η the learning rate.
OPTIMISERS: Registry[Build] = Registry(
    names.OPTIMISERS,
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
        return OPTIMISERS[part.optimizer]([{"params": list(model.parameters())}], part)
    matrices, others = parted(model.parameters())
    groups = [{"params": matrices, "weight_decay": part.decay}, {"params": others, "weight_decay": 0.0}]
    return OPTIMISERS[part.optimizer]([group for group in groups if group["params"]], part)


def parted(parameters: Iterable[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Those of two dimensions or more, and the rest."""
    matrices: list[Tensor] = []
    others: list[Tensor] = []
    for parameter in parameters:
        (matrices if parameter.dim() >= 2 else others).append(parameter)
    return matrices, others


# User-defined optimizers ---------------------------------------------------------------------------------------------


def register(name: str, part: object) -> None:
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
        built = call("optimizer", name, part, lambda: function(groups, train))
        if not isinstance(built, Optimizer):
            reason = f"returned {shown(built)}, not a torch.optim.Optimizer"
            raise misfit("optimizer", name, part, reason, "Return the optimizer of the groups")
        return built

    try:
        check_resumes(name, part, build, "cpu")
    except PartError:
        if not torch.cuda.is_available():
            raise
        check_resumes(name, part, build, "cuda")  # some run only there
    OPTIMISERS.register(name, build, Origin.registered(part))


def check_resumes(name: str, part: object, build: Build, device: str) -> None:
    """Steps with a checkpoint between them end where steps without it do; an error is the part's."""

    def steps(weight: nn.Parameter, optimizer: Optimizer, numbers: range) -> None:
        with torch.random.fork_rng(devices=[]):
            for number in numbers:
                torch.default_generator.manual_seed(number)  # it may draw noise
                weight.grad = torch.full_like(weight, 1 + number)
                call("optimizer", name, part, optimizer.step)

    weight, copy = (nn.Parameter(torch.ones(2, 3, device=device)) for _ in range(2))
    optimizer = build([{"params": [weight]}], SAMPLE)
    if [id(each) for group in optimizer.param_groups for each in group["params"]] != [id(weight)]:
        raise misfit("optimizer", name, part, "has other weights than it was given", "Give it the groups")
    steps(weight, optimizer, range(TRIED))
    state = call("optimizer", name, part, lambda: state_tensors(optimizer))
    saved = {key: value.clone() for key, value in state.items()}
    resumed = build([{"params": [copy]}], SAMPLE)
    with torch.no_grad():
        copy.copy_(weight)
    call("optimizer", name, part, lambda: restore_state(resumed, saved))
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
    message = f"{type(optimizer).__name__} keeps {shown(value)} as {name!r} in its state, which a checkpoint can't hold"
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
