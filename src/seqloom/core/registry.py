"""Registries: a name from a file or a command line to something registered, never to any class at large.

A registry is open in-process (`seqloom.register`) and closed to files: nothing that is read can add a name.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import ClassVar, Generic, TypeVar
from weakref import WeakSet

from seqloom.core.did_you_mean import near
from seqloom.core.part_origin import Origin
from seqloom.core.problem import ArgumentError, KeyName, PartError, Problem, UnknownName

Item = TypeVar("Item")
LONGEST = 60  # characters of a wrong value that are shown, and of a name
NAME = re.compile(r"[a-z][a-z0-9._-]{0,59}")
RESERVED = ("none", "auto", "custom")  # a config gives these words a meaning of their own


class Names(Collection[str]):
    """The names of one kind of part, the built-in ones first; torch is not needed to know them.

    >>> colors = Names("color", "red", "green")
    >>> colors.add("blue", Origin("paints"))
    >>> list(colors), colors.origin("blue").module, colors.origin("red")
    (['red', 'green', 'blue'], 'paints', None)
    >>> colors.add("red", Origin("paints", location="paints"))
    Traceback (most recent call last):
    seqloom.core.problem.PartError: paints: the color 'red' is taken. Give it another name.
    """

    changes: ClassVar[int] = 0
    """How often the names of any kind have changed, for caches of what follows from them."""
    all: ClassVar["WeakSet[Names]"] = WeakSet()
    """Those of every kind."""

    def __init__(self, kind: str, *builtin: str) -> None:
        self.kind = kind
        Names.all.add(self)
        self._origins: dict[str, Origin | None] = dict.fromkeys(builtin)

    def add(self, name: str, origin: Origin) -> None:
        """Add the name of a user-defined part, if it can be added."""
        self.check(name, origin)
        self._origins[name] = origin
        Names.changes += 1

    def check(self, name: str, origin: Origin, kind: str | None = None) -> None:
        """Refuse a name that is reserved, that no config could hold, or that another part has.

        kind: what the part is called, if not as the names are
        """
        kind, where = kind or self.kind, origin.location
        if not isinstance(name, str) or NAME.fullmatch(name) is None:
            advice = "A name has at most 60 lower-case letters, digits, '.', '_' and '-', and begins with a letter"
            raise PartError(f"the {kind} is named {shown(name)}", advice, location=where, code="part-name")
        known = self._origins.get(name)
        if known is not None and known.is_again(origin):
            return
        if name in self._origins or name in RESERVED:
            what = "taken" if name in self._origins else "a word that a config gives another meaning"
            raise PartError(f"the {kind} {name!r} is {what}", "Give it another name", location=where, code="part-taken")

    def origin(self, name: str) -> Origin | None:
        """Where a user-defined part comes from; None for a built-in one."""
        return self._origins.get(name)

    def remove(self, name: str) -> None:
        """Forget a user-defined part."""
        del self._origins[name]
        Names.changes += 1

    @contextmanager
    def temporarily(self) -> Iterator[None]:
        """Within: what is added is forgotten at the end."""
        before = dict(self._origins)
        try:
            yield
        finally:
            self._origins = before
            Names.changes += 1

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._origins

    def __iter__(self) -> Iterator[str]:
        return iter(self._origins)

    def __len__(self) -> int:
        return len(self._origins)

    def __repr__(self) -> str:
        return f"Names({self.kind}: {', '.join(self)})"


class Marked(Collection[str]):
    """Those among the names of one kind that have some property; a user-defined part has it or not when registered.

    >>> colors = Names("color", "red", "green")
    >>> warm = Marked(colors, "red")
    >>> with colors.temporarily():
    ...     colors.add("orange", Origin("paints"))
    ...     warm.mark("orange", True)
    ...     list(warm)
    ['red', 'orange']
    >>> list(warm)
    ['red']
    """

    def __init__(self, names: Names, *builtin: str) -> None:
        self.names = names
        self._marked = set(builtin)

    def mark(self, name: str, has_it: bool) -> None:
        """Whether a user-defined part has the property."""
        (self._marked.add if has_it else self._marked.discard)(name)

    def __contains__(self, name: object) -> bool:
        return name in self._marked and name in self.names

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.names if name in self._marked)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Marked({self.names.kind}: {', '.join(self)})"


class Registry(Mapping[str, Item], Generic[Item]):
    """Names of one kind of part, and what each stands for.

    names: of the built-in items, where a config must know them without what they stand for

    >>> colors = Registry("color", {"red": 1, "green": 2})
    >>> colors["red"]
    1
    >>> colors["gren"]
    Traceback (most recent call last):
    seqloom.core.problem.UnknownName: unknown color 'gren'. Did you mean 'green'? Known: green, red.
    """

    def __init__(self, names: Names | str, items: Mapping[str, Item]) -> None:
        self.names = Names(names, *items) if isinstance(names, str) else names
        self._items = dict(items)
        if list(self.names) != list(items):
            raise ArgumentError("Registry", self.kind, f"{list(items)}", f"the names {list(self.names)}", "has")

    @property
    def kind(self) -> str:
        """What one of them is called."""
        return self.names.kind

    def register(self, name: str, item: Item, origin: Origin | None = None) -> None:
        """Add a user-defined part.

        >>> colors = Registry("color", {"red": 1})
        >>> colors.register("blue", 2)
        >>> colors["blue"]
        2
        """
        self.names.add(name, origin or Origin.registered(item))
        self._items[name] = item

    def temporarily(self) -> AbstractContextManager[None]:
        """Within: what is registered is forgotten at the end."""
        return self.names.temporarily()

    def __getitem__(self, name: str) -> Item:
        if name not in self.names:
            raise UnknownName(*unknown(self.kind, name, self.names))
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Registry({self.kind}: {', '.join(self)})"


def user_defined() -> set[tuple[Names, str]]:
    """Every user-defined part that is registered, of any kind."""
    return {(names, name) for names in Names.all for name in names if names.origin(name) is not None}


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Within: an error forgets every part that was registered, of any kind.

    >>> colors, shapes = Names("color", "red"), Names("shape", "circle")
    >>> with all_or_nothing():
    ...     shapes.add("square", Origin("shapes"))
    ...     colors.add("red", Origin("paints", location="paints"))
    Traceback (most recent call last):
    seqloom.core.problem.PartError: paints: the color 'red' is taken. Give it another name.
    >>> list(shapes)
    ['circle']
    """
    before = user_defined()
    try:
        yield
    except BaseException:
        for names, name in user_defined() - before:
            names.remove(name)
        raise


