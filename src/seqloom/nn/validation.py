"""Arguments are checked at the door: a sentence that names the argument, what came and what was expected.

Shapes, types and devices are always checked. Values (a length past the end, a token past the vocabulary) are checked
on the CPU, where looking is free; on an accelerator the look would stall every step.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from seqloom.core.problem import ArgumentError
from seqloom.kernels.masks import mask_padding, readable
from seqloom.nn.state import State

Shapes = Mapping[str, tuple[int | None, ...]]


def check_sequence(where: str, x: Tensor, width: int, weight: Tensor | None, argument: str = "x") -> None:
    """x: real values [batch, time, width] on the device of the weights."""
    if not isinstance(x, Tensor):
        raise ArgumentError(where, argument, type(x).__name__, "a tensor [batch, time, dim]", verb="is a")
    if x.dim() != 3:
        raise ArgumentError(where, argument, f"shape {list(x.shape)}", f"three dimensions, [batch, time, {width}]")
    if x.shape[2] != width:
        raise ArgumentError(where, argument, f"{x.shape[2]} features a step (its last dimension)", f"{width}")
    if not x.is_floating_point():
        raise ArgumentError(
            where, argument, f"type {x.dtype}", "real values; give tokens to a stem, such as TokenEmbedding"
        )
    check_device(where, argument, x, weight)
    check_precision(where, argument, x, weight)


def check_tokens(where: str, tokens: Tensor, lengths: Tensor | None, vocabulary: int, weight: Tensor) -> Tensor:
    """tokens: whole numbers [batch, time] below the size of the vocabulary; returned with 0 beyond the lengths."""
    if not isinstance(tokens, Tensor):
        raise ArgumentError(where, "tokens", type(tokens).__name__, "a tensor [batch, time]", verb="is a")
    if tokens.dtype not in (torch.int32, torch.int64):
        raise ArgumentError(where, "tokens", f"type {tokens.dtype}", "whole numbers, torch.int64 or torch.int32")
    if tokens.dim() != 2:
        raise ArgumentError(where, "tokens", f"shape {list(tokens.shape)}", "two dimensions, [batch, time]")
    check_device(where, "tokens", tokens, weight)
    if lengths is not None:
        rows, time = tokens.shape
        tokens = mask_padding(tokens, check_lengths(where, lengths, rows, time, tokens.device))
    if readable(tokens) and tokens.numel():
        lowest, highest = (int(end) for end in torch.aminmax(tokens))
        if lowest < 0 or highest >= vocabulary:
            wrong = lowest if lowest < 0 else highest
            raise ArgumentError(where, "tokens", f"the value {wrong}", f"0 to {vocabulary - 1} (the vocabulary)")
    return tokens


def check_lengths(where: str, lengths: Tensor, rows: int, time: int, device: torch.device) -> Tensor:
    """lengths: whole numbers [batch], 0 to time; moved to the device of what they measure."""
    if not isinstance(lengths, Tensor):
        raise ArgumentError(where, "lengths", type(lengths).__name__, "a tensor of whole numbers", verb="is a")
    if lengths.dtype not in (torch.int32, torch.int64):
        raise ArgumentError(where, "lengths", f"type {lengths.dtype}", "whole numbers, torch.int64")
    if lengths.shape != (rows,):
        raise ArgumentError(where, "lengths", f"shape {list(lengths.shape)}", f"[{rows}], one number a row")
    if readable(lengths) and rows:
        lowest, highest = (int(end) for end in torch.aminmax(lengths))
        if lowest < 0:
            raise ArgumentError(where, "lengths", f"the value {lowest}", "0 or more")
        if highest > time:
            raise ArgumentError(where, "lengths", f"the value {highest}", f"at most {time}, the steps given")
    return lengths.to(device, non_blocking=device.type != "cpu")  # to the host one must wait for them


def longest_length(lengths: Tensor, time: int) -> int:
    """The longest where it can be read, on the CPU, before it is moved; else the number of steps, which bounds it."""
    if isinstance(lengths, Tensor) and readable(lengths) and lengths.numel():
        return int(lengths.max())
    return time


def resolve_lengths(where: str, memory: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    """A memory with zeros beyond its lengths, and those lengths: all steps unless said."""
    rows, steps = memory.shape[:2]
    if lengths is None:
        return memory, torch.full((rows,), steps, device=memory.device)
    lengths = check_lengths(where, lengths, rows, steps, memory.device)
    return mask_padding(memory, lengths), lengths


def check_state(where: str, state: State, shapes: Shapes, rows: int, like: Tensor) -> None:
    """state: the tensors that this layer carries, for these rows, on the device and in the precision of x."""
    if not isinstance(state, State):
        raise ArgumentError(where, "state", type(state).__name__, "a State, as the last call returned it", verb="is a")
    if state.consumed:
        expected = "the one that this step returned; to go two ways from one state, copy it first with state.select"
        raise ArgumentError(where, "state", "used up by an earlier step, which wrote into it", expected, verb="was")
    if set(state) != set(shapes):
        came = f"the tensors {sorted(state)}" if state else "no tensors"
        wanted = f"{sorted(shapes)}" if shapes else "none"
        raise ArgumentError(where, "state", came, f"{wanted}: is it the state of another layer?")
    tensors = {**state, "position": state.position} if state.position is not None else dict(state)
    for name, tensor in tensors.items():
        shape: tuple[int | None, ...] = shapes.get(name, ())
        if tensor.dim() and tensor.shape[0] != rows:
            raise ArgumentError(where, f"state[{name!r}]", f"{tensor.shape[0]} rows", f"{rows}, the rows of x")
        sizes = tensor.shape[1:]
        if not tensor.dim() or (sizes != shape and not matches(sizes, shape)):
            wanted = ", ".join("any" if size is None else str(size) for size in (rows, *shape))
            came = f"shape {list(tensor.shape)}"
            raise ArgumentError(where, f"state[{name!r}]", came, f"[{wanted}]: is it the state of another layer?")
        if tensor.device != like.device:
            expected = f"{like.device}, where x is"
            raise ArgumentError(where, f"state[{name!r}]", str(tensor.device), expected, verb="is on")
        if tensor.dtype != like.dtype and tensor.is_floating_point():
            check_precision(where, f"state[{name!r}]", tensor, like, whose="x has")


def matches(sizes: Sequence[int], shape: Sequence[int | None]) -> bool:
    """Whether each size is as wanted; None is any."""
    return len(sizes) == len(shape) and all(w is None or w == have for w, have in zip(shape, sizes, strict=True))


def check_device(where: str, argument: str, tensor: Tensor, weight: Tensor | None) -> None:
    """The tensor lies where the weights lie."""
    if weight is not None and tensor.device != weight.device:
        expected = f"{weight.device}, where the weights are; move it with .to({str(weight.device)!r})"
        raise ArgumentError(where, argument, str(tensor.device), expected, verb="is on")


def check_precision(
    where: str, argument: str, tensor: Tensor, like: Tensor | None, whose: str = "the weights have"
) -> None:
    """Real values in one precision; under autocast torch sees to that itself."""
    if like is None or tensor.dtype == like.dtype or torch.is_autocast_enabled(tensor.device.type):
        return
    expected = f"{like.dtype}, as {whose}; convert it with .to(dtype={like.dtype})"
    raise ArgumentError(where, argument, f"type {tensor.dtype}", expected)


def check_count(where: str, argument: str, value: int) -> None:
    """A whole number, at least 1: a kernel's size, a window's width, a length."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ArgumentError(where, argument, repr(value), "a whole number, at least 1", verb="is")
