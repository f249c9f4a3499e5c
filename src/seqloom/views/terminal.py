"""A figure as lines of text: braille and blocks where the terminal has them, plain ASCII where not."""

from itertools import pairwise

from rich.cells import cell_len

from seqloom.views.axis import Axis, drawable
from seqloom.views.downsample import thin
from seqloom.views.figure import Bars, Curves, Figure, Grid, Panels, Series, Table
from seqloom.views.format import brief, one_line, short
from seqloom.views.terminal_cells import (
    ASCII,
    UNICODE,
    Characters,
    characters,
    fit,
    grid_lines,
    left,
    panel_lines,
    plain,
    right,
)

__all__ = ["ASCII", "UNICODE", "Characters", "characters", "draw", "fit"]


def draw(figure: Figure, width: int = 80, height: int = 12, using: Characters = UNICODE) -> list[str]:
    """Lines of at most `width` columns; `height` is that of the curves.

    >>> for line in draw(Bars("Support", (("neg", 30.0), ("pos", 12.0)), unit="examples"), width=30):
    ...     print(line)
    Support
    neg ███████████████████████ 30
    pos █████████▎ 12
    """
    width = max(width, 20)
    match figure:
        case Curves():
            lines = _curves(figure, width, max(height, 3), using)
        case Bars():
            lines = _bars(figure, width, using)
        case Grid():
            lines = grid_lines(figure, width, using)
        case Panels():
            lines = panel_lines(figure, width, using)
        case Table():
            lines = _table(figure, width, using)
    return [fit(line, width, using).rstrip() for line in (figure.title, *lines)]


def _curves(curves: Curves, width: int, height: int, using: Characters) -> list[str]:
    across, up = curves.axes(across=3, up=4)
    gutter = max((len(name) for _, name in up.ticks), default=1)
    columns = width - gutter - 2
    rows = {round((1 - (up.place(value) or 0.0)) * (height - 1)): name for value, name in up.ticks}
    canvas = _canvas(curves, across, up, columns, height, using)
    lines = [f"{rows.get(row, ''):>{gutter}} {using.up}{''.join(canvas[row])}" for row in range(height)]
    foot = [using.across] * columns
    for mark in curves.marks:
        if mark.kind == "warning" and (place := across.place(mark.x)) is not None:
            foot[round(place * (columns - 1))] = using.warning
    ends = brief(across.low), f"{brief(across.high)} {one_line(curves.x)}"
    gap = " " * max(1, columns - len(ends[0]) - cell_len(ends[1]))
    lines += [f"{'':>{gutter}} {using.corner}{''.join(foot)}", f"{'':>{gutter}}  {ends[0]}{gap}{ends[1]}"]
    scale = " (log scale)" if curves.log else ""
    return [_legend(curves, using) + scale, *lines]


def _legend(curves: Curves, using: Characters) -> str:
    drawn = [series for series in curves.series if series.style == "line"]
    if len(drawn) == 1:
        return curves.y
    if using.signs:
        named = [f"{using.signs[index % len(using.signs)]} {series.name}" for index, series in enumerate(drawn)]
    else:
        named = [f"{_ending(series)}" for series in drawn]
    return f"{curves.y}: {', '.join(named)}"


def _ending(series: Series) -> str:
    """A name and where its line ends: in one color, that is what tells lines apart."""
    values = [y for _, y in series.points if drawable(y, log=False)]
    return f"{series.name} (ends at {short(values[-1])})" if values else series.name


def _canvas(curves: Curves, across: Axis, up: Axis, columns: int, rows: int, using: Characters) -> list[list[str]]:
    """A character each cell. A braille cell is 2 dots wide and 4 tall; in ASCII, a series' sign."""
    wide, tall = using.dots
    cells = [[0] * columns for _ in range(rows)]
    signs = [[" "] * columns for _ in range(rows)]
    drawn = [series for series in curves.series if series.style == "line" or using is UNICODE]
    for index, series in enumerate(drawn):
        for x, y in _pixels(series, curves.log, across, up, columns * wide, rows * tall):
            cells[y // tall][x // wide] |= _BRAILLE[y % tall][x % wide]
            if using.signs:
                signs[y][x] = using.signs[index % len(using.signs)]
    if using.signs:
        return signs
    return [[chr(0x2800 + cell) if cell else " " for cell in row] for row in cells]


_BRAILLE = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def _pixels(series: Series, log: bool, across: Axis, up: Axis, wide: int, tall: int) -> list[tuple[int, int]]:
    """The dots of a line, from point to point; a reference has every third."""
    shown = [(x, y) for x, y in series.points if drawable(x, log=False) and drawable(y, log)]
    corners = [
        (round((across.place(x) or 0.0) * (wide - 1)), round((1 - (up.place(y) or 0.0)) * (tall - 1)))
        for x, y in thin(shown, 4 * wide)
    ]
    dots = corners[:1]
    for (x0, y0), (x1, y1) in pairwise(corners):
        steps = max(abs(x1 - x0), abs(y1 - y0))
        dots += [
            (x0 + round((x1 - x0) * step / steps), y0 + round((y1 - y0) * step / steps)) for step in range(1, steps + 1)
        ]
    return dots[::3] if series.style == "reference" else dots


def _bars(bars: Bars, width: int, using: Characters) -> list[str]:
    names = max((cell_len(plain(name, using)) for name, _ in bars.bars), default=0)
    names = min(names, width // 3)
    values = [plain(short(value), using) for _, value in bars.bars]
    room = max(width - names - 2 - max(map(len, values), default=0), 1)
    sizes = [abs(value) if drawable(value, log=False) else 0.0 for _, value in bars.bars]
    longest = max(sizes, default=0.0) or 1.0
    parts = len(using.eighths) - 1
    lines = []
    for (name, _), value, size in zip(bars.bars, values, sizes, strict=True):
        full, rest = divmod(round(size / longest * room * parts), parts)
        bar = using.eighths[-1] * full + (using.eighths[rest] if rest else "")
        lines.append(f"{left(name, names, using)} {bar} {value}")
    return lines


def _table(table: Table, width: int, using: Characters) -> list[str]:
    """Columns as wide as their widest cell; the widest ones give way when the line is full."""
    cells = [
        [plain(table.text(row, column), using) for column in range(len(table.header))] for row in range(len(table.rows))
    ]
    cells.insert(0, [plain(name, using) for name in table.header])
    widths = [max(cell_len(row[column]) for row in cells) for column in range(len(table.header))]
    while sum(widths) + 2 * (len(widths) - 1) > width and max(widths, default=0) > 3:
        widths[widths.index(max(widths))] -= 1
    lines = []
    for row in cells:
        shown = [
            (right if table.numeric(column) else left)(cell, widths[column], using) for column, cell in enumerate(row)
        ]
        lines.append("  ".join(shown))
    lines.insert(1, using.across * min(sum(widths) + 2 * (len(widths) - 1), width))
    return lines
