"""The kernels that come with torch (oneDNN, cuDNN), where their equation is the cell's own."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.core.problem import UnavailableBackend
from seqloom.core.registry import Registry
from seqloom.kernels.masks import last_step, sequence_mask
from seqloom.kernels.recurrence import Backend, Carried, Operands, Recurrence, Reference

# What a step of padding says to each part. σ(1e4) is exactly 1 and σ(-1e4) exactly 0, in every precision.
_AT_PADDING = {
    "lstm": (-1e4, 1e4, 0.0, 0.0),  # the input gate shut, the forget gate open: c' = 1·c + 0·g, held still
    "rnn-relu": (-math.inf,),  # h' = 0; left alone it may grow past all numbers, and a gradient of 0 times that is none
}


class Vendor:
    """`torch.lstm`, `torch.gru`, `torch.rnn_tanh` and `torch.rnn_relu`, a layer and a direction at a time.

    Rows of unequal length are not packed, which would be many times slower. Outputs before a row's end don't depend on
    what comes after it, and h at its end is the output there. An LSTM's c and a ReLU's h must not run on past it:
    see `_tell_padding`.
    """

    name = "vendor"
    equations = ("lstm", "gru-after", "rnn", "rnn-relu")

    def refuses(self, recurrence: Recurrence[Carried]) -> str | None:
        equation = recurrence.equation
        if equation not in self.equations:
            named = f"the equation {equation!r}" if equation else "this cell (it names no equation)"
            return f"torch has no kernel for {named}; it has {', '.join(self.equations)}"
        return None

    def run(self, recurrence: Recurrence[Carried]) -> tuple[Float[Tensor, "batch time hidden"], dict[str, Tensor]]:
        x, lengths, operands = recurrence.x, recurrence.lengths, recurrence.operands()
        equation = recurrence.equation or ""
        hidden = recurrence.initial["hidden"].contiguous()  # a learned one is expanded, which cuDNN does not take
        if lengths is not None and equation in _AT_PADDING:
            x, operands = _tell_padding(x, lengths, operands, _AT_PADDING[equation])
        if equation == "lstm":
            before = (hidden.unsqueeze(0), recurrence.initial["cell"].contiguous().unsqueeze(0))
            y, _, cell = _lstm()(x, before, *_arguments(operands))
            return y, {"hidden": last_step(y, lengths, hidden), "cell": cell.squeeze(0)}
        function = {"gru-after": torch.gru, "rnn": torch.rnn_tanh, "rnn-relu": torch.rnn_relu}[equation]
        y, _ = function(x, hidden.unsqueeze(0), *_arguments(operands))
        return y, {"hidden": last_step(y, lengths, hidden)}


def _lstm() -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
    if torch.compiler.is_compiling() and torch.is_grad_enabled():
        from seqloom.kernels.uncompiled import lstm

        return lstm
    return torch.lstm


def _arguments(operands: Operands) -> tuple[list[Tensor], bool, int, float, bool, bool, bool]:
    """weights, has_biases, num_layers, dropout, train, bidirectional, batch_first.

    cuDNN refuses a backward pass in eval mode; with no dropout, training mode computes the same.
    """
    weights, on_gpu = [operands.input_weight, operands.recurrent_weight], operands.input_weight.is_cuda
    biases = [operands.input_bias, operands.recurrent_bias]
    if on_gpu or any(bias is not None for bias in biases):  # cuDNN's block has room for two biases, used or not
        zeros = weights[0].new_zeros(weights[0].shape[0])
        weights += [zeros if bias is None else bias for bias in biases]
    if on_gpu:
        weights = _in_one_piece(weights)
    return weights, len(weights) == 4, 1, 0.0, torch.is_grad_enabled(), False, True


def _in_one_piece(weights: list[Tensor]) -> list[Tensor]:
    """The weights one behind another in one block of memory, as cuDNN wants them; else it warns and copies."""
    block = torch.cat([weight.reshape(-1) for weight in weights])
    pieces = block.split([weight.numel() for weight in weights])
    return [piece.view_as(weight) for piece, weight in zip(pieces, weights, strict=True)]


def _tell_padding(
    x: Float[Tensor, "batch time input"], lengths: Int[Tensor, " batch"], operands: Operands, says: tuple[float, ...]
) -> tuple[Float[Tensor, "batch time input+1"], Operands]:
    """One more input, 1 on padding and 0 elsewhere, with weights of our own into each part."""
    weight, hidden_size = operands.input_weight, operands.recurrent_weight.shape[1]
    lowest = torch.finfo(weight.dtype).min / 2  # finite, so that a gradient of zero stays zero
    column = torch.cat([weight.new_full((hidden_size, 1), max(word, lowest)) for word in says])
    widened = torch.cat([weight, column], dim=1)
    padding = ~sequence_mask(lengths, x.shape[1]).unsqueeze(2)
    told = torch.cat([x.masked_fill(padding, 0), padding.to(x.dtype)], dim=2)  # nothing else is said there
    return told, operands._replace(input_weight=widened)


REFERENCE = Reference()

# From the fastest to the slowest.
BACKENDS: Registry[Backend] = Registry("backend", {"vendor": Vendor(), "reference": REFERENCE})

_wanted: ContextVar[str | None] = ContextVar("backend", default=None)


@contextmanager
def use(name: str) -> Iterator[None]:
    """Run recurrences on this backend within the block; an error where it can't run one.

    >>> from seqloom.nn import LSTM, Recurrent
    >>> layer, x = Recurrent(LSTM(3, 4)), torch.randn(2, 5, 3)
    >>> with use("reference"):
    ...     y, state = layer(x)
    >>> torch.allclose(y, layer(x)[0], atol=1e-6)
    True
    """
    BACKENDS[name]  # an unknown name is an error here, not at the first use
    token = _wanted.set(name)
    try:
        yield
    finally:
        _wanted.reset(token)


def choose_backend(recurrence: Recurrence[Carried]) -> Backend:
    """The backend for this recurrence. Context variables can't be traced, so a compiled graph takes the fastest."""
    wanted = None if torch.compiler.is_compiling() else _wanted.get()
    if wanted is not None:
        reason = BACKENDS[wanted].refuses(recurrence)
        if reason is not None:
            raise UnavailableBackend(f"backend {wanted!r} can't run this recurrence: {reason}")
        return BACKENDS[wanted]
    if recurrence.x.shape[1] == 1:
        return REFERENCE  # one step leaves nothing to fuse over time, and the loop copies no weights for it
    return next(backend for backend in BACKENDS.values() if backend.refuses(recurrence) is None)
