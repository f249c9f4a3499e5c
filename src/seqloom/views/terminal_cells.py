"""Words for a terminal: which characters it has, and how many columns they take."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from seqloom.views.figure import Grid, Panels
from seqloom.views.format import brief, one_line


@dataclass(frozen=True)
class Characters:
    """What lines are drawn with. A cell of a curve is `dots` wide and tall; in ASCII a series has its own sign."""

    dots: tuple[int, int]
    signs: str  # a series each, where dots don't fit
    eighths: str  # the end of a bar
    shades: str
    ground: str  # a cell of a map where there is nothing
    ellipsis: str
    across: str
    up: str
    corner: str
    warning: str


UNICODE = Characters((2, 4), "", " ▏▎▍▌▋▊▉█", " ░▒▓█", "· ", "…", "─", "│", "└", "▲")
ASCII = Characters((1, 1), "*o+x#@", " #", " .:*#", "' ", "~", "-", "|", "+", "^")


def characters(encoding: str | None) -> Characters:
    """Those that an output of this encoding can show.

    >>> characters("utf-8") is UNICODE, characters("latin-1") is ASCII, characters(None) is ASCII
    (True, True, True)
    """
    try:
        (UNICODE.eighths + UNICODE.shades + "⠿└│─…▲⏎⇥␛–∞·").encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return ASCII
    return UNICODE


def fit(words: str, width: int, using: Characters = UNICODE) -> str:
    """One line of at most `width` columns, without anything that could move the cursor.

    >>> fit("to be or not to be", 10)
    'to be or …'
    """
    words = plain(words, using)
    return words if cell_len(words) <= width else set_cell_size(words, width - 1) + using.ellipsis


def plain(words: str, using: Characters) -> str:
    """One line in the characters that there are."""
    words = one_line(words)
    return words.translate(_IN_ASCII).encode("ascii", "replace").decode() if using is ASCII else words


_IN_ASCII = str.maketrans({"–": "-", "∞": "inf", "…": "~", "⏎": "/", "⇥": " ", "·": "_"})


def left(words: str, width: int, using: Characters) -> str:
    """So many columns, the words at their left."""
    return set_cell_size(fit(words, width, using), width)


def right(words: str, width: int, using: Characters) -> str:
    """So many columns, the words at their right."""
    words = fit(words, width, using)
    return " " * (width - cell_len(words)) + words


BLUE = "#3f8fc4"  # stands out on black and on white


def colored(lines: Iterable[str]) -> Iterator[Text]:
    """Lines for rich: shades in blue, the ground dim. Without color they say the same.

    >>> [line.plain for line in colored(["two ▓▓· "])]
    ['two ▓▓· ']
    """
    for line in lines:
        text = Text(line, no_wrap=True)
        text.highlight_regex(f"[{UNICODE.shades.strip()}]+", BLUE)
        text.highlight_regex(UNICODE.ground.strip(), "dim")
        yield text


HEAD = 12  # letters of a name that stands upright
PANEL = 8  # columns that a panel has at least, for its name


def grid_lines(grid: Grid, width: int, using: Characters) -> list[str]:
    """Shades with numbers where these are wanted and fit, shades alone where not."""
    names = min(max((cell_len(plain(name, using)) for name in grid.rows), default=0), width // 3)
    numbers = [[plain(brief(value), using) for value in row] for row in grid.values]
    heads = max((cell_len(plain(name, using)) for name in grid.columns), default=1)
    cell = max([len(number) + 2 for row in numbers for number in row] + [min(heads, 8), 3])
    if grid.cells == "numbers" and (cell + 1) * len(grid.columns) <= width - names - 1:
        return [_axes(grid), *_numbered(grid, numbers, names, cell, using)]
    return _shaded(grid, names, width - names - 1, using)


def _axes(grid: Grid) -> str:
    return f"rows: {grid.row_axis}, columns: {grid.column_axis}"


def _numbered(grid: Grid, numbers: list[list[str]], names: int, cell: int, using: Characters) -> list[str]:
    lines = [f"{'':{names}} {' '.join(right(name, cell, using) for name in grid.columns)}"]
    for row, name in enumerate(grid.rows):
        cells = [
            _shade(grid.shade(row, column), using) + right(number, cell - 1, using)
            for column, number in enumerate(numbers[row])
        ]
        lines.append(f"{left(name, names, using)} {' '.join(cells)}")
    return lines


def _shaded(grid: Grid, names: int, room: int, using: Characters) -> list[str]:
    """Cells side by side, as many columns as there is room for, under names that stand upright."""
    cell = 2 if 2 * len(grid.columns) <= room else 1
    columns = min(len(grid.columns), room // cell)
    some = f" (the first {columns} of {len(grid.columns)})" if columns < len(grid.columns) else ""
    lines = [_axes(grid) + some]
    lines += [f"{'':{names}} {letters}" for letters in _upright(grid.columns[:columns], cell, using)]
    for row, name in enumerate(grid.rows):
        cells = [_square(grid.shade(row, column), cell, using) for column in range(columns)]
        lines.append(f"{right(name, names, using)} {''.join(cells)}")
    return lines


def _shade(darkness: float, using: Characters) -> str:
    return using.shades[round(darkness * (len(using.shades) - 1))]


def _square(darkness: float, cell: int, using: Characters) -> str:
    shade = _shade(darkness, using)
    return using.ground[:cell] if shade == " " else shade * cell


def _upright(names: tuple[str, ...], cell: int, using: Characters) -> list[str]:
    """Names read downwards, each ending right above its column.

    >>> from seqloom.views.terminal_cells import ASCII
    >>> _upright(("two", "and"), 2, ASCII)
    ['t a ', 'w n ', 'o d ']
    """
    columns = [_letters(fit(name, HEAD, using), cell, using)[::-1] for name in names]
    lines = ["".join(letters) for letters in zip_longest(*columns, fillvalue=" " * cell)]
    return lines[::-1]


def _letters(name: str, cell: int, using: Characters) -> list[str]:
    """Letters as wide as a cell; accents that take no column stay with theirs."""
    letters: list[str] = []
    for letter in name:
        wide = cell_len(letter)
        if not wide and letters:
            letters[-1] = letters[-1].rstrip(" ") + letter + " " * (cell - cell_len(letters[-1].rstrip(" ")))
        elif wide:
            letters.append((letter if wide <= cell else using.ellipsis) + " " * (cell - min(wide, cell)))
    return letters


def panel_lines(panels: Panels, width: int, using: Characters) -> list[str]:
    """A name and its regions in shades below it; as many side by side as fit."""
    rows, columns = panels.shape
    cell = 2 if 2 * columns <= width else 1
    wide = max(cell * columns, PANEL)
    beside = max((width + 2) // (wide + 2), 1)
    lines = []
    for start in range(0, len(panels.names), beside):
        some = range(start, min(start + beside, len(panels.names)))
        lines += [""] * (start > 0)
        lines.append("  ".join(left(panels.names[panel], wide, using) for panel in some))
        for row in range(rows):
            strips = [
                "".join(_square(panels.light(panel, row, column), cell, using) for column in range(columns))
                for panel in some
            ]
            lines.append("  ".join(f"{strip:{wide}}" for strip in strips))
    return lines
