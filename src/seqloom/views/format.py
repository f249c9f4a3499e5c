"""Numbers, durations and sizes as text for people; text made safe for a page or a terminal."""

import html
import re
from math import floor, isfinite, log10

from seqloom.core.wording import counted


def rounded(value: float | None) -> str:
    """A number with about four digits.

    >>> [rounded(value) for value in (0.87123, 1234567, 0.00003, 12.0, 1010.2, 2.5e12, None, float("inf"))]
    ['0.8712', '1,234,567', '3e-5', '12', '1,010', '2.5e12', '–', '∞']
    """
    if value is None:
        return "–"
    if not isfinite(value):
        return "not a number" if value != value else ("∞" if value > 0 else "-∞")
    size = abs(value)
    if size and (size < 1e-3 or size >= 1e10):
        return scientific(value)
    if value == int(value) or size >= 10_000:
        return f"{value:,.0f}"
    decimals = min(max(3 - floor(log10(size)), 0), 4)
    digits = f"{value:,.{decimals}f}"
    return digits.rstrip("0").rstrip(".") if decimals else digits


def scientific(value: float) -> str:
    """
    >>> scientific(0.00125)
    '1.25e-3'
    """
    digits, _, power = f"{value:.2e}".partition("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"


def tick_label(value: float) -> str:
    """A number in few characters, for an axis or a cell.

    >>> [tick_label(value) for value in (0, 0.25, 2000, 150_000, 2_500_000, 1e-4, 3e12)]
    ['0', '0.25', '2,000', '150k', '2.5M', '1e-4', '3e12']
    """
    size = abs(value)
    if not isfinite(value):
        return rounded(value)
    for unit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if max(unit, 1e4) <= size < 1e12:
            return f"{value / unit:.4g}{suffix}"
    if 1000 <= size < 1e12:
        return f"{value:,.6g}"
    return scientific(value) if size and (size < 1e-3 or size >= 1e12) else f"{value:.6g}"


def duration(seconds: float) -> str:
    """
    >>> [duration(seconds) for seconds in (0.4, 61.2, 3600, 200_000)]
    ['0.4 s', '1 min 1 s', '1 h 0 min', '2 d 7 h']
    """
    if not 60 <= seconds < 1e10:
        return f"{rounded(round(seconds, 1) if isfinite(seconds) else seconds)} s"
    total = round(seconds)
    units = ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))
    unit, name, smaller, smaller_name = next(row for row in units if total >= row[0])
    return f"{total // unit:,} {name} {total % unit // smaller} {smaller_name}"


def byte_size(size: float) -> str:
    """
    >>> [byte_size(size) for size in (900, 2048, 3 * 2**30)]
    ['900 B', '2 KiB', '3 GiB']
    """
    for unit, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{rounded(round(size / unit, 1))} {name}"
    return f"{rounded(size)} B"


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")  # can reverse the rest of a line


def show_controls(text: str) -> str:
    r"""Control characters as pictures, lone surrogates as the replacement character; line breaks and tabs stay.

    >>> show_controls("a\x1b[31m")
    'a␛[31m'
    """
    return _DIRECTION.sub("\ufffd", _CONTROL.sub(_control_picture, text.replace("\r\n", "\n")))


def _control_picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "\ufffd"


def one_line(text: str) -> str:
    r"""
    >>> one_line("to be\nor not")
    'to be⏎or not'
    """
    return show_controls(text).replace("\n", "⏎").replace("\t", "⇥")


def truncate_with_count(text: str, limit: int) -> str:
    """The first `limit` characters, and the number of those left out.

    >>> truncate_with_count("abcdef", 4)
    'abcd… (2 more characters)'
    """
    more = len(text) - limit
    return text if more <= 0 else f"{text[:limit]}… ({counted(more, 'more character')})"


def shorten(text: str, limit: int) -> str:
    """One line of at most `limit` characters; the last is an ellipsis if some are left out.

    >>> shorten("abcdef", 4)
    'abc…'
    """
    line = one_line(text)
    return line if len(line) <= limit else line[: max(limit - 1, 0)] + "…"


def escaped(text: str) -> str:
    """Text for HTML or XML, between tags or in a quoted attribute."""
    return html.escape(show_controls(text), quote=True)
