"""Descriptions of figures, which `svg`, `matplotlib_renderer` and `terminal` draw."""

import re
from dataclasses import dataclass
from itertools import compress
from math import inf, isfinite
from typing import Literal, TypeAlias

from seqloom.core.problem import ArgumentError
from seqloom.views.axis import Axis, drawable, exact_axis, linear_axis, log_axis
from seqloom.views.format import one_line, rounded
from seqloom.views.picture import Picture

Points: TypeAlias = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Series:
    """One named line through points (x, y), or a dashed reference line.

    color: 1 to 6, to give it the same color in several figures; lines without one take the colors in turn
    """

    name: str
    points: Points
    style: Literal["line", "reference"] = "line"
    color: int | None = None


@dataclass(frozen=True)
class Mark:
    """An event at x: a note is a labeled vertical line, a warning is a sign at the foot of the figure."""

    x: float
    text: str
    kind: Literal["note", "warning"] = "note"


@dataclass(frozen=True)
class Curves:
    """Lines over one x axis. Values that can't be drawn (not finite; not above 0 on a log scale) are left out.

    limits: the ends of the y axis; by default those that the values need
    bounds: the range of what is drawn: the y axis does not go beyond it, unless a value does

    >>> loss = Curves("Loss", (Series("training", ((0.0, 2.0), (10.0, 1.0))),), x="step", y="loss")
    >>> alt_text(loss)
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
    bounds: tuple[float, float] = (-inf, inf)

    @property
    def lines(self) -> list[Series]:
        return [series for series in self.series if series.style == "line"]

    def colored(self) -> tuple[tuple[int, Series], ...]:
        """Each series with the number of its color, 1 to 6; 0 for a reference."""
        turns = {id(series): number % 6 + 1 for number, series in enumerate(self.lines)}
        return tuple((series.color or turns.get(id(series), 0), series) for series in self.series)

    def can_draw(self, point: tuple[float, float]) -> bool:
        return drawable(point[0], log=False) and drawable(point[1], self.log)

    def drawable_points(self, series: Series) -> list[tuple[float, float]]:
        return list(filter(self.can_draw, series.points))

    def marks_of(self, kind: Literal["note", "warning"]) -> list[Mark]:
        return [mark for mark in self.marks if mark.kind == kind and drawable(mark.x, log=False)]

    def axes(self, x_ticks: int, y_ticks: int) -> tuple[Axis, Axis]:
        """The x and the y axis that hold all that can be drawn, with about so many ticks."""
        xs = [x for series in self.series for x, _ in series.points if drawable(x, log=False)]
        xs += [mark.x for mark in self.marks if drawable(mark.x, log=False)]
        low, high = min(xs, default=0.0), max(xs, default=1.0)
        if 0 < low <= high / 5:  # an axis that begins near 0 begins at 0
            low = 0.0
        ys = [y for series in self.series for _, y in series.points]
        if self.limits is not None:
            y_axis = exact_axis(*self.limits, y_ticks)
        else:
            y_axis = (log_axis if self.log else linear_axis)(ys, y_ticks).within(self._bounds(ys))
        return exact_axis(low, high, x_ticks), y_axis

    def _bounds(self, ys: list[float]) -> tuple[float, float]:
        """The bounds, extended by values beyond them; rounding, as in a BLEU of 100.00000000000004, does not count."""
        low, high = self.bounds
        values = [y for y in ys if drawable(y, self.log)]
        lowest, highest = min(values, default=low), max(values, default=high)
        return lowest if lowest < low - abs(low) * 1e-9 else low, highest if highest > high + abs(high) * 1e-9 else high


@dataclass(frozen=True)
class Bars:
    """Named bars, which start at 0.

    >>> alt_text(Bars("Support", (("neg", 30.0), ("pos", 12.0)), unit="examples"))
    'Support: examples. neg 30, pos 12.'
    """

    title: str
    bars: tuple[tuple[str, float], ...]
    unit: str
    caption: str = ""

    def lengths(self) -> list[float]:
        """The length of each bar as a share of the longest; 0 for a value that can't be drawn."""
        sizes = [abs(value) if drawable(value, log=False) else 0.0 for _, value in self.bars]
        longest = max(sizes, default=0.0) or 1.0
        return [size / longest for size in sizes]


