"""What a figure shows, said once; `svg`, `paper` and `terminal` each draw it."""

import re
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Literal, TypeAlias

from seqloom.core.problem import ArgumentError
from seqloom.views.axis import Axis, drawable, exact, linear, logarithmic
from seqloom.views.format import short
from seqloom.views.picture import Picture

Points: TypeAlias = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Series:
    """One named line through points (x, y), or a dashed reference to hold the others against.

    `color` is a number from 1 to 6, for what should look the same in several figures; lines without one take turns.
    """

    name: str
    points: Points
    style: Literal["line", "reference"] = "line"
    color: int | None = None


@dataclass(frozen=True)
class Mark:
    """Something that happened at x: a note is labelled, a warning is a sign at the foot of the figure."""

    x: float
    text: str
    kind: Literal["note", "warning"] = "note"


@dataclass(frozen=True)
class Curves:
    """Lines over one x axis. Values that can't be drawn (not finite; not above 0 on a log scale) are left out.

    >>> loss = Curves("Loss", (Series("training", ((0.0, 2.0), (10.0, 1.0))),), x="step", y="loss")
    >>> describe(loss)
    'Loss: loss by step. training: 2 points, from 2 to 1, between 1 and 2.'
    """

    title: str
    series: tuple[Series, ...]
    x: str
    y: str
    log: bool = False
    limits: tuple[float, float] | None = None
    marks: tuple[Mark, ...] = ()
    caption: str = ""

    def colored(self) -> tuple[tuple[int, Series], ...]:
        """Each series with the number of its color, 1 to 6; a reference takes none, and has 0."""
        lines = [series for series in self.series if series.style == "line"]
        turns = {id(series): number % 6 + 1 for number, series in enumerate(lines)}
        return tuple((series.color or turns.get(id(series), 0), series) for series in self.series)

    def axes(self, across: int, up: int) -> tuple[Axis, Axis]:
        """The x and the y axis that hold all that can be drawn, with about so many ticks."""
        xs = [x for series in self.series for x, _ in series.points if drawable(x, log=False)]
        xs += [mark.x for mark in self.marks if drawable(mark.x, log=False)]
        low, high = min(xs, default=0.0), max(xs, default=1.0)
        if 0 < low <= high / 5:  # what begins near 0 is shown from 0
            low = 0.0
        ys = [y for series in self.series for _, y in series.points]
        if self.limits is not None:
            return exact(low, high, across), exact(*self.limits, up)
        return exact(low, high, across), logarithmic(ys, up) if self.log else linear(ys, up)


@dataclass(frozen=True)
class Bars:
    """A named length each, from 0.

    >>> describe(Bars("Support", (("neg", 30.0), ("pos", 12.0)), unit="examples"))
    'Support: examples. neg 30, pos 12.'
    """

    title: str
    bars: tuple[tuple[str, float], ...]
    unit: str
    caption: str = ""


@dataclass(frozen=True)
class Grid:
    """A heat map: values in named rows and columns.

    A cell is as dark as its shade says, from 0 to 1; without shades, as its value between the smallest and the
    largest. Where the diagonal is `special` (a confusion matrix: what is right) it has a color of its own. A cell
    shows its number where that fits, unless the shades alone are to speak.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    row_axis: str
    column_axis: str
    shades: tuple[tuple[float, ...], ...] | None = None
    diagonal: Literal["plain", "special"] = "plain"
    caption: str = ""
    cells: Literal["numbers", "shades"] = "numbers"

    def __post_init__(self) -> None:
        for argument, cells in (("values", self.values), ("shades", self.shades or self.values)):
            if len(cells) != len(self.rows) or any(len(row) != len(self.columns) for row in cells):
                expected = f"{len(self.rows)} rows of {len(self.columns)}, as many as there are names"
                raise ArgumentError("Grid", argument, "another shape", expected)

    def shade(self, row: int, column: int) -> float:
        """How dark a cell is, from 0 to 1; 0 where that can't be said."""
        if self.shades is not None:
            shade = self.shades[row][column]
            return min(max(shade, 0.0), 1.0) if isfinite(shade) else 0.0
        low, high = self._range
        value = self.values[row][column]
        if not isfinite(value) or high <= low:
            return 0.0
        return (value / 2 - low / 2) / (high / 2 - low / 2)  # halves: high - low may overflow

    @cached_property
    def _range(self) -> tuple[float, float]:
        finite = [value for values in self.values for value in values if isfinite(value)]
        return min(finite, default=0.0), max(finite, default=0.0)


