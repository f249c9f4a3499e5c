"""Recurrences over time: the reference loop, the kernels of torch (oneDNN, cuDNN), and the choice between them."""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from seqloom.core.problem import UnavailableBackend
from seqloom.core.registry import Registry
from seqloom.kernels.masks import last_step, readable_without_sync, sequence_mask


class Operands(NamedTuple):
    """The weights of a cell as matrices. Their rows are the cell's parts in order, hidden_size rows for each part."""

    input_weight: Float[Tensor, "parts*hidden input"]
    recurrent_weight: Float[Tensor, "parts*hidden hidden"]
    input_bias: Float[Tensor, " parts*hidden"] | None
    recurrent_bias: Float[Tensor, " parts*hidden"] | None


class NamedTensors(Protocol):
    """The part of the interface of `State` that kernels use."""

    def __getitem__(self, name: str, /) -> Tensor: ...

    def keys(self) -> Iterable[str]: ...

    def where(self, rows: Tensor, other: Self, /) -> Self: ...


StateT = TypeVar("StateT", bound=NamedTensors)


@dataclass(frozen=True)
class Recurrence(Generic[StateT]):
    """A cell to run over time.

    equation: the name of the cell's equation; None if only the cell itself can compute it
    project, step: the methods of the cell
    initial: the state before the first step
    lengths: the state of a row is constant from its length on
    """

    equation: str | None
    x: Float[Tensor, "batch time input"]
    initial: StateT
    lengths: Int[Tensor, " batch"] | None
    project: Callable[[Tensor], Tensor]
    step: Callable[[Tensor, StateT], tuple[Tensor, StateT]]
    operands: Callable[[], Operands]


class Backend(Protocol):
    name: str

    def unsupported_reason(self, recurrence: Recurrence[StateT]) -> str | None:
        """Why it can't run this recurrence; None if it can."""
        ...

    def run(
        self, recurrence: Recurrence[StateT]
    ) -> tuple[Float[Tensor, "batch time hidden"], dict[str, Shaped[Tensor, "batch hidden"]]]:
        """The outputs at all steps, and the final state of each row."""
        ...


class Reference:
    """y_t, state_t = step(project(x)_t, state_{t−1}), one step after another"""

    name = "reference"

    def unsupported_reason(self, recurrence: Recurrence[StateT]) -> str | None:
        return None

    def run(self, recurrence: Recurrence[StateT]) -> tuple[Float[Tensor, "batch time hidden"], dict[str, Tensor]]:
        state, lengths = recurrence.initial, recurrence.lengths
        # Before the shortest row ends, no row has padding; 0 if reading it would wait for a device.
        shortest = int(lengths.min()) if lengths is not None and len(lengths) and readable_without_sync(lengths) else 0
        outputs = []
        for t, projected in enumerate(recurrence.project(recurrence.x).unbind(1)):
            y, next_state = recurrence.step(projected, state)
            state = next_state if lengths is None or t < shortest else next_state.where(t < lengths, state)
            outputs.append(y)
        return torch.stack(outputs, dim=1), dict(state)


# The input of each part at padding. σ(1e4) is exactly 1 and σ(−1e4) exactly 0, in every precision.
_PADDING_WEIGHTS = {
    "lstm": (-1e4, 1e4, 0.0, 0.0),  # input gate closed, forget gate open: c' = 1·c + 0·g = c
    "rnn-relu": (-math.inf,),  # h' = 0; otherwise it may grow to infinity, and a gradient of 0 times infinity is NaN
}


class Vendor:
    """`torch.lstm`, `torch.gru`, `torch.rnn_tanh` and `torch.rnn_relu`, one layer and one direction per call.

    Rows of different lengths are not packed, which would be many times slower. Outputs within a row don't depend on its
    padding, and h at its end is the output there. An LSTM's c and a ReLU's h must stop at the end of the row: see
    `_add_padding_input`.
    """

    name = "vendor"
    equations = ("lstm", "gru-after", "rnn", "rnn-relu")

    def unsupported_reason(self, recurrence: Recurrence[StateT]) -> str | None:
        equation = recurrence.equation
        if equation not in self.equations:
            cell = f"the equation {equation!r}" if equation else "this cell (it names no equation)"
            return f"torch has no kernel for {cell}; it has {', '.join(self.equations)}"
        return None

    def run(self, recurrence: Recurrence[StateT]) -> tuple[Float[Tensor, "batch time hidden"], dict[str, Tensor]]:
        x, lengths, operands = recurrence.x, recurrence.lengths, recurrence.operands()
        equation = recurrence.equation or ""
        hidden = recurrence.initial["hidden"].contiguous()  # cuDNN does not accept an expanded tensor
        if lengths is not None and equation in _PADDING_WEIGHTS:
            x, operands = _add_padding_input(x, lengths, operands, _PADDING_WEIGHTS[equation])
        if equation == "lstm":
            initial = (hidden.unsqueeze(0), recurrence.initial["cell"].contiguous().unsqueeze(0))
            lstm = torch.lstm
            if torch.compiler.is_compiling() and torch.is_grad_enabled():
                from seqloom.kernels.uncompiled import lstm
            y, _, cell = lstm(x, initial, *_arguments(operands))
            return y, {"hidden": last_step(y, lengths, hidden), "cell": cell.squeeze(0)}
        function = {"gru-after": torch.gru, "rnn": torch.rnn_tanh, "rnn-relu": torch.rnn_relu}[equation]
        y, _ = function(x, hidden.unsqueeze(0), *_arguments(operands))
        return y, {"hidden": last_step(y, lengths, hidden)}