@dataclass(frozen=True)
class Grid:
    """A heat map: values in named rows and columns.

    shades: how dark each cell is, 0 to 1; without them, its value between the smallest and the largest
    diagonal: "special" gives it a color of its own, as for the correct predictions of a confusion matrix
    cells: whether a cell also shows its number, where that fits
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

    def darkness(self) -> list[list[float]]:
        """How dark each cell is, from 0 to 1; 0 for a value that is not finite."""
        if self.shades is not None:
            return _shares(self.shades, 0.0, 1.0)
        finite = [value for row in self.values for value in row if isfinite(value)]
        return _shares(self.values, min(finite, default=0.0), max(finite, default=0.0))


@dataclass(frozen=True)
class Panels:
    """A picture, repeated for each name, and the weight of each of its regions there: weights[panel][row][column].

    Without a picture, the regions alone are drawn.
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

    def lightness(self, panel: int) -> list[list[float]]:
        """The weight of each region divided by the largest of the panel, from 0 to 1."""
        weights = self.weights[panel]
        return _shares(weights, 0.0, max((x for row in weights for x in row if isfinite(x)), default=0.0))

    def tiles(self) -> list[tuple[str, int | None]]:
        """The name and the panel of each image to draw; None is the picture as it is, which comes first."""
        names = [(one_line(name), panel) for panel, name in enumerate(self.names)]
        return [*([("picture", None)] if self.picture is not None else []), *names]


def _shares(rows: tuple[tuple[float, ...], ...], low: float, high: float) -> list[list[float]]:
    """The position of each value between `low` and `high`, from 0 to 1; 0 for a value that is not finite."""

    def share(value: float) -> float:
        if not isfinite(value) or high / 2 <= low / 2:  # halves: high - low may overflow
            return 0.0
        return min(max((value / 2 - low / 2) / (high / 2 - low / 2), 0.0), 1.0)

    return [list(map(share, row)) for row in rows]


@dataclass(frozen=True)
class Table:
    """Text and numbers in rows; a column without text is aligned to the right."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | float | None, ...], ...]
    caption: str = ""

    def __post_init__(self) -> None:
        if any(len(row) != len(self.header) for row in self.rows):
            raise ArgumentError("Table", "rows", "another length", f"{len(self.header)} cells, as the header")

    def numeric(self, column: int) -> bool:
        return not any(isinstance(row[column], str) for row in self.rows)

    def texts(self) -> list[list[str]]:
        """All cells as they are shown; the numbers of a column have the same number of decimals."""
        columns = [self._column([row[column] for row in self.rows]) for column in range(len(self.header))]
        return [[column[row] for column in columns] for row in range(len(self.rows))]

    def _column(self, cells: list[str | float | None]) -> list[str]:
        texts = [cell if isinstance(cell, str) else rounded(cell) for cell in cells]
        plain = [not isinstance(cell, str) and bool(_PLAIN.fullmatch(rounded(cell))) for cell in cells]
        decimals = max((len(text.partition(".")[2]) for text in compress(texts, plain)), default=0)
        columns = zip(cells, texts, plain, strict=True)
        return [f"{cell:,.{decimals}f}" if number and decimals else text for cell, text, number in columns]


_PLAIN = re.compile(r"-?[\d,]+(\.\d+)?")

Drawing: TypeAlias = Curves | Bars | Grid | Panels
Figure: TypeAlias = Drawing | Table


def alt_text(drawing: Drawing) -> str:
    """A drawing in words, for screen readers."""
    match drawing:
        case Curves():
            text = f"{drawing.title}: {drawing.y} by {drawing.x}."
            for series in drawing.lines:
                text += f" {series.name}: {_range_text([y for _, y in series.points if isfinite(y)])}."
            return text
        case Bars():
            bars = ", ".join(f"{name} {rounded(value)}" for name, value in drawing.bars[:20])
            return f"{drawing.title}: {drawing.unit}. {bars}."
        case Grid():
            shape = f"{len(drawing.rows)} by {len(drawing.columns)}"
            return f"{drawing.title}: {drawing.row_axis} by {drawing.column_axis}, {shape}."
        case Panels():
            rows, columns = drawing.shape
            return f"{drawing.title}: {rows} by {columns} regions for each of {', '.join(drawing.names[:20])}."


def _range_text(values: list[float]) -> str:
    if not values:
        return "no points"
    first, last, low, high = map(rounded, (values[0], values[-1], min(values), max(values)))
    return f"{len(values)} point{'s' * (len(values) > 1)}, from {first} to {last}, between {low} and {high}"
