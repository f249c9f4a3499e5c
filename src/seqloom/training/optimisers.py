"""What takes the steps: torch's own optimisers, by name."""

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn
from torch.optim import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop

from seqloom.spec.config.train import Train
from seqloom.spec.registry import Registry

Groups = list[dict[str, Any]]

# g is the gradient, with l2 · w added to it; η the learning rate.
OPTIMISERS: Registry[Callable[[Groups, Train], Optimizer]] = Registry(
    "optimizer",
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
