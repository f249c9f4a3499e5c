"""Text from anywhere, made safe to show: nothing invisible, nothing endless, nothing that a page could run."""

import html
import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")  # can turn the rest of a line around


def visible(text: str) -> str:
    r"""Control characters as pictures, halves of characters as the replacement sign; line breaks and tabs stay.

    >>> visible("a\x1b[31m")
    'a␛[31m'
    """
    return _DIRECTION.sub("\ufffd", _CONTROL.sub(_picture, text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    r"""
    >>> one_line("to be\nor not")
    'to be⏎or not'
    """
    return visible(text).replace("\n", "⏎").replace("\t", "⇥")


def cut(text: str, limit: int) -> str:
    """At most `limit` characters and a word on the rest.

    >>> cut("abcdef", 4)
    'abcd… (2 more characters)'
    """
    more = len(text) - limit
    return text if more <= 0 else f"{text[:limit]}… ({more:,} more character{'s' * (more > 1)})"


def clip(text: str, limit: int) -> str:
    """At most `limit` characters, the last an ellipsis if there were more.

    >>> clip("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def escaped(text: str) -> str:
    """Fit for any place in HTML or XML, between tags or in quotes."""
    return html.escape(visible(text), quote=True)


def _picture(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else "\ufffd"
