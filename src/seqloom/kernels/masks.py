"""Masks from the lengths of rows, and other functions of lengths."""

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor


def sequence_mask(lengths: Int[Tensor, " batch"], time: int) -> Bool[Tensor, "batch time"]:
    """True at steps within a row's length, False at padding.

    >>> sequence_mask(torch.tensor([1, 3]), 3)
    tensor([[ True, False, False],
            [ True,  True,  True]])
    """
    return torch.arange(time, device=lengths.device) < lengths.unsqueeze(1)


def mask_padding(
    x: Shaped[Tensor, "batch time *dims"], lengths: Int[Tensor, " batch"] | None
) -> Shaped[Tensor, "batch time *dims"]:
    """x with zeros at padding, even where x is NaN there; no gradient flows to padding."""
    if lengths is None:
        return x
    padding = ~sequence_mask(lengths, x.shape[1])
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
    source = torch.where(sequence_mask(lengths, x.shape[1]), lengths.unsqueeze(1) - 1 - steps, steps)
    return x.gather(1, source.reshape(*source.shape, *[1] * (x.dim() - 2)).expand_as(x))


def last_step(
    y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, default: Float[Tensor, "batch dim"]
) -> Float[Tensor, "batch dim"]:
    """The output at the last step of each row; `default` for a row of length 0."""
    if lengths is None:
        return y[:, -1] if y.shape[1] else default
    final = y.gather(1, (lengths - 1).clamp(min=0).reshape(-1, 1, 1).expand(-1, 1, y.shape[2])).squeeze(1)
    return torch.where((lengths > 0).unsqueeze(1), final, default)


def readable_without_sync(tensor: Tensor) -> bool:
    """Whether values can be read without waiting for a device or breaking a compiled graph."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


def all_equal(counts: Int[Tensor, " batch"], bound: int) -> bool:
    """Whether all counts are known to equal their bound, so that a mask would hide nothing; read on the CPU only."""
    return readable_without_sync(counts) and bool((counts == bound).all())
