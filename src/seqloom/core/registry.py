"""Registries: names that a config or a command line may use, and what each stands for.

Only Python code can add a name (`seqloom.register`); reading a file never adds a name or imports code.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, Generic, TypeVar
from weakref import WeakSet

from seqloom.core.did_you_mean import closest_name
from seqloom.core.part_origin import Origin
from seqloom.core.problem import ArgumentError, KeyName, PartError, Problem, UnknownName
from seqloom.core.wording import short_repr

Item = TypeVar("Item")
NAME = re.compile(r"[a-z][a-z0-9._-]{0,59}")
RESERVED = ("none", "auto", "custom")  # words with a meaning of their own in a config
REGISTER_ADVICE = (
    "A user-defined part must be registered first: pass its file with --code FILE.py (in Python, import it)"
)


class Names(Collection[str]):
    """The names of one kind of part, the built-in ones first. They are known without importing the parts.

    >>> colors = Names("color", "red", "green")
    >>> colors.add("blue", Origin("paints"))
    >>> list(colors), colors.origin("blue").module, colors.origin("red")
    (['red', 'green', 'blue'], 'paints', None)
    >>> colors.add("red", Origin("paints", location="paints"))
    Traceback (most recent call last):
    seqloom.core.problem.PartError: paints: the color 'red' is taken. Give it another name.
    """

    changes: ClassVar[int] = 0
    """The number of changes to names of any kind, as a key for caches."""
    all: ClassVar["WeakSet[Names]"] = WeakSet()
    """The names of every kind."""

    def __init__(self, kind: str, *builtin: str) -> None:
        self.kind = kind
        Names.all.add(self)
        self._origins: dict[str, Origin | None] = dict.fromkeys(builtin)

    def add(self, name: str, origin: Origin) -> None:
        """Add the name of a user-defined part; a `PartError` if it can't have that name."""
        self.check(name, origin)
        self._origins[name] = origin
        Names.changes += 1

    def check(self, name: str, origin: Origin, kind: str | None = None) -> None:
        """Refuse a name that is malformed, reserved, or taken by another part.

        kind: the kind in messages, if it is not that of these names
        """
        kind, location, current = kind or self.kind, origin.location, self._origins.get(name)
        if NAME.fullmatch(name) is None:
            advice = "A name has at most 60 lower-case letters, digits, '.', '_' and '-', and begins with a letter"
            raise PartError(f"the {kind} is named {short_repr(name)}", advice, location=location, code="part-name")
        is_taken = name in self._origins and not (current is not None and current.is_redefined_by(origin))
        if is_taken or name in RESERVED:
            message = f"the {kind} {name!r} is {'taken' if is_taken else 'a word that has another meaning in a config'}"
            raise PartError(message, "Give it another name", location=location, code="part-taken")

    def origin(self, name: str) -> Origin | None:
        """The origin of a user-defined part; None for a built-in one."""
        return self._origins.get(name)

    def remove(self, name: str) -> None:
        del self._origins[name]
        Names.changes += 1

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._origins

    def __iter__(self) -> Iterator[str]:
        return iter(self._origins)

    def __len__(self) -> int:
        return len(self._origins)

    def __repr__(self) -> str:
        return f"Names({self.kind}: {', '.join(self)})"


class Registry(Mapping[str, Item], Generic[Item]):
    """Names of one kind of part, and what each stands for.

    names: `Names`, if a config knows them without importing the parts; otherwise the kind

    >>> colors = Registry("color", {"red": 1, "green": 2})
    >>> colors["red"]
    1
    >>> colors["gren"]
    Traceback (most recent call last):
    seqloom.core.problem.UnknownName: unknown color 'gren'. Did you mean 'green'? Known: green, red.
    """

    def __init__(self, names: Names | str, items: Mapping[str, Item]) -> None:
        self.names = Names(names, *items) if isinstance(names, str) else names
        self.kind = self.names.kind
        self._items = dict(items)
        if list(self.names) != list(items):
            raise ArgumentError("Registry", self.kind, f"{list(items)}", f"the names {list(self.names)}")

    def register(self, name: str, item: Item, origin: Origin | None = None) -> None:
        """Add a user-defined part.

        >>> colors = Registry("color", {"red": 1})
        >>> colors.register("blue", 2)
        >>> colors["blue"]
        2
        """
        self.names.add(name, origin or Origin.registered(item))
        self._items[name] = item

    def __getitem__(self, name: str) -> Item:
        if name not in self.names:
            raise UnknownName(*unknown_name(self.kind, name, self.names))
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Registry({self.kind}: {', '.join(self)})"


def user_defined_parts() -> set[tuple[Names, str]]:
    """Every user-defined part that is registered: the names of its kind, and its own."""
    return {(names, name) for names in Names.all for name in names if names.origin(name) is not None}


@contextmanager
def undo_on_error() -> Iterator[None]:
    """If the block raises an error, remove every part that it has registered.

    >>> colors, shapes = Names("color", "red"), Names("shape", "circle")
    >>> with undo_on_error():
    ...     shapes.add("square", Origin("shapes"))
    ...     colors.add("red", Origin("paints", location="paints"))
    Traceback (most recent call last):
    seqloom.core.problem.PartError: paints: the color 'red' is taken. Give it another name.
    >>> list(shapes)
    ['circle']
    """
    before = user_defined_parts()
    try:
        yield
    except BaseException:
        for names, name in user_defined_parts() - before:
            names.remove(name)
        raise


def unknown_name(kind: object, name: object, known: Iterable[str]) -> tuple[str, str]:
    """Message and advice for an unknown name; the advice has the closest name, then all."""
    guess = closest_name(str(name), known)
    suggestion = f"Did you mean {guess!r}? " if guess else ""
    return f"unknown {kind} {name!r}", f"{suggestion}Known: {', '.join(sorted(known))}"


def not_a_choice(key: str, value: object, choices: Sequence[str]) -> Problem:
    """The problem of a config key whose value is none of its choices; the advice names the closest one."""
    guess = closest_name(str(value), choices)
    is_open = any(len(names) and set(names) <= set(choices) for names in Names.all)
    advice = f"Did you mean {guess}?" if guess else REGISTER_ADVICE if is_open else ""
    message = f"{KeyName(key)} is {short_repr(value)}; expected one of {', '.join(choices)}"
    return Problem("not-a-choice", message, advice, key=key, values={"value": value, "choices": list(choices)})
