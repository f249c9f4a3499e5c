"""Matrix products of a few rows, as in decoding, with weights repacked once into the layout that oneDNN prefers."""

from contextvars import ContextVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

MIN_NUMEL = 2**14  # below this size the product is not what takes the time


class PackedWeights:
    """Within `with packed:`, products without gradients on a CPU keep a repacked copy of each weight.

    The copies last as long as this object, so its owner must keep the weights constant: a fused optimizer changes them
    without a trace. (32 rows on two AMD cores: 1 to 2.9 times the speed of torch's own product; results differ by
    rounding.)

    >>> layer, x = nn.Linear(256, 256), torch.randn(2, 256)
    >>> with torch.no_grad(), PackedWeights():
    ...     first, second = (linear(x, layer.weight, layer.bias) for _ in range(2))
    >>> torch.allclose(first, second, atol=1e-5)
    True
    """

    def __init__(self) -> None:
        # By the id of a weight: the weight itself, so that the id stays its own, and its copy.
        self._copies: dict[int, tuple[Tensor, Tensor | None]] = {}

    def __enter__(self) -> None:
        _open.set((self, *_open.get()))

    def __exit__(self, *_: object) -> None:
        _open.set(_open.get()[1:])

    @staticmethod
    def current() -> "PackedWeights":
        """The innermost open one, so that several decodings share its copies; otherwise a new one."""
        return next(iter(_open.get()), None) or PackedWeights()

    def copy_of(self, weight: Tensor) -> Tensor | None:
        """The weight as oneDNN takes it: itself the first time, since a copy for one product does not pay, then a
        repacked copy. None if it can't or need not be packed; only parameters live until the next call.
        """
        if not isinstance(weight, nn.Parameter):
            return None
        if id(weight) not in self._copies:
            self._copies[id(weight)] = weight, weight if is_packable(weight) else None
        elif self._copies[id(weight)][1] is weight:
            self._copies[id(weight)] = weight, torch.ops.mkldnn._reorder_linear_weight(weight.detach(), None)
        return self._copies[id(weight)][1]


_open: ContextVar[tuple[PackedWeights, ...]] = ContextVar("open", default=())  # the innermost first


def linear(
    x: Float[Tensor, "*batch in"], weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None = None
) -> Float[Tensor, "*batch out"]:
    """y = x Wᵀ + b"""
    opened = () if torch.compiler.is_compiling() else _open.get()
    packed = opened[0].copy_of(weight) if opened and is_supported_input(x) else None
    if packed is None:
        return F.linear(x, weight, bias)
    y: Tensor = torch.ops.mkldnn._linear_pointwise(x, packed, bias, "none", [], "")
    return y


def is_supported_input(x: Tensor) -> bool:
    """Whether oneDNN can multiply x with a packed weight: float32 on the CPU, without gradients."""
    return (
        x.dtype == torch.float32
        and x.device.type == "cpu"
        and x.numel() > 0
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
    )


def is_packable(weight: Tensor) -> bool:
    """Whether oneDNN can pack this weight, and it is large enough to pay."""
    return (
        weight.numel() >= MIN_NUMEL
        and weight.dtype == torch.float32
        and weight.device.type == "cpu"
        and not weight.is_inference()
        and torch.backends.mkldnn.is_available()
    )


class Linear(nn.Linear):
    """`nn.Linear`, with its product by `kernels.linear`."""

    def forward(self, x: Float[Tensor, "*batch in"]) -> Float[Tensor, "*batch out"]:
        return linear(x, self.weight, self.bias)
