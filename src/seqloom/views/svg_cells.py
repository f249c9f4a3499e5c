"""Bars and heat maps as SVG."""

from seqloom.views.axis import drawable
from seqloom.views.element import element, label, text, width_of
from seqloom.views.figure import Bars, Grid
from seqloom.views.numbers import brief, short
from seqloom.views.text import clip, one_line

LONGEST_NAME = 22
SLANT = 0.75  # of its length, what a name at 45 degrees takes across and up


def draw_bars(bars: Bars, width: int) -> tuple[int, str]:
    """The height of the drawing, and what stands in it: a row a bar."""
    names = [clip(one_line(name), LONGEST_NAME) for name, _ in bars.bars]
    values = [value if drawable(value, log=False) else 0.0 for _, value in bars.bars]
    left = max((width_of(name) for name in names), default=0.0) + 10
    right = width - max((width_of(short(value)) for _, value in bars.bars), default=0.0) - 10
    longest = max((abs(value) for value in values), default=0.0) or 1.0
    parts = [label(bars.unit, 0, 12)]
    for index, (name, value) in enumerate(zip(names, values, strict=True)):
        y, length = 24 + 21 * index, abs(value) / longest * (right - left)
        full, told = bars.bars[index][0], short(bars.bars[index][1])
        title = element("title", text(f"{one_line(full)}: {told}"))
        bar = element("rect", title, x=left, y=y, width=max(length, 1), height=15, rx=2, class_="cell f1")
        parts += [label(name, left - 7, y + 12, "end", "strong"), bar, label(told, left + length + 6, y + 12)]
    return 24 + 21 * len(names) + 4, "".join(parts)


def grid_width(grid: Grid) -> int:
    """How wide a heat map wants to be, in pixels."""
    left, cell = _left(grid), _cell(grid)
    return round(left + cell * len(grid.columns) + _overhang(grid, cell) + 4)


def draw_grid(grid: Grid, width: int) -> tuple[int, str]:
    """The height of the drawing, and what stands in it: a square a value, names at the left and above."""
    left, count = _left(grid), max(len(grid.columns), 1)
    cell = min((width - left - _overhang(grid, _cell(grid)) - 4) / count, 68)
    tall = min(cell, 44)
    names = _names(grid.columns)
    longest = max(map(width_of, names), default=0.0)
    upright = longest <= cell - 4
    size = min(tall - 1, 12.0)
    top = 44 if upright else 28 + longest * SLANT
    parts = [label(f"{grid.row_axis} ↓   {grid.column_axis} →", 0, 12)]
    for index, name in enumerate(_names(grid.rows)):
        y = top + tall * (index + 0.5) + size / 3
        parts.append(element("text", text(name), x=left - 7, y=y, text_anchor="end", style=f"font-size:{size:.1f}px"))
    for index, name in enumerate(names):
        x = left + cell * (index + 0.5)
        if upright:
            parts.append(label(name, x, top - 8, "middle"))
        else:  # at a slant, to be read with a tilted head at most
            turn = f"translate({x:.1f} {top - 6:.1f}) rotate(-45)"
            parts.append(element("text", text(name), transform=turn, style=f"font-size:{min(size, cell):.1f}px"))
    parts += [
        _square(grid, row, column, left + cell * column, top + tall * row, cell, tall)
        for row in range(len(grid.rows))
        for column in range(len(grid.columns))
    ]
    return round(top + tall * len(grid.rows) + 4), "".join(parts)


def _names(names: tuple[str, ...]) -> list[str]:
    return [clip(one_line(name), LONGEST_NAME) for name in names]


def _overhang(grid: Grid, cell: float) -> float:
    """How far names at a slant reach beyond the last column."""
    wide = [width_of(name) for name in _names(grid.columns)]
    if max(wide, default=0.0) <= cell - 4:
        return 8
    return max(8, *(one * SLANT - cell * (len(wide) - index - 0.5) for index, one in enumerate(wide)))


def _square(grid: Grid, row: int, column: int, x: float, y: float, wide: float, tall: float) -> str:
    value, shade = grid.values[row][column], grid.shade(row, column)
    special = grid.diagonal == "special" and row != column
    where = f"{grid.row_axis} {one_line(grid.rows[row])}, {grid.column_axis} {one_line(grid.columns[column])}"
    title = element("title", text(f"{where}: {short(value)}"))
    strength = 0.04 + 0.96 * shade
    gap = 2 if wide > 24 else 0.5
    square = element(
        "rect",
        title,
        x=x,
        y=y,
        width=wide - gap,
        height=tall - gap,
        rx=min(3, wide / 8),
        class_=f"cell f{2 if special else 1}",
        fill_opacity=f"{strength:.3f}",
    )
    if grid.cells == "shades":
        return square
    number = brief(value)
    size = min(12.0, 12 * (wide - 4) / width_of(number))
    if size < 8 or tall < 15 or (value == 0 and len(grid.rows) > 12):
        return square
    tone = "on-dark" if strength > 0.55 else "strong"
    middle = {"x": x + (wide - gap) / 2, "y": y + (tall - gap) / 2 + size / 3}
    style = {"text_anchor": "middle", "class_": f"{tone} under", "style": f"font-size:{size:.1f}px"}
    return square + element("text", text(number), **middle, **style)


def _left(grid: Grid) -> float:
    return max(map(width_of, _names(grid.rows)), default=0.0) + 10


def _cell(grid: Grid) -> int:
    count = len(grid.columns)
    if grid.cells == "shades":
        return 28 if count <= 20 else 22 if count <= 36 else 17
    return 68 if count <= 6 else 44 if count <= 12 else 30 if count <= 24 else 17
