"""Checks of arguments. Each error names the argument, what it is and what was expected.

Shapes, types and devices are always checked. Values (a length past the end, a token past the vocabulary) are checked
on the CPU only: reading them from an accelerator would stall every step.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from seqloom.core.problem import ArgumentError
from seqloom.kernels.masks import mask_padding, readable_without_sync
from seqloom.nn.state import State

Shapes = Mapping[str, tuple[int | None, ...]]


def check_sequence(location: str, x: Tensor, width: int, weight: Tensor | None, argument: str = "x") -> None:
    """x: floating-point [batch, time, width] on the device and in the precision of the weights."""
    if not isinstance(x, Tensor):
        raise ArgumentError(location, argument, type(x).__name__, "a tensor [batch, time, dim]", verb="is a")
    if x.dim() != 3:
        raise ArgumentError(location, argument, f"shape {list(x.shape)}", f"three dimensions, [batch, time, {width}]")
    if x.shape[2] != width:
        raise ArgumentError(location, argument, f"{x.shape[2]} features per step (its last dimension)", f"{width}")
    if not x.is_floating_point():
        expected = "real values; give tokens to a stem, such as TokenEmbedding"
        raise ArgumentError(location, argument, f"type {x.dtype}", expected)
    check_same_device(location, argument, x, weight)
    check_precision(location, argument, x, weight)


def check_tokens(location: str, tokens: Tensor, lengths: Tensor | None, vocabulary: int, weight: Tensor) -> Tensor:
    """tokens: integers [batch, time], 0 to vocabulary − 1; returned with 0 at padding."""
    if not isinstance(tokens, Tensor):
        raise ArgumentError(location, "tokens", type(tokens).__name__, "a tensor [batch, time]", verb="is a")
    if tokens.dtype not in (torch.int32, torch.int64):
        raise ArgumentError(location, "tokens", f"type {tokens.dtype}", "whole numbers, torch.int64 or torch.int32")
    if tokens.dim() != 2:
        raise ArgumentError(location, "tokens", f"shape {list(tokens.shape)}", "two dimensions, [batch, time]")
    check_same_device(location, "tokens", tokens, weight)
    if lengths is not None:
        rows, time = tokens.shape
        tokens = mask_padding(tokens, check_lengths(location, lengths, rows, time, tokens.device))
    if readable_without_sync(tokens) and tokens.numel():
        lowest, highest = (int(value) for value in torch.aminmax(tokens))
        if lowest < 0 or highest >= vocabulary:
            value = lowest if lowest < 0 else highest
            raise ArgumentError(location, "tokens", f"the value {value}", f"0 to {vocabulary - 1} (the vocabulary)")
    return tokens


def check_lengths(location: str, lengths: Tensor, rows: int, time: int, device: torch.device) -> Tensor:
    """lengths: integers [batch], 0 to time; returned on `device`."""
    if not isinstance(lengths, Tensor):
        raise ArgumentError(location, "lengths", type(lengths).__name__, "a tensor of whole numbers", verb="is a")
    if lengths.dtype not in (torch.int32, torch.int64):
        raise ArgumentError(location, "lengths", f"type {lengths.dtype}", "whole numbers, torch.int64")
    if lengths.shape != (rows,):
        raise ArgumentError(location, "lengths", f"shape {list(lengths.shape)}", f"[{rows}], one number per row")
    if readable_without_sync(lengths) and rows:
        lowest, highest = (int(value) for value in torch.aminmax(lengths))
        if lowest < 0:
            raise ArgumentError(location, "lengths", f"the value {lowest}", "0 or more")
        if highest > time:
            raise ArgumentError(location, "lengths", f"the value {highest}", f"at most {time}, the number of steps")
    return lengths.to(device, non_blocking=device.type != "cpu")  # a copy to the CPU must be complete


def longest_length(lengths: Tensor, time: int) -> int:
    """The longest length if it can be read (on the CPU), otherwise its bound: the number of steps."""
    if isinstance(lengths, Tensor) and readable_without_sync(lengths) and lengths.numel():
        return int(lengths.max())
    return time


def resolve_lengths(location: str, memory: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    """A memory with zeros at padding, and its lengths; without lengths, all steps."""
    rows, steps = memory.shape[:2]
    if lengths is None:
        return memory, torch.full((rows,), steps, device=memory.device)
    lengths = check_lengths(location, lengths, rows, steps, memory.device)
    return mask_padding(memory, lengths), lengths


def check_state(location: str, state: State, shapes: Shapes, rows: int, like: Tensor) -> None:
    """state: the tensors that this layer carries, with the rows, device and precision of x (`like`)."""
    if not isinstance(state, State):
        raise ArgumentError(
            location, "state", type(state).__name__, "a State, as the last call returned it", verb="is a"
        )
    if state.consumed:
        expected = "the one that this step returned; to continue twice from one state, copy it first with state.select"
        raise ArgumentError(location, "state", "used up by an earlier step, which wrote into it", expected, verb="was")
    if set(state) != set(shapes):
        actual = f"the tensors {sorted(state)}" if state else "no tensors"
        expected = f"{sorted(shapes)}" if shapes else "none"
        raise ArgumentError(location, "state", actual, f"{expected}: is it the state of another layer?")
    tensors = {**state, "position": state.position} if state.position is not None else dict(state)
    for name, tensor in tensors.items():
        argument, shape = f"state[{name!r}]", shapes.get(name, ())
        if tensor.dim() and tensor.shape[0] != rows:
            raise ArgumentError(location, argument, f"{tensor.shape[0]} rows", f"{rows}, the rows of x")
        if not tensor.dim() or not matches(tensor.shape[1:], shape):
            expected = ", ".join("any" if size is None else str(size) for size in (rows, *shape))
            expected = f"[{expected}]: is it the state of another layer?"
            raise ArgumentError(location, argument, f"shape {list(tensor.shape)}", expected)
        if tensor.device != like.device:
            raise ArgumentError(location, argument, str(tensor.device), f"{like.device}, where x is", verb="is on")
        if tensor.is_floating_point():
            check_precision(location, argument, tensor, like, owner="x has")


def matches(sizes: Sequence[int], shape: Sequence[int | None]) -> bool:
    """Whether these sizes fit a declared shape, in which None is any size."""
    if sizes == shape:
        return True
    return len(sizes) == len(shape) and all(b in (None, a) for a, b in zip(sizes, shape, strict=True))


def check_same_device(location: str, argument: str, tensor: Tensor, weight: Tensor | None) -> None:
    if weight is not None and tensor.device != weight.device:
        expected = f"{weight.device}, where the weights are; move it with .to({str(weight.device)!r})"
        raise ArgumentError(location, argument, str(tensor.device), expected, verb="is on")


def check_precision(
    location: str, argument: str, tensor: Tensor, like: Tensor | None, owner: str = "the weights have"
) -> None:
    """The dtype of `like`; under autocast torch converts by itself."""
    if like is None or tensor.dtype == like.dtype or torch.is_autocast_enabled(tensor.device.type):
        return
    expected = f"{like.dtype}, as {owner}; convert it with .to(dtype={like.dtype})"
    raise ArgumentError(location, argument, f"type {tensor.dtype}", expected)


def check_count(location: str, argument: str, value: int) -> None:
    """A whole number of at least 1, such as a kernel size."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ArgumentError(location, argument, repr(value), "a whole number, at least 1", verb="is")


def check_probability(location: str, argument: str, p: float) -> None:
    """0 ≤ p < 1: with p = 1 nothing would be left."""
    if not 0 <= p < 1:
        raise ArgumentError(location, argument, str(p), "a probability, at least 0 and below 1", verb="is")
