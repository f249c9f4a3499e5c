"""What every backend of a recurrence is given: one cell, one direction, all steps."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from seqloom.kernels.masks import readable


class Operands(NamedTuple):
    """The weights of a cell as matrices: rows are its parts in order, each of hidden_size rows."""

    input_weight: Float[Tensor, "parts*hidden input"]
    recurrent_weight: Float[Tensor, "parts*hidden hidden"]
    input_bias: Float[Tensor, " parts*hidden"] | None
    recurrent_bias: Float[Tensor, " parts*hidden"] | None


class NamedTensors(Protocol):
    """A state, as far as a kernel needs to know: named tensors, and a choice between two by row."""

    def __getitem__(self, name: str, /) -> Tensor: ...

    def keys(self) -> Iterable[str]: ...

    def where(self, rows: Tensor, other: Self, /) -> Self: ...


Carried = TypeVar("Carried", bound=NamedTensors)
"""The state of a cell."""


@dataclass(frozen=True)
class Recurrence(Generic[Carried]):
    """Run a cell over time.

    equation: the name of the cell's equation; None for one that only the cell itself knows
    project, step: the cell; `step` is the definition and the judge of all backends
    initial: named tensors before the first step
    lengths: rows stop here, and their state with them
    """

    equation: str | None
    x: Float[Tensor, "batch time input"]
    initial: Carried
    lengths: Int[Tensor, " batch"] | None
    project: Callable[[Tensor], Tensor]
    step: Callable[[Tensor, Carried], tuple[Tensor, Carried]]
    operands: Callable[[], Operands]


class Backend(Protocol):
    """One way to run a recurrence."""

    name: str

    def refuses(self, recurrence: Recurrence[Carried]) -> str | None:
        """Why it can't run this recurrence; None if it can."""
        ...

    def run(
        self, recurrence: Recurrence[Carried]
    ) -> tuple[Float[Tensor, "batch time hidden"], dict[str, Shaped[Tensor, "batch hidden"]]]:
        """Outputs at all steps, and the named tensors at each row's own end."""
        ...


class Reference:
    """y_t, state_t = step(project(x)_t, state_{t-1}), one step after another."""

    name = "reference"

    def refuses(self, recurrence: Recurrence[Carried]) -> str | None:
        return None

    def run(self, recurrence: Recurrence[Carried]) -> tuple[Float[Tensor, "batch time hidden"], dict[str, Tensor]]:
        state = recurrence.initial
        shortest = _shortest(recurrence.lengths)
        outputs = []
        for t, projected in enumerate(recurrence.project(recurrence.x).unbind(1)):
            y, after = recurrence.step(projected, state)
            if recurrence.lengths is not None and t >= shortest:
                after = after.where(t < recurrence.lengths, state)
            state = after
            outputs.append(y)
        return torch.stack(outputs, dim=1), dict(state)


def _shortest(lengths: Int[Tensor, " batch"] | None) -> int:
    """Up to here no row has ended; 0 where looking would wait for a device."""
    if lengths is None or not len(lengths) or not readable(lengths):
        return 0
    return int(lengths.min())
