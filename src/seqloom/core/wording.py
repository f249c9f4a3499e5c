"""Words of a message: counts, lists, paths, values and exceptions."""

from collections.abc import Sequence
from pathlib import Path

MAX_VALUE, MAX_EXCEPTION = 60, 300  # characters of a value, and of the text of another library's exception


def counted(n: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "text"), counted(1200, "text"), counted(2, "class")
    ('1 text', '1,200 texts', '2 classes')
    """
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def printable(path: str | Path) -> str:
    """A path in a sentence: as it is, or in quotes and escaped where it would break the line or color the terminal.

    >>> print(printable("my photo.jpg"), printable("two\\nlines.jpg"))
    my photo.jpg 'two\\nlines.jpg'
    """
    return str(path) if str(path).isprintable() else repr(str(path))


def join_words(words: Sequence[str], last: str = "and") -> str:
    """Words as a list, with another word before the last one.

    >>> join_words(["a", "b", "c"])
    'a, b and c'
    """
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def short_repr(value: object) -> str:
    """The repr of a value from outside, cut if it is long."""
    text = repr(value)
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}…"


def describe_exception(error: BaseException) -> str:
    """The type and text of another library's exception, in one line.

    >>> describe_exception(ValueError("no such\\n  file.")), describe_exception(KeyboardInterrupt())
    ('ValueError: no such file', 'KeyboardInterrupt')
    """
    try:
        text = " ".join(str(error).split()).rstrip(".")
    except Exception:  # a user-defined exception may have a broken `__str__`
        text = ""
    kind = type(error).__name__
    return f"{kind}: {text[:MAX_EXCEPTION]}{'…' * (len(text) > MAX_EXCEPTION)}" if text else kind
