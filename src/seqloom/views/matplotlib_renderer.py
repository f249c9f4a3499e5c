"""Figures in matplotlib, for papers: SVG, PDF and PNG files."""

from __future__ import annotations

import warnings
from math import ceil, nan
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.core.problem import UserError
from seqloom.views.axis import drawable
from seqloom.views.figure import Bars, Curves, Figure, Grid, Panels, Table
from seqloom.views.format import one_line, rounded, shorten, tick_label
from seqloom.views.svg import LIGHT, MASK_OPACITY, MAX_DOTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Plot

DATE_KEYS = {".svg": "Date", ".pdf": "CreationDate", ".png": ""}  # by suffix: the metadata to leave out
PER_ROW, SIDE = 6, 1.1  # panels, and inches of each


def draw(figure: Figure, width: float | None = None, height: float | None = None) -> Plot:
    """The figure in matplotlib, without global state; width and height in inches, by default those that fit.

    >>> from seqloom.views.figure import Series
    >>> plot = draw(Curves("Loss", (Series("training", ((0.0, 2.0), (1.0, 1.0))),), x="step", y="loss"))
    >>> plot.axes[0].get_xlabel()
    'step'
    """
    from matplotlib.figure import Figure as Plot
    from matplotlib.text import Text

    default_width, default_height = _size(figure)
    plot = Plot(figsize=(width or default_width, height or default_height), layout="constrained")
    if isinstance(figure, Panels):
        _panels(figure, plot)
    else:
        axes = plot.add_subplot()
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
    for text in plot.findobj(Text):
        text.set_parse_math(False)  # a $ in a label is a $
    return plot


def save_plot(figure: Figure, path: Path) -> None:
    """Draw into a file, whose suffix names the format. The same figure gives the same bytes."""
    suffix = path.suffix.lower()
    if suffix not in DATE_KEYS:
        message = f"a figure can't be saved as {repr(path.suffix) if path.suffix else 'a file without a suffix'}"
        raise UserError(message, f"Use {', '.join(DATE_KEYS)}", location=path)
    import matplotlib

    metadata = {DATE_KEYS[suffix]: None} if DATE_KEYS[suffix] else {}
    with warnings.catch_warnings(), matplotlib.rc_context({"svg.hashsalt": "seqloom", "pdf.fonttype": 42}):
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the font draws a box instead
        draw(figure).savefig(path, dpi=200, metadata=metadata)


def _size(figure: Figure) -> tuple[float, float]:
    """Width and height in inches."""
    if isinstance(figure, Panels):
        count = len(figure.tiles())
        return SIDE * min(max(count, 2), PER_ROW), (SIDE + 0.2) * max(ceil(count / PER_ROW), 1) + 0.4
    if isinstance(figure, Grid) and figure.cells == "shades":  # squares, next to names
        return 1.3 + 0.24 * min(max(len(figure.columns), 8), 60), 1.3 + 0.24 * min(len(figure.rows), 60)
    return 5.5, 3.0


def _short_names(names: tuple[str, ...]) -> list[str]:
    return [shorten(name, 30) for name in names]


def _curves(curves: Curves, axes: Axes) -> None:
    if curves.log and curves.limits is None:  # limits belong to a linear axis
        axes.set_yscale("log")
    x_axis, y_axis = curves.axes(x_ticks=5, y_ticks=5)
    axes.set_yticks([value for value, _ in y_axis.ticks], [name for _, name in y_axis.ticks])
    axes.set_yticks([], minor=True)
    axes.set_ylim(y_axis.low, y_axis.high)
    axes.set_xticks([value for value, _ in x_axis.ticks], [name for _, name in x_axis.ticks])
    axes.set_xlim(x_axis.low, x_axis.high)
    clip = curves.limits is not None  # without limits all points are inside, and a line along an end is drawn whole
    for color, series in curves.colored():
        points = [(x, y if drawable(y, curves.log) else nan) for x, y in series.points if drawable(x, log=False)]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        name = one_line(series.name).lstrip("_") or "–"  # matplotlib hides names that begin with an underscore
        if series.style == "reference":
            axes.plot(xs, ys, color="0.5", linewidth=1, linestyle=(0, (2, 3)), label=name, clip_on=clip)
        else:
            marker = "." if len(xs) <= MAX_DOTS else ""
            axes.plot(xs, ys, color=LIGHT[color - 1], linewidth=1.3, marker=marker, label=name, clip_on=clip)
    for mark in curves.marks_of("note"):
        axes.axvline(mark.x, color="0.6", linewidth=0.8, linestyle=":")
    signs = [mark.x for mark in curves.marks_of("warning")]
    axes.plot(signs, [0.0] * len(signs), "^", color=LIGHT[1], transform=axes.get_xaxis_transform(), clip_on=False)
    axes.set_xlabel(one_line(curves.x))
    axes.set_ylabel(one_line(curves.y))
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    if len(curves.series) > 1:
        axes.legend(frameon=False)


