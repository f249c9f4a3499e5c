"""Figures as lines of text: in braille and block characters, or in plain ASCII where the output has no others."""

from itertools import pairwise

from rich.cells import cell_len

from seqloom.views.axis import Axis, drawable
from seqloom.views.downsample import downsample
from seqloom.views.figure import Bars, Curves, Figure, Grid, Panels, Series, Table
from seqloom.views.format import one_line, rounded, tick_label
from seqloom.views.terminal_cells import (
    UNICODE,
    Charset,
    align_left,
    align_right,
    fit,
    grid_lines,
    panel_lines,
    to_charset,
)


def draw(figure: Figure, width: int = 80, height: int = 12, charset: Charset = UNICODE) -> list[str]:
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
            lines = _curves(figure, width, max(height, 3), charset)
        case Bars():
            lines = _bars(figure, width, charset)
        case Grid():
            lines = grid_lines(figure, width, charset)
        case Panels():
            lines = panel_lines(figure, width, charset)
        case Table():
            lines = _table(figure, width, charset)
    return [fit(line, width, charset).rstrip() for line in (figure.title, *lines)]


def _curves(curves: Curves, width: int, height: int, charset: Charset) -> list[str]:
    x_axis, y_axis = curves.axes(x_ticks=3, y_ticks=4)
    gutter = max((len(name) for _, name in y_axis.ticks), default=1)
    columns = width - gutter - 2
    names = {round((1 - (y_axis.position(value) or 0.0)) * (height - 1)): name for value, name in y_axis.ticks}
    canvas = _canvas(curves, x_axis, y_axis, columns, height, charset)
    lines = [_legend(curves, charset) + " (log scale)" * curves.log]
    lines += [f"{names.get(row, ''):>{gutter}} {charset.up}{canvas[row]}" for row in range(height)]
    foot = [charset.across] * columns
    for mark in curves.marks_of("warning"):
        foot[round((x_axis.position(mark.x) or 0.0) * (columns - 1))] = charset.warning
    low, high = tick_label(x_axis.low), f"{tick_label(x_axis.high)} {one_line(curves.x)}"
    gap = " " * max(1, columns - len(low) - cell_len(high))
    return [*lines, f"{'':>{gutter}} {charset.corner}{''.join(foot)}", f"{'':>{gutter}}  {low}{gap}{high}"]


def _legend(curves: Curves, charset: Charset) -> str:
    """The y axis and the names of several lines, with their signs; without signs, with where each line ends."""
    if len(curves.lines) == 1:
        return curves.y
    names = []
    for index, series in enumerate(curves.lines):
        values = [y for _, y in series.points if drawable(y, log=False)]
        if charset.signs:
            names.append(f"{charset.signs[index % len(charset.signs)]} {series.name}")
        else:
            names.append(f"{series.name} (ends at {rounded(values[-1])})" if values else series.name)
    return f"{curves.y}: {', '.join(names)}"


_BRAILLE = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def _canvas(curves: Curves, x_axis: Axis, y_axis: Axis, columns: int, rows: int, charset: Charset) -> list[str]:
    """Lines of characters. A braille cell is 2 dots wide and 4 high; in ASCII a cell is the sign of a series."""
    width, height = charset.dots
    cells = [[0] * columns for _ in range(rows)]
    signs = [[" "] * columns for _ in range(rows)]
    for index, series in enumerate(curves.lines if charset.signs else curves.series):
        for x, y in _dots(curves, series, x_axis, y_axis, columns * width, rows * height):
            cells[y // height][x // width] |= _BRAILLE[y % height][x % width]
            if charset.signs:
                signs[y][x] = charset.signs[index % len(charset.signs)]
    if charset.signs:
        return ["".join(row) for row in signs]
    return ["".join(chr(0x2800 + cell) if cell else " " for cell in row) for row in cells]


def _dots(curves: Curves, series: Series, x_axis: Axis, y_axis: Axis, width: int, height: int) -> list[tuple[int, int]]:
    """The dots of a line, from point to point; every third dot of a reference."""
    corners = [
        (round((x_axis.position(x) or 0.0) * (width - 1)), round((1 - (y_axis.position(y) or 0.0)) * (height - 1)))
        for x, y in downsample(curves.drawable(series), 4 * width)
    ]
    dots = corners[:1]
    for (x0, y0), (x1, y1) in pairwise(corners):
        steps = max(abs(x1 - x0), abs(y1 - y0))
        dots += [
            (x0 + round((x1 - x0) * step / steps), y0 + round((y1 - y0) * step / steps)) for step in range(1, steps + 1)
        ]
    return dots[::3] if series.style == "reference" else dots


def _bars(bars: Bars, width: int, charset: Charset) -> list[str]:
    names = min(max((cell_len(to_charset(name, charset)) for name, _ in bars.bars), default=0), width // 3)
    numbers = [to_charset(rounded(value), charset) for _, value in bars.bars]
    longest = max(width - names - 2 - max(map(len, numbers), default=0), 1)
    sizes = [abs(value) if drawable(value, log=False) else 0.0 for _, value in bars.bars]
    largest = max(sizes, default=0.0) or 1.0
    steps = len(charset.eighths) - 1  # of one column
    lines = []
    for (name, _), number, size in zip(bars.bars, numbers, sizes, strict=True):
        full, rest = divmod(round(size / largest * longest * steps), steps)
        bar = charset.eighths[-1] * full + (charset.eighths[rest] if rest else "")
        lines.append(f"{align_left(name, names, charset)} {bar} {number}")
    return lines


def _table(table: Table, max_width: int, charset: Charset) -> list[str]:
    """Columns as wide as their widest cell; the widest shrink if the line is too long."""
    rows = [[to_charset(cell, charset) for cell in row] for row in [list(table.header), *table.texts()]]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > max_width and max(widths, default=0) > 3:
        widths[widths.index(max(widths))] -= 1
    aligned = [align_right if table.numeric(column) else align_left for column in range(len(widths))]
    lines = [
        "  ".join(align(cell, width, charset) for align, cell, width in zip(aligned, row, widths, strict=True))
        for row in rows
    ]
    lines.insert(1, charset.across * min(sum(widths) + 2 * (len(widths) - 1), max_width))
    return lines
