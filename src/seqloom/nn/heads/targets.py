"""What a head should have answered, checked at the door. Beyond a row's length anything may stand; zeros replace it."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from seqloom.kernels.lengths import readable, zero_beyond
from seqloom.nn.checks import check_device
from seqloom.spec.errors import ArgumentError

Lengths = Int[Tensor, " batch"] | None


def class_target(
    where: str, target: Tensor, scores: Float[Tensor, "*steps classes"], lengths: Lengths
) -> Int[Tensor, "*steps"]:
    """Whole numbers [*steps], each a class that has a score."""
    check_form(where, target, scores.shape[:-1], "a class each", scores)
    if target.dtype not in (torch.int32, torch.int64):
        raise ArgumentError(where, "target", f"type {target.dtype}", "whole numbers, torch.int64 or torch.int32")
    target = silence(target, lengths)
    check_range(where, target, scores.shape[-1] - 1, "the classes; `lengths` says what is padding")
    return target.long()


def label_target(
    where: str, target: Tensor, scores: Float[Tensor, "*steps labels"], lengths: Lengths
) -> Float[Tensor, "*steps labels"]:
    """Whether each label holds [*steps, labels]: bool, or numbers from 0 to 1."""
    check_form(where, target, scores.shape, "yes or no for each label", scores)
    target = silence(target, lengths)
    check_range(where, target, 1, "no to yes")
    return target.to(scores.dtype)


def value_target(
    where: str, target: Tensor, outputs: int, scores: Float[Tensor, "*steps scores"], lengths: Lengths
) -> Float[Tensor, "*steps outputs"]:
    """Real values [*steps, outputs], all finite."""
    check_form(where, target, (*scores.shape[:-1], outputs), "a value for each output", scores)
    if not target.is_floating_point():
        raise ArgumentError(where, "target", f"type {target.dtype}", "real values, such as torch.float32")
    target = silence(target, lengths)
    if readable(target) and not bool(target.isfinite().all()):
        raise ArgumentError(where, "target", "a value that is not finite", "numbers; leave out or fill what is missing")
    return target.to(scores.dtype)


def silence(target: Shaped[Tensor, "*steps"], lengths: Lengths) -> Shaped[Tensor, "*steps"]:
    """Zeros where a step is not real; a pooled target has no steps, and no lengths."""
    return target if lengths is None else zero_beyond(target, lengths)


def check_form(where: str, target: Tensor, shape: Sequence[int], meaning: str, scores: Tensor) -> None:
    """A tensor of this shape, where the scores are."""
    wanted = f"{list(shape)}, {meaning}"
    if not isinstance(target, Tensor):
        raise ArgumentError(where, "target", type(target).__name__, f"a tensor {wanted}", verb="is a")
    if target.shape != tuple(shape):
        raise ArgumentError(where, "target", f"shape {list(target.shape)}", wanted)
    check_device(where, "target", target, scores)


def check_range(where: str, target: Tensor, highest: int, meaning: str) -> None:
    """No value below 0 or above the highest, where looking is free."""
    if readable(target) and target.numel() and target.dtype != torch.bool:
        low, high = (end.item() for end in torch.aminmax(target))
        if not (low >= 0 and high <= highest):  # so put, NaN fails too
            wrong = high if low >= 0 else low
            raise ArgumentError(where, "target", f"the value {wrong}", f"0 to {highest} ({meaning})")