def _bars(bars: Bars, axes: Axes) -> None:
    names, values = tuple(name for name, _ in bars.bars), [value for _, value in bars.bars]
    positions = range(len(values))
    container = axes.barh(positions, [v if drawable(v, log=False) else 0.0 for v in values], color=LIGHT[0])
    axes.bar_label(container, labels=list(map(rounded, values)), padding=3)
    axes.set_yticks(positions, _short_names(names))
    axes.invert_yaxis()
    axes.set_xlabel(one_line(bars.unit))


def _grid(grid: Grid, axes: Axes) -> None:
    darkness, is_map = grid.darkness(), grid.cells == "shades"
    if grid.rows and grid.columns:
        axes.imshow(darkness, cmap="Blues", vmin=0, vmax=1, aspect="equal" if is_map else "auto")
    rotation = 90 if is_map or sum(map(len, grid.columns)) > 50 else 0
    axes.set_xticks(range(len(grid.columns)), _short_names(grid.columns), rotation=rotation)
    axes.set_yticks(range(len(grid.rows)), _short_names(grid.rows))
    axes.set_xlabel(one_line(grid.column_axis))
    axes.set_ylabel(one_line(grid.row_axis))
    if is_map:
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    elif len(grid.columns) <= 12:
        for row, values in enumerate(grid.values):
            for column, value in enumerate(values):
                color = "white" if darkness[row][column] > 0.55 else "black"
                axes.text(column, row, tick_label(value), ha="center", va="center", color=color, fontsize="small")


def _table(table: Table, axes: Axes) -> None:
    axes.set_axis_off()
    cells = [[shorten(cell, 60) for cell in row] for row in table.texts()]
    if not cells or not table.header:
        return
    header = list(map(one_line, table.header))
    artist = axes.table(cells, colLabels=header, loc="upper left", edges="horizontal")
    for (_, column), cell in artist.get_celld().items():
        cell.get_text().set_horizontalalignment("right" if table.numeric(column) else "left")
        cell.set_edgecolor("0.8")


def _panels(panels: Panels, plot: Plot) -> None:
    """The picture as it is, and again for each name, dark where the weight is small."""
    import numpy as np

    picture, tiles = panels.picture, panels.tiles()
    for index, (name, panel) in enumerate(tiles, 1):
        axes = plot.add_subplot(ceil(len(tiles) / PER_ROW), min(len(tiles), PER_ROW), index)
        axes.set_axis_off()
        axes.set_title(shorten(name, 16), fontsize="small", color="0.4" if panel is None else "black", pad=3)
        extent = (0, picture.width, picture.height, 0) if picture is not None else None
        if picture is not None:
            pixels = np.frombuffer(picture.pixels, np.uint8).reshape(picture.height, picture.width, 3)
            axes.imshow(pixels, extent=extent)
        weights = np.array(panels.lightness(panel) if panel is not None else [])
        if not weights.size:
            continue
        if picture is None:
            axes.imshow(weights, cmap="Blues", vmin=0, vmax=1)
        else:
            mask = np.zeros((*weights.shape, 4))
            mask[..., 3] = MASK_OPACITY * (1 - weights)
            axes.imshow(mask, extent=extent, interpolation="nearest")
    plot.suptitle(one_line(panels.title), x=0.01, ha="left", fontsize="medium")
