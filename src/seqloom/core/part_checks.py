"""Checks of user-defined parts, and the errors for those that do not fit their kind."""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from traceback import walk_tb
from typing import TypeVar

from seqloom.core.part_origin import Origin, has_line, location_of, short_path
from seqloom.core.problem import PartError, SeqloomError, describe_exception
from seqloom.core.registry import Names, short_repr

Value = TypeVar("Value")


def misfit(kind: str, name: str, part: object, reason: str, advice: str) -> PartError:
    """The error for a part that does not fit its kind.

    >>> str(misfit("metric", "mine", misfit, "returned 'high'", "Return a number"))
    "...: the metric 'mine' returned 'high'. Return a number."
    """
    location = location_of_part(kind, name, part)
    return PartError(f"the {kind} {name!r} {reason}", advice, location=location, code="part-misfit")


def raised_error(kind: str, name: str, part: object, error: Exception) -> PartError:
    """The error for a part that raised one, located at the last line of its own file in the traceback."""
    location = last_line_in({Origin.of(part).path}, error) or location_of_part(kind, name, part)
    message = f"the {kind} {name!r} raised {describe_exception(error)}"
    return PartError(message, "Correct it", location=location, code="part-raised")


def location_of_part(kind: str, name: str, part: object) -> str:
    """File and line of a part's definition; of its registration, for an object, which has no definition."""
    origins = (names.origin(name) for names in Names.all if names.kind == kind)
    registered = next((origin.location for origin in origins if origin is not None), None)
    return registered if registered is not None and not has_line(part) else location_of(part)


def last_line_in(paths: Collection[str], error: BaseException) -> str | None:
    """The last line of one of these files in the traceback of an error."""
    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    return next((f"{short_path(path)}:{line}" for path, line in reversed(frames) if path and path in paths), None)


def as_function(kind: str, name: str, part: object, *parameters: str) -> Callable[..., object]:
    """The part, if it is a function that takes these positional arguments."""
    advice = f"Write a function of ({', '.join(parameters)})"
    if isinstance(part, type) or not callable(part):
        raise misfit(kind, name, part, f"is {short_repr(part)}, not a function", advice)
    require_signature(kind, name, part, part, parameters, advice=advice)
    return part


def require_signature(
    kind: str,
    name: str,
    part: object,
    function: Callable[..., object],
    parameters: Sequence[str],
    options: Sequence[str] = (),
    advice: str = "",
) -> None:
    """Refuse a part if it, or its method `function`, does not take these positional and keyword arguments."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # a function written in C has none: its first call shows whether it fits
        return
    try:
        signature.bind(*parameters, **dict.fromkeys(options))
    except TypeError:
        verb = "takes" if function is part else f"has a method {function.__name__}"
        expected = ", ".join([*parameters, *(["*", *options] if options else [])])
        advice = advice or f"Write it with ({expected})"
        raise misfit(kind, name, part, f"{verb} {signature}, not ({expected})", advice) from None


def require_class(kind: str, name: str, part: object, base: type[Value], advice: str) -> type[Value]:
    """The part, if it is a subclass of `base` without abstract methods."""
    if not (isinstance(part, type) and issubclass(part, base)):
        raise misfit(kind, name, part, f"is {describe_type(part)}", advice)
    missing = sorted(getattr(part, "__abstractmethods__", ()))
    if missing:
        raise misfit(kind, name, part, f"has no {', '.join(missing)}", f"Write {'it' if len(missing) == 1 else 'them'}")
    return part


def describe_type(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"an object of type {type(value).__name__}"


def first_line(part: object) -> str:
    """The first line of a docstring, without the full stop.

    >>> first_line(first_line)
    'The first line of a docstring, without the full stop'
    """
    return (getattr(part, "__doc__", None) or "").strip().partition("\n")[0].rstrip(".")


def call_part(kind: str, name: str, part: object, function: Callable[[], Value]) -> Value:
    """Call a function of a part; an error that it raises becomes a `PartError`.

    >>> call_part("metric", "mine", call_part, lambda: 1 / 0)
    Traceback (most recent call last):
    seqloom.core.problem.PartError: ...: the metric 'mine' raised ZeroDivisionError: division by zero. Correct it.
    """
    try:
        return function()
    except SeqloomError:
        raise
    except Exception as error:
        raise raised_error(kind, name, part, error) from error


def iterate(kind: str, name: str, part: object, function: Callable[[], object]) -> Iterator[object]:
    """The items of the iterable that a function of a part returns, with its errors as `PartError`s."""
    items = call_part(kind, name, part, function)
    if not isinstance(items, Iterable):
        reason = f"returned {short_repr(items)}, which can't be iterated over"
        raise misfit(kind, name, part, reason, "Write a generator: yield")
    try:
        yield from items
    except SeqloomError:
        raise
    except Exception as error:
        raise raised_error(kind, name, part, error) from error
