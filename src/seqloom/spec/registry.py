"""Registries: a name from a file or a command line to something registered, never to any class at large.

A registry is open in-process (`seqloom.register`) and closed to files: nothing that is read can add a name.
"""

import inspect
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import ClassVar, Generic, TypeVar

from seqloom.spec.errors import ArgumentError, PartError, UnknownName
from seqloom.spec.near import near

Item = TypeVar("Item")
LONGEST = 60  # characters of a wrong value that are shown, and of a name
NAME = re.compile(r"[a-z][a-z0-9._-]{0,59}")
RESERVED = ("none", "auto", "custom")  # a config gives these words a meaning of their own


@dataclass(frozen=True)
class Origin:
    """Where a user-defined part comes from.

    module: in which it is defined
    file: the name of that module's file, without its folder; empty where there is none, as in a notebook
    sha256: of the file
    location: file and line of the definition, for messages; the module where there is no file
    """

    module: str
    file: str = ""
    sha256: str = ""
    location: str = ""

    @staticmethod
    def of(part: object) -> "Origin":
        """Of a class, a function or an object of a class."""
        defined = part if isinstance(part, type | FunctionType) else type(part)
        module = defined.__module__ or "__main__"
        try:
            file, line = inspect.getsourcefile(defined), inspect.getsourcelines(defined)[1]
        except (OSError, TypeError):
            file, line = getattr(sys.modules.get(module), "__file__", None), 0
        if file is None or not Path(file).is_file():
            return Origin(module, location=module)
        path = Path(file)
        return Origin(module, path.name, sha256(path.read_bytes()).hexdigest(), f"{path}:{line}" if line else str(path))


class Names(Collection[str]):
    """The names of one kind of part, the built-in ones first; torch is not needed to know them.

    >>> colors = Names("color", "red", "green")
    >>> colors.add("blue", Origin("paints"))
    >>> list(colors), colors.origin("blue").module, colors.origin("red")
    (['red', 'green', 'blue'], 'paints', None)
    >>> colors.add("red", Origin("paints", location="paints"))
    Traceback (most recent call last):
    seqloom.spec.errors.PartError: paints: the color 'red' is taken. Give it another name.
    """

    changes: ClassVar[int] = 0
    """How often the names of any kind have changed, for caches of what follows from them."""

    def __init__(self, kind: str, *builtin: str) -> None:
        self.kind = kind
        self._origins: dict[str, Origin | None] = dict.fromkeys(builtin)

    def add(self, name: str, origin: Origin) -> None:
        """Add the name of a user-defined part; one that is taken, reserved, or that no config could hold is refused."""
        where = origin.location
        if not isinstance(name, str) or NAME.fullmatch(name) is None:
            advice = "A name has at most 60 lower-case letters, digits, '.', '_' and '-', and begins with a letter"
            raise PartError(f"the {self.kind} is named {shown(name)}", advice, location=where, code="part-name")
        if name in self._origins or name in RESERVED:
            what = "taken" if name in self._origins else "a word that a config gives another meaning"
            raise PartError(
                f"the {self.kind} {name!r} is {what}", "Give it another name", location=where, code="part-taken"
            )
        self._origins[name] = origin
        Names.changes += 1

    def origin(self, name: str) -> Origin | None:
        """Where a user-defined part comes from; None for a built-in one."""
        return self._origins.get(name)

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


class Registry(Mapping[str, Item], Generic[Item]):
    """Names of one kind of part, and what each stands for.

    names: of the built-in items, where a config must know them without what they stand for

    >>> colors = Registry("color", {"red": 1, "green": 2})
    >>> colors["red"]
    1
    >>> colors["gren"]
    Traceback (most recent call last):
    seqloom.spec.errors.UnknownName: unknown color 'gren'. Did you mean 'green'? Known: green, red.
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
        self.names.add(name, origin or Origin.of(item))
        self._items[name] = item

    @contextmanager
    def temporarily(self) -> Iterator[None]:
        """Within: what is registered is forgotten at the end."""
        before = dict(self._items)
        with self.names.temporarily():
            try:
                yield
            finally:
                self._items = before

    def __getitem__(self, name: str) -> Item:
        if name not in self._items:
            raise UnknownName(unknown(self.kind, name, self._items))
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Registry({self.kind}: {', '.join(self._items)})"


def unknown(kind: str, name: object, known: Iterable[str]) -> str:
    """The sentence for a name that is not known: the one that was likely meant, then all."""
    meant = near(str(name), known)
    guess = f" Did you mean {meant!r}?" if meant else ""
    return f"unknown {kind} {name!r}.{guess} Known: {', '.join(sorted(known))}."


def not_a_choice(key: str, came: object, words: Sequence[str]) -> str:
    """The words that are allowed, and which of them was likely meant."""
    meant = near(str(came), words)
    guess = f" Did you mean {meant}?" if meant else ""
    return f"{key} is {shown(came)}; expected one of {', '.join(words)}.{guess}"


def shown(came: object) -> str:
    """A value, but not all of a long one."""
    told = repr(came)
    return told if len(told) <= LONGEST else f"{told[:LONGEST]}…"
