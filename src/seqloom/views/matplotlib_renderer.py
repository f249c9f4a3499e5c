"""One picture many times for a paper, each time light where a word looked."""

from __future__ import annotations

import warnings
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.core.problem import UserError
from seqloom.views.axis import drawable
from seqloom.views.figure import Bars, Curves, Figure, Grid, Panels, Table
from seqloom.views.format import brief, clip, one_line, short
from seqloom.views.svg import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Plot


BESIDE = 6  # panels in a row
SIDE = 1.1  # inches
VEIL = 0.82  # how dark a region without weight is


def panels_size(panels: Panels) -> tuple[float, float]:
    """Width and height in inches."""
    count = len(panels.names) + (panels.picture is not None)
    return SIDE * min(max(count, 2), BESIDE), (SIDE + 0.2) * max(ceil(count / BESIDE), 1) + 0.4


def draw_panels(panels: Panels, plot: Plot) -> None:
    """The picture as it is, and once more for each name."""
    first = int(panels.picture is not None)
    count = len(panels.names) + first
    for index in range(count):
        axes = plot.add_subplot(ceil(count / BESIDE), min(count, BESIDE), index + 1)
        axes.set_axis_off()
        name = panels.names[index - first] if index >= first else "picture"
        axes.set_title(clip(one_line(name), 16), fontsize="small", color="black" if index >= first else "0.4", pad=3)
        if panels.picture is not None:
            _picture(panels, axes)
        if index >= first:
            _regions(panels, index - first, axes)


def _picture(panels: Panels, axes: Axes) -> None:
    import numpy as np

    picture = panels.picture
    assert picture is not None
    pixels = np.frombuffer(picture.pixels, np.uint8).reshape(picture.height, picture.width, 3)
    axes.imshow(pixels, extent=(0, picture.width, picture.height, 0))


def _regions(panels: Panels, panel: int, axes: Axes) -> None:
    import numpy as np

    rows, columns = panels.shape
    light = np.array([[panels.light(panel, row, column) for column in range(columns)] for row in range(rows)])
    if not light.size:
        return
    if panels.picture is None:
        axes.imshow(light, cmap="Blues", vmin=0, vmax=1)
        return
    veil = np.zeros((rows, columns, 4))
    veil[..., 3] = VEIL * (1 - light)
    axes.imshow(veil, extent=(0, panels.picture.width, panels.picture.height, 0), interpolation="nearest")


SUFFIXES = (".svg", ".pdf", ".png")
DOTTED = 40


def draw(figure: Figure, width: float | None = None, height: float | None = None) -> Plot:
    """The figure in matplotlib, in inches (as large as it needs where not said); no global state, no window.

    >>> from seqloom.views.figure import Series
    >>> plot = draw(Curves("Loss", (Series("training", ((0.0, 2.0), (1.0, 1.0))),), x="step", y="loss"))
    >>> plot.axes[0].get_xlabel()
    'step'
    """
    from matplotlib.figure import Figure as Plot
    from matplotlib.text import Text

    wide, tall = _size(figure)
    plot = Plot(figsize=(width or wide, height or tall), layout="constrained")
    if isinstance(figure, Panels):
        draw_panels(figure, plot)
        plot.suptitle(one_line(figure.title), x=0.01, ha="left", fontsize="medium")
    else:
        _draw(figure, plot.add_subplot())
    for words in plot.findobj(Text):
        words.set_parse_math(False)  # a $ in a label is a $
    return plot


