"""A user-defined part: the functions that register one, the checks of its interface, and errors that name its line."""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter
from traceback import walk_tb
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

from seqloom.core.part_origin import Origin, location_of, short_path
from seqloom.core.problem import PartError, SeqloomError
from seqloom.core.registry import undo_on_error
from seqloom.core.wording import describe_exception, short_repr

MISSING = object()
Value = TypeVar("Value")
Options = ParamSpec("Options")


@dataclass(frozen=True)
class Part:
    """A user-defined part.

    kind: what `seqloom.register` calls it
    value: the class, function or object; None for a part of which only the origin matters

    >>> part = Part("metric", "mine", Origin("own", location="own.py:3"), max)
    >>> str(part.misfit("returned 'high'", "Return a number"))
    "own.py:3: the metric 'mine' returned 'high'. Return a number."
    >>> with part.errors():
    ...     1 / 0
    Traceback (most recent call last):
    seqloom.core.problem.PartError: own.py:3: the metric 'mine' raised ZeroDivisionError: division by zero. Correct it.
    """

    kind: str
    name: str
    origin: Origin
    value: object = None

    def __str__(self) -> str:
        return f"the {self.kind} {self.name!r}"

    def misfit(self, reason: str, advice: str) -> PartError:
        """The error for a part that does not fit its kind."""
        return PartError(f"{self} {reason}", advice, location=self.origin.location, code="part-misfit")

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn an exception of the block into a `PartError` at the last line of the part's file in the traceback."""
        try:
            yield
        except SeqloomError:
            raise
        except Exception as error:
            location = last_line_in({self.origin.path}, error) or self.origin.location
            message = f"{self} raised {describe_exception(error)}"
            raise PartError(message, "Correct it", location=location, code="part-raised") from error

    def call(self, function: Callable[..., Value], *args: object, **options: object) -> Value:
        with self.errors():
            return function(*args, **options)

    def iterate(self, function: Callable[..., object], *args: object) -> Iterator[object]:
        """The items of the iterable that a function of the part returns."""
        with self.errors():
            items = function(*args)
            if not isinstance(items, Iterable):
                reason = f"returned {short_repr(items)}, which can't be iterated over"
                raise self.misfit(reason, "Write a generator: yield")
            yield from items

    def as_function(self, parameters: str) -> Callable[..., Any]:
        """The part, if it is a function that takes these arguments, such as "state, train"."""
        advice = f"Write a function of ({parameters})"
        if isinstance(self.value, type) or not callable(self.value):
            raise self.misfit(f"is {short_repr(self.value)}, not a function", advice)
        self.check_signature(self.value, parameters, advice)
        return self.value

    def as_class(self, base: type[Value], path: str, parameters: str | None = None) -> type[Value]:
        """The part, if it is a subclass of `base`, without abstract methods, that is built with these arguments.

        path: the name of `base` in messages
        """
        if not (isinstance(self.value, type) and issubclass(self.value, base)):
            raise self.misfit(f"is {describe_type(self.value)}", f"Derive a class from {path}")
        if missing := sorted(getattr(self.value, "__abstractmethods__", ())):
            advice = f"Write {'it' if len(missing) == 1 else 'them'}"
            raise self.misfit(f"has no {', '.join(missing)}", advice)
        if parameters is not None:
            self.check_signature(self.value, parameters)
        return self.value

    def check_signature(self, function: Callable[..., object], parameters: str, advice: str = "") -> None:
        """Refuse a part if it, or its method `function`, does not take these arguments, such as "x, y, *, bias"."""
        try:
            signature = inspect.signature(function)
        except ValueError:  # a function written in C has none: its first call shows whether it fits
            return
        positional, options = (re.findall(r"\w+", names) for names in (*parameters.split("*"), "")[:2])
        try:
            signature.bind(*positional, **dict.fromkeys(options))
        except TypeError:
            verb = "takes" if function is self.value else f"has a method {function.__name__}"
            raise self.misfit(
                f"{verb} {signature}, not ({parameters})", advice or f"Write it with ({parameters})"
            ) from None


def last_line_in(paths: Collection[str], error: BaseException) -> str | None:
    """The last line of one of these files in the traceback of an error."""
    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    return next((f"{short_path(path)}:{line}" for path, line in reversed(frames) if path and path in paths), None)


def describe_type(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"an object of type {type(value).__name__}"


def first_line(value: object) -> str:
    """The first line of a docstring, without the full stop.

    >>> first_line(first_line)
    'The first line of a docstring, without the full stop'
    """
    return (getattr(value, "__doc__", None) or "").strip().partition("\n")[0].rstrip(".")


# Registration --------------------------------------------------------------------------------------------------------


class Register(Protocol[Options]):
    """A function of `seqloom.register`: registers a part and returns it; without a part, returns a decorator."""

    @overload
    def __call__(self, name: str, *args: Options.args, **options: Options.kwargs) -> Callable[[Value], Value]: ...
    @overload
    def __call__(self, name: str, part: Value, *args: Options.args, **options: Options.kwargs) -> Value: ...


def register_function(kind: str) -> Callable[[Callable[Concatenate[Part, Options], None]], Register[Options]]:
    """A decorator that turns a function of (part, **options) into the function of `seqloom.register` for this kind.

    If the function raises an error, nothing that it has registered stays.
    """

    def decorate(register: Callable[Concatenate[Part, Options], None]) -> Register[Options]:
        @wraps(register)
        def wrapper(name: object, part: object = MISSING, *args: Options.args, **options: Options.kwargs) -> object:
            if not isinstance(name, str):
                advice = f'Name it: @seqloom.register.{kind}("mine")'
                raise PartError(f"a {kind} without a name", advice, location=location_of(name), code="part-unnamed")
            if part is MISSING:
                return lambda part: wrapper(name, part, *args, **options)
            origin = Origin.registered(part)
            with undo_on_error():
                register(Part(kind, name, origin, part), *args, **options)
            return part

        signature = inspect.signature(register)
        name, part = (Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in ("name", "part"))
        options = list(signature.parameters.values())[1:]
        vars(wrapper)["__signature__"] = signature.replace(parameters=[name, part.replace(default=None), *options])
        wrapper.__name__ = wrapper.__qualname__ = kind
        return cast("Register[Options]", wrapper)

    return decorate
