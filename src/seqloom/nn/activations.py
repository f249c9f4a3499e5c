"""Activations by name."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from seqloom.core import names
from seqloom.core.registry import Registry

ACTIVATIONS: Registry[Callable[[], nn.Module]] = Registry(
    names.ACTIVATIONS,
    {
        "relu": nn.ReLU,  # max(0, x)
        "gelu": nn.GELU,  # x Φ(x)
        "gelu-tanh": lambda: nn.GELU(approximate="tanh"),  # x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2
        "prelu": nn.PReLU,  # max(0, x) + a min(0, x), a learned
        "elu": nn.ELU,  # x if x > 0 else eˣ − 1
        "swish": nn.SiLU,  # x σ(x)
        "selu": nn.SELU,  # λ (x if x > 0 else α (eˣ − 1))
        "softplus": nn.Softplus,  # log(1 + eˣ)
        "mish": nn.Mish,  # x tanh(softplus(x))
        "rrelu": nn.RReLU,  # max(0, x) + a min(0, x), a random in training, its mean in eval
        "hardswish": nn.Hardswish,  # x min(max(0, x + 3), 6) / 6
        "sigmoid": nn.Sigmoid,  # 1 / (1 + e⁻ˣ)
        "softsign": nn.Softsign,  # x / (1 + |x|)
        "tanh": nn.Tanh,
        "hardtanh": nn.Hardtanh,  # min(max(−1, x), 1)
        "hardsigmoid": nn.Hardsigmoid,  # min(max(0, x + 3), 6) / 6
        "tanhshrink": nn.Tanhshrink,  # x − tanh(x)
        "softshrink": nn.Softshrink,  # sign(x) max(0, |x| − ½)
        "hardshrink": nn.Hardshrink,  # x if |x| > ½ else 0
        "identity": nn.Identity,
    },
)


class Lambda(nn.Module):
    """A module that applies a function of one tensor.

    >>> import torch
    >>> Lambda(torch.sin)
    Lambda(sin)
    """

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return self.function(x)

    def extra_repr(self) -> str:
        return str(getattr(self.function, "__name__", self.function))


def activation(name: str) -> nn.Module:
    """A new activation of this name.

    >>> activation("swish")
    SiLU()
    >>> activation("swich")
    Traceback (most recent call last):
    seqloom.core.problem.UnknownName: unknown activation 'swich'. Did you mean 'swish'? Known: elu, gelu, gelu-tanh, ...
    """
    return ACTIVATIONS[name]()
