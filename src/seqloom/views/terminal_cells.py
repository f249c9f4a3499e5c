"""Text in the columns of a terminal: which characters it can show, and how wide they are; heat maps as shades."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from seqloom.views.figure import Grid, Panels
from seqloom.views.format import one_line, tick_label


@dataclass(frozen=True)
class Charset:
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


def align_left(text: str, width: int, charset: Charset) -> str:
    return set_cell_size(fit(text, width, charset), width)


def align_right(text: str, width: int, charset: Charset) -> str:
    text = fit(text, width, charset)
    return " " * (width - cell_len(text)) + text


BLUE = "#3f8fc4"  # contrasts with black and with white


def colored(lines: Iterable[str]) -> Iterator[Text]:
    """Lines for rich: shades in blue, empty cells dim.

    >>> [line.plain for line in colored(["two ▓▓· "])]
    ['two ▓▓· ']
    """
    for line in lines:
        text = Text(line, no_wrap=True)
        text.highlight_regex(f"[{UNICODE.shades.strip()}]+", BLUE)
        text.highlight_regex(UNICODE.empty.strip(), "dim")
        yield text


NAME_HEIGHT = 12  # letters of a column's name, written downward
PANEL_WIDTH = 8  # columns of a panel at least, for its name


def grid_lines(grid: Grid, width: int, charset: Charset) -> list[str]:
    """Shades with numbers if the numbers are wanted and fit, else shades alone."""
    row_names, column_names = ([to_charset(name, charset) for name in names] for names in (grid.rows, grid.columns))
    names = min(max(map(cell_len, row_names), default=0), width // 3)
    numbers = [[to_charset(tick_label(value), charset) for value in row] for row in grid.values]
    cell = max(
        [len(number) + 2 for row in numbers for number in row]
        + [min(max(map(cell_len, column_names), default=1), 8), 3]
    )
    axes = f"rows: {grid.row_axis}, columns: {grid.column_axis}"
    if grid.cells == "shades" or (cell + 1) * len(grid.columns) > width - names - 1:
        return _shaded_lines(grid, axes, names, width - names - 1, charset)
    lines = [axes, f"{'':{names}} {' '.join(align_right(name, cell, charset) for name in grid.columns)}"]
    for row, name in enumerate(grid.rows):
        cells = [
            _shade(grid.shade(row, column), charset) + align_right(number, cell - 1, charset)
            for column, number in enumerate(numbers[row])
        ]
        lines.append(f"{align_left(name, names, charset)} {' '.join(cells)}")
    return lines


def _shaded_lines(grid: Grid, axes: str, names: int, width: int, charset: Charset) -> list[str]:
    """Cells side by side, as many columns as fit, under names written downward."""
    cell = 2 if 2 * len(grid.columns) <= width else 1
    columns = min(len(grid.columns), width // cell)
    note = f" (the first {columns} of {len(grid.columns)})" if columns < len(grid.columns) else ""
    lines = [axes + note]
    lines += [f"{'':{names}} {letters}" for letters in _downward(grid.columns[:columns], cell, charset)]
    for row, name in enumerate(grid.rows):
        cells = [_square(grid.shade(row, column), cell, charset) for column in range(columns)]
        lines.append(f"{align_right(name, names, charset)} {''.join(cells)}")
    return lines


def panel_lines(panels: Panels, width: int, charset: Charset) -> list[str]:
    """A name and the shades of its regions below it; as many side by side as fit."""
    rows, columns = panels.shape
    cell = 2 if 2 * columns <= width else 1
    panel_width = max(cell * columns, PANEL_WIDTH)
    per_row = max((width + 2) // (panel_width + 2), 1)
    lines = []
    for start in range(0, len(panels.names), per_row):
        shown = range(start, min(start + per_row, len(panels.names)))
        lines += [""] * (start > 0)
        lines.append("  ".join(align_left(panels.names[panel], panel_width, charset) for panel in shown))
        for row in range(rows):
            strips = [
                "".join(_square(panels.lightness(panel, row, column), cell, charset) for column in range(columns))
                for panel in shown
            ]
            lines.append("  ".join(f"{strip:{panel_width}}" for strip in strips))
    return lines


def _shade(darkness: float, charset: Charset) -> str:
    return charset.shades[round(darkness * (len(charset.shades) - 1))]


def _square(darkness: float, cell: int, charset: Charset) -> str:
    shade = _shade(darkness, charset)
    return charset.empty[:cell] if shade == " " else shade * cell


def _downward(names: tuple[str, ...], cell: int, charset: Charset) -> list[str]:
    """Names written downward, each ending directly above its column.

    >>> from seqloom.views.terminal_cells import ASCII
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
