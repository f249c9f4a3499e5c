"""Figures as lines of text: in braille and block characters, or in plain ASCII where the output has no others."""

from collections.abc import Iterable, Iterator
from itertools import pairwise, zip_longest
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from seqloom.views.axis import Axis, drawable
from seqloom.views.downsample import downsample
from seqloom.views.figure import Bars, Curves, Figure, Grid, Panels, Series, Table
from seqloom.views.format import one_line, rounded, tick_label


class Charset(NamedTuple):
    """The characters to draw with."""

    dots: tuple[int, int]  # width and height of a cell of a curve, in dots
    signs: str  # one for each series, if a cell has only one dot
    eighths: str  # the end of a bar
    shades: str
    empty: str  # a cell of a heat map of shade 0
    ellipsis: str
    across: str
    up: str
    corner: str
    warning: str


UNICODE = Charset((2, 4), "", " ▏▎▍▌▋▊▉█", " ░▒▓█", "· ", "…", "─", "│", "└", "▲")
ASCII = Charset((1, 1), "*o+x#@", " #", " .:*#", "' ", "~", "-", "|", "+", "^")
_TO_ASCII = str.maketrans({"–": "-", "∞": "inf", "…": "~", "⏎": "/", "⇥": " ", "·": "_"})


def charset_of(encoding: str | None) -> Charset:
    """The characters that an output of this encoding can show.

    >>> charset_of("utf-8") is UNICODE, charset_of("latin-1") is ASCII, charset_of(None) is ASCII
    (True, True, True)
    """
    try:
        (UNICODE.eighths + UNICODE.shades + "⠿└│─…▲⏎⇥␛–∞·").encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return ASCII
    return UNICODE


def to_charset(text: str, charset: Charset) -> str:
    """The text on one line, without control characters, in characters that the output can show."""
    text = one_line(text)
    return text.translate(_TO_ASCII).encode("ascii", "replace").decode() if charset is ASCII else text


def fit(text: str, width: int, charset: Charset = UNICODE) -> str:
    """One line of at most `width` columns, without control characters.

    >>> fit("to be or not to be", 10)
    'to be or …'
    """
    text = to_charset(text, charset)
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + charset.ellipsis


def _align_left(text: str, width: int, charset: Charset) -> str:
    return set_cell_size(fit(text, width, charset), width)


def _align_right(text: str, width: int, charset: Charset) -> str:
    text = fit(text, width, charset)
    return " " * (width - cell_len(text)) + text


BLUE = "#3f8fc4"  # contrasts with black and with white


def color_shades(lines: Iterable[str]) -> Iterator[Text]:
    """Lines for rich: shades in blue, empty cells dim.

    >>> [line.plain for line in color_shades(["two ▓▓· "])]
    ['two ▓▓· ']
    """
    for line in lines:
        text = Text(line, no_wrap=True)
        text.highlight_regex(f"[{UNICODE.shades.strip()}]+", BLUE)
        text.highlight_regex(UNICODE.empty.strip(), "dim")
        yield text


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
            lines = _grid(figure, width, charset)
        case Panels():
            lines = _panels(figure, width, charset)
        case Table():
            lines = _table(figure, width, charset)
    return [fit(line, width, charset).rstrip() for line in (figure.title, *lines)]


def _curves(curves: Curves, width: int, height: int, charset: Charset) -> list[str]:
    x_axis, y_axis = curves.axes(x_ticks=3, y_ticks=4)
    gutter = max((len(name) for _, name in y_axis.ticks), default=1)
    columns = width - gutter - 2
    names = {_line_of(value, y_axis, height): name for value, name in y_axis.ticks}
    canvas = _canvas(curves, x_axis, y_axis, columns, height, charset)
    lines = [_legend(curves, charset) + " (log scale)" * curves.log]
    lines += [f"{names.get(row, ''):>{gutter}} {charset.up}{canvas[row]}" for row in range(height)]
    foot = [charset.across] * columns
    for mark in curves.marks_of("warning"):
        foot[round(x_axis.position(mark.x) * (columns - 1))] = charset.warning
    low, high = tick_label(x_axis.low), f"{tick_label(x_axis.high)} {one_line(curves.x)}"
    gap = " " * max(1, columns - len(low) - cell_len(high))
    return [*lines, f"{'':>{gutter}} {charset.corner}{''.join(foot)}", f"{'':>{gutter}}  {low}{gap}{high}"]


