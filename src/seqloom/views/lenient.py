"""What a file says, taken as far as it makes sense: after a crash, or by another hand, anything may stand in it."""

from collections.abc import Mapping
from math import isfinite

from seqloom.views.format import cut


def number(value: object) -> float | None:
    """A number, also one written as text because JSON has no infinity.

    >>> number(3), number("inf"), number(True), number("three"), number(None)
    (3.0, inf, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def finite(value: object) -> float | None:
    """A number that can be counted with."""
    read = number(value)
    return read if read is not None and isfinite(read) else None


def integer(value: object) -> int | None:
    """A whole number, of a size that something here may have."""
    read = finite(value)
    return None if read is None or abs(read) >= 1e18 else int(read)


def string(value: object, limit: int) -> str:
    """A text of at most about `limit` characters; empty for what is not one."""
    if isinstance(value, str):
        return cut(value, limit)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def mapping(value: object) -> Mapping[str, object]:
    """An object with names; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def items(value: object, limit: int) -> list[object]:
    """The first of a list; none of anything else."""
    return value[:limit] if isinstance(value, list) else []
