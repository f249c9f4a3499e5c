"""How much of each row is real, and what follows from it."""

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor


def real(lengths: Int[Tensor, " batch"], time: int) -> Bool[Tensor, "batch time"]:
    """True where a step is real.

    >>> real(torch.tensor([1, 3]), 3)
    tensor([[ True, False, False],
            [ True,  True,  True]])
    """
    return torch.arange(time, device=lengths.device) < lengths.unsqueeze(1)


def zero_beyond(
    x: Shaped[Tensor, "batch time *dims"], lengths: Int[Tensor, " batch"] | None
) -> Shaped[Tensor, "batch time *dims"]:
    """Zeros where a step is not real, whatever stood there, NaN included; no gradient goes there."""
    if lengths is None:
        return x
    padding = ~real(lengths, x.shape[1])
    return x.masked_fill(padding.reshape(*padding.shape, *[1] * (x.dim() - 2)), 0)


def flip(
    x: Shaped[Tensor, "batch time *dims"], lengths: Int[Tensor, " batch"] | None
) -> Shaped[Tensor, "batch time *dims"]:
    """Each row backwards within its own length; padding stays at the end. Its own inverse.

    >>> flip(torch.tensor([[1, 2, 0], [1, 2, 3]]), torch.tensor([2, 3]))
    tensor([[2, 1, 0],
            [3, 2, 1]])
    """
    if lengths is None:
        return x.flip(1)
    steps = torch.arange(x.shape[1], device=x.device)
    source = torch.where(real(lengths, x.shape[1]), lengths.unsqueeze(1) - 1 - steps, steps)
    return x.gather(1, source.reshape(*source.shape, *[1] * (x.dim() - 2)).expand_as(x))


def last(
    y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, otherwise: Float[Tensor, "batch dim"]
) -> Float[Tensor, "batch dim"]:
    """The output at each row's last real step; `otherwise` for a row that has none."""
    if lengths is None:
        return y[:, -1] if y.shape[1] else otherwise
    final = y.gather(1, (lengths - 1).clamp(min=0).reshape(-1, 1, 1).expand(-1, 1, y.shape[2])).squeeze(1)
    return torch.where((lengths > 0).unsqueeze(1), final, otherwise)


def readable(tensor: Tensor) -> bool:
    """Whether values can be looked at without waiting for a device or breaking a compiled graph."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


def all_reach(bound: int, counts: Int[Tensor, " batch"]) -> bool:
    """Whether no row falls short, so that a mask would hide nothing; seen where looking is free, on the CPU."""
    return readable(counts) and bool((counts == bound).all())
