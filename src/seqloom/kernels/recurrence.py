"""A recurrence (one cell in one direction over all steps), and the reference loop that every backend must match."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from seqloom.kernels.masks import readable_without_sync


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
