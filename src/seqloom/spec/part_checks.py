"""Checks of user-defined parts, and the errors for those that do not fit their kind."""

import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import TypeGuard, TypeVar

from seqloom.spec.errors import PartError, SeqloomError
from seqloom.spec.problem import describe_exception
from seqloom.spec.registry import Origin, shown

Base = TypeVar("Base")


def misfit(kind: str, name: str, part: object, reason: str, advice: str) -> PartError:
    """The error for a part that does not fit its kind.

    >>> str(misfit("metric", "mine", misfit, "returned 'high'", "Return a number"))
    "...part_checks.py:...: the metric 'mine' returned 'high'. Return a number."
    """
    return PartError(f"the {kind} {name!r} {reason}", advice, location=Origin.of(part).location, code="part-misfit")


def failure(kind: str, name: str, part: object, error: Exception) -> PartError:
    """The error for a part that raised one: located at the last line of its own file that the traceback has."""
    part = inspect.unwrap(part) if callable(part) else part
    defined = part if isinstance(part, type | FunctionType) else type(part)
    try:
        file = inspect.getsourcefile(defined)
    except TypeError:
        file = None
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    location = f"{file}:{lines[-1]}" if lines else Origin.of(part).location
    message = f"the {kind} {name!r} raised {describe_exception(error)}"
    return PartError(message, "Correct it", location=location, code="part-raised")


def as_function(kind: str, name: str, part: object, *parameters: str) -> Callable[..., object]:
    """A part that can be called with these positional arguments; anything else is refused."""
    advice = f"Write a function of ({', '.join(parameters)})"
    if isinstance(part, type) or not callable(part):
        raise misfit(kind, name, part, f"is {shown(part)}, not a function", advice)
    try:
        signature = inspect.signature(part)
    except ValueError:  # one written in C has none: its first call shows whether it fits
        return part
    try:
        signature.bind(*parameters)
    except TypeError:
        raise misfit(kind, name, part, f"takes {signature}, not ({', '.join(parameters)})", advice) from None
    return part


def is_class(part: object, base: type[Base]) -> TypeGuard[type[Base]]:
    """Whether a part is a class derived from another.

    >>> is_class(PartError, Exception), is_class(3, Exception)
    (True, False)
    """
    return isinstance(part, type) and issubclass(part, base)


def check_complete(kind: str, name: str, part: type) -> None:
    """Refuse a class that leaves abstract methods unwritten."""
    missing = sorted(getattr(part, "__abstractmethods__", ()))
    if missing:
        raise misfit(kind, name, part, f"has no {', '.join(missing)}", f"Write {'it' if len(missing) == 1 else 'them'}")


def check_method(kind: str, name: str, part: type, method: str, *parameters: str) -> None:
    """Refuse a class whose method can't be called with these positional arguments, `self` among them if it has one."""
    signature = inspect.signature(getattr(part, method))
    try:
        signature.bind(*parameters)
    except TypeError:
        expected = f"({', '.join(parameters)})"
        reason = f"has a method {method}{signature}, not {expected}"
        raise misfit(kind, name, part, reason, f"Write it with {expected}") from None


def call(kind: str, name: str, part: object, run: Callable[[], Base]) -> Base:
    """What `run` returns; an error that it raises is the part's.

    >>> call("metric", "mine", call, lambda: 1 / 0)
    Traceback (most recent call last):
    seqloom.spec.errors.PartError: ...: the metric 'mine' raised ZeroDivisionError: division by zero. Correct it.
    """
    try:
        return run()
    except SeqloomError:
        raise
    except Exception as error:
        raise failure(kind, name, part, error) from error


def each(kind: str, name: str, part: object, run: Callable[[], object]) -> Iterator[object]:
    """What `run` gives, one after another; an error that it raises is the part's."""
    items = call(kind, name, part, run)
    if not isinstance(items, Iterable):
        raise misfit(kind, name, part, f"returned {shown(items)}, nothing to go through", "Write a generator: yield")
    try:
        yield from items
    except SeqloomError:
        raise
    except Exception as error:
        raise failure(kind, name, part, error) from error
