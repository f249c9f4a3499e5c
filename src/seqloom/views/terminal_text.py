"""Words for a terminal: which characters it has, and how many columns they take."""

from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from seqloom.views.text import one_line


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