def _line_of(value: float, y_axis: Axis, height: int) -> int:
    """The line of a value, of `height` lines from the top."""
    return round((1 - y_axis.position(value)) * (height - 1))


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
    cells = [[ord(" ")] * columns for _ in range(rows)]
    for index, series in enumerate(curves.lines if charset.signs else curves.series):
        for x, y in _dots(curves, series, x_axis, y_axis, columns * width, rows * height):
            row, column = cells[y // height], x // width
            if charset.signs:
                row[column] = ord(charset.signs[index % len(charset.signs)])
            else:
                row[column] = max(row[column], 0x2800) | _BRAILLE[y % height][x % width]
    return ["".join(map(chr, row)) for row in cells]


def _dots(curves: Curves, series: Series, x_axis: Axis, y_axis: Axis, width: int, height: int) -> list[tuple[int, int]]:
    """The dots of a line, from point to point; every third dot of a reference."""
    corners = [
        (round(x_axis.position(x) * (width - 1)), _line_of(y, y_axis, height))
        for x, y in downsample(curves.drawable_points(series), 4 * width)
    ]
    dots = corners[:1]
    for (x0, y0), (x1, y1) in pairwise(corners):
        steps = max(abs(x1 - x0), abs(y1 - y0))
        for step in range(1, steps + 1):
            dots.append((x0 + round((x1 - x0) * step / steps), y0 + round((y1 - y0) * step / steps)))
    return dots[::3] if series.style == "reference" else dots


def _bars(bars: Bars, width: int, charset: Charset) -> list[str]:
    names_width = _names_width((name for name, _ in bars.bars), width, charset)
    numbers = [to_charset(rounded(value), charset) for _, value in bars.bars]
    longest = max(width - names_width - 2 - max(map(len, numbers), default=0), 1)
    steps = len(charset.eighths) - 1  # of one column
    lines = []
    for (name, _), number, share in zip(bars.bars, numbers, bars.lengths(), strict=True):
        full, rest = divmod(round(share * longest * steps), steps)
        bar = charset.eighths[-1] * full + (charset.eighths[rest] if rest else "")
        lines.append(f"{_align_left(name, names_width, charset)} {bar} {number}")
    return lines


def _names_width(names: Iterable[str], width: int, charset: Charset) -> int:
    """The columns of names at the left: at most a third of all."""
    return min(max((cell_len(to_charset(name, charset)) for name in names), default=0), width // 3)


def _table(table: Table, max_width: int, charset: Charset) -> list[str]:
    """Columns as wide as their widest cell; the widest shrink if the line is too long."""
    rows = [[to_charset(cell, charset) for cell in row] for row in [list(table.header), *table.texts()]]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > max_width and max(widths, default=0) > 3:
        widths[widths.index(max(widths))] -= 1
    aligners = [_align_right if table.numeric(column) else _align_left for column in range(len(widths))]
    lines = [
        "  ".join(align(cell, width, charset) for align, cell, width in zip(aligners, row, widths, strict=True))
        for row in rows
    ]
    lines.insert(1, charset.across * min(sum(widths) + 2 * (len(widths) - 1), max_width))
    return lines


# Heat maps and image panels ---------------------------------------------------------------------------------------

NAME_HEIGHT = 12  # letters of a column's name, written downward
PANEL_WIDTH = 8  # columns of a panel at least, for its name


def _grid(grid: Grid, width: int, charset: Charset) -> list[str]:
    """Shades with numbers if the numbers are wanted and fit, else shades alone."""
    names_width = _names_width(grid.rows, width, charset)
    numbers = [[to_charset(tick_label(value), charset) for value in row] for row in grid.values]
    column_name = max((cell_len(to_charset(name, charset)) for name in grid.columns), default=1)
    cell = max(3, min(column_name, 8), *(len(number) + 2 for row in numbers for number in row))
    axes = f"rows: {grid.row_axis}, columns: {grid.column_axis}"
    if grid.cells == "shades" or (cell + 1) * len(grid.columns) > width - names_width - 1:
        return _shaded_lines(grid, axes, names_width, width - names_width - 1, charset)
    lines = [axes, f"{'':{names_width}} {' '.join(_align_right(name, cell, charset) for name in grid.columns)}"]
    for name, row, shades in zip(grid.rows, numbers, grid.darkness(), strict=True):
        cells = [
            _shade(shade, charset) + _align_right(number, cell - 1, charset)
            for number, shade in zip(row, shades, strict=True)
        ]
        lines.append(f"{_align_left(name, names_width, charset)} {' '.join(cells)}")
    return lines


def _shaded_lines(grid: Grid, axes: str, names_width: int, width: int, charset: Charset) -> list[str]:
    """Cells side by side, as many columns as fit, under names written downward."""
    cell = 2 if 2 * len(grid.columns) <= width else 1
    columns = min(len(grid.columns), width // cell)
    note = f" (the first {columns} of {len(grid.columns)})" if columns < len(grid.columns) else ""
    lines = [axes + note]
    lines += [f"{'':{names_width}} {letters}" for letters in _downward(grid.columns[:columns], cell, charset)]
    for name, shades in zip(grid.rows, grid.darkness(), strict=True):
        lines.append(f"{_align_right(name, names_width, charset)} {_squares(shades[:columns], cell, charset)}")
    return lines


def _panels(panels: Panels, width: int, charset: Charset) -> list[str]:
    """A name and the shades of its regions below it; as many side by side as fit."""
    rows, columns = panels.shape
    cell = 2 if 2 * columns <= width else 1
    panel_width = max(cell * columns, PANEL_WIDTH)
    per_row = max((width + 2) // (panel_width + 2), 1)
    lines = []
    for start in range(0, len(panels.names), per_row):
        indices = range(start, min(start + per_row, len(panels.names)))
        lines += [""] * (start > 0)
        lines.append("  ".join(_align_left(panels.names[panel], panel_width, charset) for panel in indices))
        lightness = [panels.lightness(panel) for panel in indices]
        for row in range(rows):
            lines.append("  ".join(f"{_squares(panel[row], cell, charset):{panel_width}}" for panel in lightness))
    return lines


def _shade(darkness: float, charset: Charset) -> str:
    return charset.shades[round(darkness * (len(charset.shades) - 1))]


def _squares(row: list[float], cell: int, charset: Charset) -> str:
    shades = [_shade(darkness, charset) for darkness in row]
    return "".join(charset.empty[:cell] if shade == " " else shade * cell for shade in shades)


def _downward(names: tuple[str, ...], cell: int, charset: Charset) -> list[str]:
    """Names written downward, each ending directly above its column.

    >>> _downward(("two", "and"), 2, ASCII)
    ['t a ', 'w n ', 'o d ']
    """
    columns = [_letters(fit(name, NAME_HEIGHT, charset), cell, charset)[::-1] for name in names]
    lines = ["".join(letters) for letters in zip_longest(*columns, fillvalue=" " * cell)]
    return lines[::-1]


def _letters(name: str, cell: int, charset: Charset) -> list[str]:
    """Letters as wide as a cell; an accent of zero width stays with its letter."""
    letters: list[str] = []
    for letter in name:
        width = cell_len(letter)
        if not width and letters:
            letters[-1] = letters[-1].rstrip(" ") + letter + " " * (cell - cell_len(letters[-1].rstrip(" ")))
        elif width:
            letters.append((letter if width <= cell else charset.ellipsis) + " " * (cell - min(width, cell)))
    return letters