@dataclass(frozen=True)
class Panels:
    """One picture, once a name, and how much each of its regions weighs there: weights[panel][row][column].

    Without a picture the regions stand alone.
    """

    title: str
    names: tuple[str, ...]
    weights: tuple[tuple[tuple[float, ...], ...], ...]
    picture: Picture | None = None
    caption: str = ""

    def __post_init__(self) -> None:
        rows, columns = self.shape
        shapes = [[len(row) for row in panel] for panel in self.weights]
        if len(shapes) != len(self.names) or any(shape != [columns] * rows for shape in shapes):
            expected = f"{len(self.names)} panels, as many as there are names, of {rows} rows of {columns}"
            raise ArgumentError("Panels", "weights", "another shape", expected)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of regions."""
        first = self.weights[0] if self.weights else ()
        return len(first), len(first[0]) if first else 0

    def light(self, panel: int, row: int, column: int) -> float:
        """How much a region weighs beside the heaviest of its panel, from 0 to 1."""
        weight, most = self.weights[panel][row][column], self._most[panel]
        return min(max(weight / most, 0.0), 1.0) if most > 0 and isfinite(weight) else 0.0

    @cached_property
    def _most(self) -> list[float]:
        return [max((one for row in panel for one in row if isfinite(one)), default=0.0) for panel in self.weights]


@dataclass(frozen=True)
class Table:
    """Words and numbers in rows; a column with numbers alone (or nothing) is aligned to the right."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | float | None, ...], ...]
    caption: str = ""

    def __post_init__(self) -> None:
        if any(len(row) != len(self.header) for row in self.rows):
            raise ArgumentError("Table", "rows", "another length", f"{len(self.header)} cells, as the header")

    def numeric(self, column: int) -> bool:
        """Whether a column holds no words."""
        return not any(isinstance(row[column], str) for row in self.rows)

    def text(self, row: int, column: int) -> str:
        """A cell as it is shown."""
        cell = self.rows[row][column]
        if isinstance(cell, str):
            return cell
        told, decimals = short(cell), self._decimals[column]
        return f"{cell:,.{decimals}f}" if cell is not None and decimals and _PLAIN.fullmatch(told) else told

    @cached_property
    def _decimals(self) -> list[int]:
        """How many decimals the numbers of each column share, so that they can be compared down the column."""
        columns = [[row[column] for row in self.rows] for column in range(len(self.header))]
        told = [[short(cell) for cell in cells if not isinstance(cell, str)] for cells in columns]
        plain = [[words for words in column if _PLAIN.fullmatch(words)] for column in told]
        return [max((len(words.partition(".")[2]) for words in column), default=0) for column in plain]


_PLAIN = re.compile(r"-?[\d,]+(\.\d+)?")


Drawing: TypeAlias = Curves | Bars | Grid | Panels
Figure: TypeAlias = Drawing | Table


def describe(drawing: Drawing) -> str:
    """A drawing in words, for those who can't see it."""
    match drawing:
        case Curves():
            lines = [_describe_series(series) for series in drawing.series if series.style == "line"]
            return f"{drawing.title}: {drawing.y} by {drawing.x}. {' '.join(lines)}".strip()
        case Bars():
            named = ", ".join(f"{name} {short(value)}" for name, value in drawing.bars[:20])
            return f"{drawing.title}: {drawing.unit}. {named}."
        case Grid():
            shape = f"{len(drawing.rows)} by {len(drawing.columns)}"
            return f"{drawing.title}: {drawing.row_axis} by {drawing.column_axis}, {shape}."
        case Panels():
            rows, columns = drawing.shape
            return f"{drawing.title}: {rows} by {columns} regions for each of {', '.join(drawing.names[:20])}."


def _describe_series(series: Series) -> str:
    values = [y for _, y in series.points if isfinite(y)]
    if not values:
        return f"{series.name}: no points."
    ends = f"from {short(values[0])} to {short(values[-1])}, between {short(min(values))} and {short(max(values))}"
    return f"{series.name}: {len(values)} point{'s' * (len(values) > 1)}, {ends}."
