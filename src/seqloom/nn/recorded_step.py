"""A step that is recorded, and its rows, which `State.recorded` refers to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

Token = str | int


@dataclass(eq=False)
class Step:
    """One call of a layer or model that is not inside another one.

    before: for each row, the step and the row that it continues; None for a row that starts here
    tokens: what each row reads, by `TOKENS` or `SOURCE_TOKENS`
    """

    rows: int
    before: "Sequence[StepRow | None]"
    tokens: dict[str, Sequence[Sequence[Token]]] = field(default_factory=dict)

    @property
    def step_rows(self) -> tuple["StepRow", ...]:
        return tuple(StepRow(self, row) for row in range(self.rows))


class StepRow(NamedTuple):
    """A row of a step."""

    step: Step
    row: int


StepRows = tuple[StepRow | None, ...]
"""For each row of a state the last step of it in a recording; None for a row that is in none."""