def _arguments(operands: Operands) -> tuple[list[Tensor], bool, int, float, bool, bool, bool]:
    """weights, has_biases, num_layers, dropout, train, bidirectional, batch_first

    cuDNN refuses a backward pass in eval mode; without dropout, training mode computes the same.
    """
    weights, on_gpu = [operands.input_weight, operands.recurrent_weight], operands.input_weight.is_cuda
    biases = [operands.input_bias, operands.recurrent_bias]
    if on_gpu or any(bias is not None for bias in biases):  # cuDNN always expects two biases
        zeros = weights[0].new_zeros(weights[0].shape[0])
        weights += [zeros if bias is None else bias for bias in biases]
    has_biases = len(weights) == 4
    if on_gpu:  # cuDNN takes weights in one block of memory; it would copy them with a warning
        sizes = [weight.numel() for weight in weights]
        blocks = torch.cat([weight.reshape(-1) for weight in weights]).split(sizes)
        weights = [block.view_as(weight) for block, weight in zip(blocks, weights, strict=True)]
    return weights, has_biases, 1, 0.0, torch.is_grad_enabled(), False, True


def _add_padding_input(
    x: Float[Tensor, "batch time input"],
    lengths: Int[Tensor, " batch"],
    operands: Operands,
    part_weights: tuple[float, ...],
) -> tuple[Float[Tensor, "batch time input+1"], Operands]:
    """Add an input that is 1 at padding and 0 elsewhere, with a weight for each part."""
    weight, hidden_size = operands.input_weight, operands.recurrent_weight.shape[1]
    lowest = torch.finfo(weight.dtype).min / 2  # finite, so that a gradient of zero stays zero
    column = torch.cat([weight.new_full((hidden_size, 1), max(value, lowest)) for value in part_weights])
    padding = ~sequence_mask(lengths, x.shape[1]).unsqueeze(2)
    x = torch.cat([x.masked_fill(padding, 0), padding.to(x.dtype)], dim=2)
    return x, operands._replace(input_weight=torch.cat([weight, column], dim=1))


REFERENCE = Reference()

# From the fastest to the slowest.
BACKENDS: Registry[Backend] = Registry("backend", {"vendor": Vendor(), "reference": REFERENCE})

_requested: ContextVar[str | None] = ContextVar("backend", default=None)


@contextmanager
def use(name: str) -> Iterator[None]:
    """Run recurrences within the block on this backend; an error if it can't run one.

    >>> from seqloom.nn import LSTM, Recurrent
    >>> layer, x = Recurrent(LSTM(3, 4)), torch.randn(2, 5, 3)
    >>> with use("reference"):
    ...     y, state = layer(x)
    >>> torch.allclose(y, layer(x)[0], atol=1e-6)
    True
    """
    BACKENDS[name]  # raises for an unknown name
    token = _requested.set(name)
    try:
        yield
    finally:
        _requested.reset(token)


def choose_backend(recurrence: Recurrence[StateT]) -> Backend:
    """The requested backend, otherwise the fastest that can run this recurrence.

    A compiled graph takes the fastest, because context variables can't be traced.
    """
    requested = None if torch.compiler.is_compiling() else _requested.get()
    if requested is not None:
        reason = BACKENDS[requested].unsupported_reason(recurrence)
        if reason is not None:
            raise UnavailableBackend(f"backend {requested!r} can't run this recurrence: {reason}")
        return BACKENDS[requested]
    if recurrence.x.shape[1] == 1:
        return REFERENCE  # one step has nothing to fuse over time, and the loop copies no weights
    return next(backend for backend in BACKENDS.values() if backend.unsupported_reason(recurrence) is None)
