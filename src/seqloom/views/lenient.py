"""Read values of untrusted JSON: an invalid value becomes None or empty, never an error."""

from collections.abc import Mapping
from math import isfinite

from seqloom.views.format import truncate_with_count


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
    result = number(value)
    return result if result is not None and isfinite(result) else None


def integer(value: object) -> int | None:
    """An integer of a size that a count or a step may have."""
    result = finite(value)
    return None if result is None or abs(result) >= 1e18 else int(result)


def string(value: object, limit: int) -> str:
    """A text of about `limit` characters at most; empty for what is neither a text nor a number."""
    if isinstance(value, str):
        return truncate_with_count(value, limit)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def items(value: object, limit: int) -> list[object]:
    """The first `limit` items of a list; none of anything else."""
    return value[:limit] if isinstance(value, list) else []