def unknown(kind: object, name: object, known: Iterable[str]) -> tuple[str, str]:
    """Message and advice for a name that is not known: the one that was likely meant, then all."""
    meant = near(str(name), known)
    guess = f"Did you mean {meant!r}? " if meant else ""
    return f"unknown {kind} {name!r}", f"{guess}Known: {', '.join(sorted(known))}"


def not_a_choice(key: str, came: object, words: Sequence[str]) -> Problem:
    """A value of a config key that is none of the words that it takes; which of them was likely meant."""
    meant = near(str(came), words)
    message = f"{KeyName(key)} is {shown(came)}; expected one of {', '.join(words)}"
    values = {"value": came, "choices": list(words)}
    advice = f"Did you mean {meant}?" if meant else PERHAPS_OWN if can_be_own(words) else ""
    return Problem("not-a-choice", message, advice, key=key, values=values)


PERHAPS_OWN = "A part of your own is there once --code FILE.py (in Python, an import) has registered it"


def can_be_own(words: Sequence[str]) -> bool:
    """Whether these are the names of one kind of part, to which anyone may add."""
    return any(len(names) and set(names) <= set(words) for names in Names.all)


def shown(came: object) -> str:
    """A value, but not all of a long one."""
    told = repr(came)
    return told if len(told) <= LONGEST else f"{told[:LONGEST]}…"
