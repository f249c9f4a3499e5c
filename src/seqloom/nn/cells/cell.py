"""The base of all cells: what can be computed for all steps at once, and what can't."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import make_dataclass
from typing import ClassVar, Protocol, Self

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.kernels.linear import linear
from seqloom.kernels.recurrence import Operands
from seqloom.nn.initialization import initialize
from seqloom.nn.state import State
from seqloom.nn.validation import check_count

Step = tuple[Float[Tensor, "batch hidden"], State]


class Parts(Protocol):
    """The blocks of a tensor by the names of the parts, such as `.forget`."""

    def __getattr__(self, name: str, /) -> Tensor: ...


class Cell(nn.Module, ABC):
    """One step of a recurrence.

        projected = x W_x + b                      `project`, for all steps at once
        y_t, s_t = step(projected_t, s_{t−1})      `step`, one after another

    A new cell is one class: `parts` names the blocks of rows in every weight, `step` is the equation. `Recurrent` and
    `recurrent_stack` give it depth, both directions, lengths, dropout, truncated BPTT, decoding and recorded gates.

    parts: the blocks of hidden_size rows in `input_weight`, `recurrent_weight` and `bias`, in order
    carries: the names in its state; the first one is the output y
    equation: the name under which `kernels` looks for a faster backend; None for a loop over `step`
    """

    parts: ClassVar[tuple[str, ...]]
    carries: ClassVar[tuple[str, ...]] = ("hidden",)
    equation: ClassVar[str | None] = None

    input_weight: Float[Tensor, "parts*hidden input"]
    recurrent_weight: Float[Tensor, "parts*hidden hidden"]
    bias: Float[Tensor, " parts*hidden"] | None
    _make_parts: ClassVar[Callable[..., Parts]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "equation" not in vars(cls):
            cls.equation = None  # not inherited, because a subclass may change any line of the equation
        if "parts" in vars(cls):
            parts: object = cls.parts
            names = [part for part in parts if isinstance(part, str)] if isinstance(parts, tuple) else []
            if not names or len(set(names)) < len(cls.parts) or not all(map(str.isidentifier, names)):
                expected = 'a tuple of different names, such as parts = ("update", "candidate")'
                raise ArgumentError(cls.__name__, "parts", repr(parts), expected, verb="is")
            cls._make_parts = make_dataclass("Parts", cls.parts)  # unlike SimpleNamespace, can be compiled

    def __init__(self, input_size: int, hidden_size: int, *, bias: bool = True) -> None:
        super().__init__()
        location = type(self).__name__
        if not hasattr(self, "parts"):
            expected = 'a tuple of names, such as parts = ("update", "candidate")'
            raise ArgumentError(location, "parts", "missing", expected, verb="is")
        check_count(location, "input_size", input_size)
        check_count(location, "hidden_size", hidden_size)
        self.input_size, self.hidden_size = input_size, hidden_size
        rows = len(self.parts) * hidden_size
        self.input_weight = nn.Parameter(torch.empty(rows, input_size))
        self.recurrent_weight = nn.Parameter(torch.empty(rows, hidden_size))
        self.bias = nn.Parameter(torch.zeros(rows)) if bias else None
        initialize(self)

    def project(self, x: Float[Tensor, "*batch input"]) -> Float[Tensor, "*batch parts*hidden"]:
        """x W_x + b, for all parts"""
        return linear(x, self.input_weight, self.bias)

    @abstractmethod
    def step(self, projected: Float[Tensor, "batch parts*hidden"], state: State) -> Step:
        """The equation: the output and the new state from the projected input and the old state."""

    def recur(self, hidden: Float[Tensor, "batch hidden"]) -> Float[Tensor, "batch parts*hidden"]:
        """h W_h, for all parts"""
        return linear(hidden, self.recurrent_weight)

    def split(self, stacked: Float[Tensor, "*batch parts*hidden"]) -> Parts:
        """The parts by name: `split(projected).forget`."""
        return self._make_parts(*stacked.chunk(len(self.parts), dim=-1))

    def operands(self) -> Operands:
        """The weights in the form that kernels take."""
        return Operands(self.input_weight, self.recurrent_weight, self.bias, None)

    def with_weights(self, **weights: Tensor) -> Self:
        """A copy of this cell with other tensors in place of some weights (weight drop)."""
        cell = copy(self)
        cell._parameters = {**self._parameters, **weights}  # type: ignore[dict-item]
        return cell

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is not None else ", bias=False")
