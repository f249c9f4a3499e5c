"""Checks of user-defined parts, and the errors for those that do not fit their kind."""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from traceback import walk_tb
from typing import TypeVar

from seqloom.core.part_origin import Origin, has_line, location_of, short_path
from seqloom.core.problem import PartError, SeqloomError, describe_exception
from seqloom.core.registry import Names, shown

Base = TypeVar("Base")


def misfit(kind: str, name: str, part: object, reason: str, advice: str) -> PartError:
    """The error for a part that does not fit its kind.

    >>> str(misfit("metric", "mine", misfit, "returned 'high'", "Return a number"))
    "...: the metric 'mine' returned 'high'. Return a number."
    """
    return PartError(f"the {kind} {name!r} {reason}", advice, location=locate(kind, name, part), code="part-misfit")


def failure(kind: str, name: str, part: object, error: Exception) -> PartError:
    """The error for a part that raised one, at the last line of its own file that the traceback has."""
    location = line_in({Origin.of(part).path}, error) or locate(kind, name, part)
    message = f"the {kind} {name!r} raised {describe_exception(error)}"
    return PartError(message, "Correct it", location=location, code="part-raised")


def locate(kind: str, name: str, part: object) -> str:
    """File and line of a part; an object has no line of its own, and is where it was registered."""
    origins = (names.origin(name) for names in Names.all if names.kind == kind)
    registered = next((origin.location for origin in origins if origin is not None), None)
    return registered if registered is not None and not has_line(part) else location_of(part)


def line_in(paths: Collection[str], error: BaseException) -> str | None:
    """The last line of one of these files that the traceback of an error has."""
    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    return next((f"{short_path(path)}:{line}" for path, line in reversed(frames) if path and path in paths), None)


def as_function(kind: str, name: str, part: object, *parameters: str) -> Callable[..., object]:
    """A part that can be called with these positional arguments; anything else is refused."""
    advice = f"Write a function of ({', '.join(parameters)})"
    if isinstance(part, type) or not callable(part):
        raise misfit(kind, name, part, f"is {shown(part)}, not a function", advice)
    check_call(kind, name, part, part, parameters, advice=advice)
    return part


def check_call(
    kind: str,
    name: str,
    part: object,
    function: Callable[..., object],
    parameters: Sequence[str],
    options: Sequence[str] = (),
    advice: str = "",
) -> None:
    """Refuse a part if it, or a method of it, can't be called with these positional and keyword arguments."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # one written in C has none: its first call shows whether it fits
        return
    try:
        signature.bind(*parameters, **dict.fromkeys(options))
    except TypeError:
        method = "" if function is part else f" a method {function.__name__}"
        expected = ", ".join([*parameters, *(["*", *options] if options else [])])
        reason = f"{'has' if method else 'takes'}{method} {signature}, not ({expected})"
        raise misfit(kind, name, part, reason, advice or f"Write it with ({expected})") from None


def require_class(kind: str, name: str, part: object, base: type[Base], advice: str) -> type[Base]:
    """The part, if it is a class derived from another that leaves no abstract method unwritten."""
    if not (isinstance(part, type) and issubclass(part, base)):
        raise misfit(kind, name, part, f"is {described(part)}", advice)
    missing = sorted(getattr(part, "__abstractmethods__", ()))
    if missing:
        raise misfit(kind, name, part, f"has no {', '.join(missing)}", f"Write {'it' if len(missing) == 1 else 'them'}")
    return part


def described(value: object) -> str:
    """What came in the place of a part, or of what it makes."""
    return f"the class {value.__name__}" if isinstance(value, type) else f"an object of type {type(value).__name__}"


def first_line(part: object) -> str:
    """Of its docstring, without the full stop.

    >>> first_line(first_line)
    'Of its docstring, without the full stop'
    """
    return (getattr(part, "__doc__", None) or "").strip().partition("\n")[0].rstrip(".")


def call(kind: str, name: str, part: object, run: Callable[[], Base]) -> Base:
    """What `run` returns; an error that it raises is the part's.

    >>> call("metric", "mine", call, lambda: 1 / 0)
    Traceback (most recent call last):
    seqloom.core.problem.PartError: ...: the metric 'mine' raised ZeroDivisionError: division by zero. Correct it.
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
