"""Matrix products of a few rows at a time, as in decoding, with weights laid out for them once."""

from contextvars import ContextVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

SMALLEST = 2**14  # numbers in a weight: in one below this the product is not what takes the time


class PackedWeights:
    """Within `with packing:`, products without gradients on a CPU keep a copy of each weight in the layout they like.

    The copies last as long as this object does, so whoever opens it answers for weights that stay as they are: an
    optimiser may change one without a trace. (32 rows on two AMD cores: 1 to 2.9 times the speed of torch's own
    product; results differ by rounding.)

    >>> layer, x = nn.Linear(256, 256), torch.randn(2, 256)
    >>> with torch.no_grad(), PackedWeights():
    ...     first, second = (linear(x, layer.weight, layer.bias) for _ in range(2))
    >>> torch.allclose(first, second, atol=1e-5)
    True
    """

    def __init__(self) -> None:
        self._layouts: dict[int, tuple[Tensor, Tensor | None]] = {}  # the weight itself too: its id stays its own

    def __enter__(self) -> None:
        _open.set((self, *_open.get()))

    def __exit__(self, *_: object) -> None:
        _open.set(_open.get()[1:])

    @staticmethod
    def here() -> "PackedWeights":
        """The one that is open, so that its copies serve several decodings; else a new one."""
        return next(iter(_open.get()), None) or PackedWeights()

    def layout(self, weight: Tensor) -> Tensor | None:
        """The weight as oneDNN is to take it: as it stands the first time, since a copy for one product does not pay,
        and in its own layout from then on. None if it can't take it, or need not.

        Only a parameter is there at the next call too.
        """
        if not isinstance(weight, nn.Parameter):
            return None
        known = self._layouts.get(id(weight))
        if known is None:
            self._layouts[id(weight)] = weight, weight if packable(weight) else None
        elif known[1] is weight:
            self._layouts[id(weight)] = weight, torch.ops.mkldnn._reorder_linear_weight(weight.detach(), None)
        return self._layouts[id(weight)][1]


_open: ContextVar[tuple[PackedWeights, ...]] = ContextVar("open", default=())  # the innermost first


def linear(
    x: Float[Tensor, "*batch in"], weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None = None
) -> Float[Tensor, "*batch out"]:
    """y = x Wᵀ + b"""
    packings = () if torch.compiler.is_compiling() else _open.get()
    layout = packings[0].layout(weight) if packings and takes(x) else None
    if layout is None:
        return F.linear(x, weight, bias)
    y: Tensor = torch.ops.mkldnn._linear_pointwise(x, layout, bias, "none", [], "")
    return y


def takes(x: Tensor) -> bool:
    """Whether oneDNN can take a product with x, which wants no gradient."""
    return (
        x.dtype == torch.float32
        and x.device.type == "cpu"
        and x.numel() > 0
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
    )


def packable(weight: Tensor) -> bool:
    """Whether oneDNN can take this weight, and the product is what takes the time."""
    return (
        weight.numel() >= SMALLEST
        and weight.dtype == torch.float32
        and weight.device.type == "cpu"
        and not weight.is_inference()
        and torch.backends.mkldnn.is_available()
    )


class Linear(nn.Linear):
    """`nn.Linear`, with its product left to `kernels.linear`."""

    def forward(self, x: Float[Tensor, "*batch in"]) -> Float[Tensor, "*batch out"]:
        return linear(x, self.weight, self.bias)