def _draw(figure: Curves | Bars | Grid | Table, axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    match figure:
        case Curves():
            _curves(figure, axes)
        case Bars():
            _bars(figure, axes)
        case Grid():
            _grid(figure, axes)
        case Table():
            _table(figure, axes)
    axes.set_title(one_line(figure.title), loc="left", fontsize="medium")


def _size(figure: Figure) -> tuple[float, float]:
    if isinstance(figure, Panels):
        return panels_size(figure)
    if isinstance(figure, Grid) and figure.cells == "shades":  # squares, with names beside them
        return 1.3 + 0.24 * min(max(len(figure.columns), 8), 60), 1.3 + 0.24 * min(len(figure.rows), 60)
    return 5.5, 3.0


def save(figure: Figure, path: Path) -> None:
    """Draw it into a file, of the kind that the name ends in. The same figure gives the same bytes."""
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(
            f"a figure can't be saved as {path.suffix or 'a file without ending'!r}",
            f"Use {', '.join(SUFFIXES)}",
            location=path,
        )
    import matplotlib

    date: dict[str, None] = {} if path.suffix.lower() == ".png" else {_DATES[path.suffix.lower()]: None}
    with warnings.catch_warnings(), matplotlib.rc_context({"svg.hashsalt": "seqloom", "pdf.fonttype": 42}):
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # drawn as a box: no reason to fail
        draw(figure).savefig(path, dpi=200, metadata=date)


_DATES = {".svg": "Date", ".pdf": "CreationDate"}


def _curves(curves: Curves, axes: Axes) -> None:
    if curves.log and curves.limits is None:  # limits are those of a linear axis
        axes.set_yscale("log")
    across, up = curves.axes(across=5, up=5)
    axes.set_yticks([value for value, _ in up.ticks], [name for _, name in up.ticks])
    axes.set_yticks([], minor=True)
    axes.set_ylim(up.low, up.high)
    axes.set_xticks([value for value, _ in across.ticks], [name for _, name in across.ticks])
    axes.set_xlim(across.low, across.high)
    for color, series in curves.colored():
        shown = [
            (x, y if drawable(y, curves.log) else float("nan")) for x, y in series.points if drawable(x, log=False)
        ]
        xs, values = [x for x, _ in shown], [y for _, y in shown]
        name = one_line(series.name).lstrip("_") or "–"  # matplotlib hides names that begin with an underscore
        if series.style == "reference":
            axes.plot(xs, values, color="0.5", linewidth=1, linestyle=(0, (2, 3)), label=name)
        else:
            marker = "." if len(shown) <= DOTTED else ""
            axes.plot(xs, values, color=LIGHT[color - 1], linewidth=1.3, marker=marker, label=name)
    for mark in curves.marks:
        if mark.kind == "note" and drawable(mark.x, log=False):
            axes.axvline(mark.x, color="0.6", linewidth=0.8, linestyle=":")
    signs = [mark.x for mark in curves.marks if mark.kind == "warning" and drawable(mark.x, log=False)]
    axes.plot(signs, [0.0] * len(signs), "^", color=LIGHT[1], transform=axes.get_xaxis_transform(), clip_on=False)
    axes.set_xlabel(one_line(curves.x))
    axes.set_ylabel(one_line(curves.y))
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    if len(curves.series) > 1:
        axes.legend(frameon=False)


def _bars(bars: Bars, axes: Axes) -> None:
    sizes = [value if drawable(value, log=False) else 0.0 for _, value in bars.bars]
    drawn = axes.barh(range(len(sizes)), sizes, color=LIGHT[0])
    axes.bar_label(drawn, labels=[short(value) for _, value in bars.bars], padding=3)
    axes.set_yticks(range(len(sizes)), [clip(one_line(name), 30) for name, _ in bars.bars])
    axes.invert_yaxis()
    axes.set_xlabel(one_line(bars.unit))


def _grid(grid: Grid, axes: Axes) -> None:
    shades = [[grid.shade(row, column) for column in range(len(grid.columns))] for row in range(len(grid.rows))]
    if grid.rows and grid.columns:
        axes.imshow(shades, cmap="Blues", vmin=0, vmax=1, aspect="equal" if grid.cells == "shades" else "auto")
    turned = 90 if grid.cells == "shades" or sum(map(len, grid.columns)) > 50 else 0
    axes.set_xticks(range(len(grid.columns)), [clip(one_line(name), 30) for name in grid.columns], rotation=turned)
    axes.set_yticks(range(len(grid.rows)), [clip(one_line(name), 30) for name in grid.rows])
    axes.set_xlabel(one_line(grid.column_axis))
    axes.set_ylabel(one_line(grid.row_axis))
    if grid.cells == "shades":
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    elif len(grid.columns) <= 12:
        for row, values in enumerate(grid.values):
            for column, value in enumerate(values):
                color = "white" if shades[row][column] > 0.55 else "black"
                axes.text(column, row, brief(value), ha="center", va="center", color=color, fontsize="small")


def _table(table: Table, axes: Axes) -> None:
    axes.set_axis_off()
    cells = [
        [clip(one_line(table.text(row, column)), 60) for column in range(len(table.header))]
        for row in range(len(table.rows))
    ]
    if not cells or not table.header:
        return
    drawn = axes.table(cells, colLabels=[one_line(name) for name in table.header], loc="upper left", edges="horizontal")
    for (_, column), cell in drawn.get_celld().items():
        cell.get_text().set_horizontalalignment("right" if table.numeric(column) else "left")
        cell.set_edgecolor("0.8")
