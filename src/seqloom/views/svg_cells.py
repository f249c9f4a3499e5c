"""Bars and heat maps as SVG."""

from seqloom.views.axis import drawable
from seqloom.views.element import element, label, text, width_of
from seqloom.views.figure import Bars, Grid
from seqloom.views.numbers import brief, short
from seqloom.views.text import clip, one_line

LONGEST_NAME = 22


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
    cell = _cell(grid)
    return round(_left(grid) + cell * len(grid.columns) + 12)


def draw_grid(grid: Grid, width: int) -> tuple[int, str]:
    """The height of the drawing, and what stands in it: a square a value, names at the left and below."""
    left, count = _left(grid), max(len(grid.columns), 1)
    cell = min((width - left - 12) / count, 68)
    tall = min(cell, 44)
    names = [clip(one_line(name), LONGEST_NAME) for name in grid.columns]
    longest = max((width_of(name) for name in names), default=0.0)
    upright = longest <= cell - 4
    top = 24
    bottom = top + tall * len(grid.rows)
    parts = [label(f"{grid.row_axis} ↓   {grid.column_axis} →", 0, 12)]
    size = min(tall - 1, 12.0)
    for index, name in enumerate(grid.rows):
        shown = clip(one_line(name), LONGEST_NAME)
        y = top + tall * (index + 0.5) + size / 3
        parts.append(element("text", text(shown), x=left - 7, y=y, text_anchor="end", style=f"font-size:{size:.1f}px"))
    for index, name in enumerate(names):
        x = left + cell * (index + 0.5)
        if upright:
            parts.append(label(name, x, bottom + 16, "middle"))
        else:  # turned, to read from the top downwards
            turn = f"translate({x - size / 3:.1f} {bottom + 7:.1f}) rotate(90)"
            parts.append(element("text", text(name), transform=turn, style=f"font-size:{min(size, cell):.1f}px"))
    parts += [
        _square(grid, row, column, left + cell * column, top + tall * row, cell, tall)
        for row in range(len(grid.rows))
        for column in range(len(grid.columns))
    ]
    return round(bottom + (24 if upright else longest + 14)), "".join(parts)


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
    number = brief(value)
    size = min(12.0, 12 * (wide - 4) / width_of(number))
    if size < 8 or tall < 15 or (value == 0 and len(grid.rows) > 12):
        return square
    tone = "on-dark" if strength > 0.55 else "strong"
    middle = {"x": x + (wide - gap) / 2, "y": y + (tall - gap) / 2 + size / 3}
    style = {"text_anchor": "middle", "class_": f"{tone} under", "style": f"font-size:{size:.1f}px"}
    return square + element("text", text(number), **middle, **style)


def _left(grid: Grid) -> float:
    return max((width_of(clip(one_line(name), LONGEST_NAME)) for name in grid.rows), default=0.0) + 10


def _cell(grid: Grid) -> int:
    count = len(grid.columns)
    return 68 if count <= 6 else 44 if count <= 12 else 30 if count <= 24 else 17
