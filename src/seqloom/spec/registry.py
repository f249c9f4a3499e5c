"""Registries: a name from a file or a command line to something registered, never to any class at large.

A registry is open in-process and closed to files: nothing that is read can add a name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from seqloom.spec.errors import ArgumentError, UnknownName
from seqloom.spec.near import near

Item = TypeVar("Item")
LONGEST = 60  # characters of a wrong value that are shown


class Registry(Mapping[str, Item], Generic[Item]):
    """Names of one kind of thing, and what each stands for.

    >>> colours = Registry("colour", {"red": 1, "green": 2})
    >>> colours["red"]
    1
    >>> colours["gren"]
    Traceback (most recent call last):
    seqloom.spec.errors.UnknownName: unknown colour 'gren'. Did you mean 'green'? Known: green, red.
    """

    def __init__(self, kind: str, items: Mapping[str, Item]) -> None:
        self.kind = kind
        self._items = dict(items)

    def register(self, name: str, item: Item) -> None:
        """Add a name; one that is taken is refused.

        >>> colours = Registry("colour", {"red": 1})
        >>> colours.register("blue", 2)
        >>> colours["blue"]
        2
        >>> colours.register("red", 3)
        Traceback (most recent call last):
        seqloom.spec.errors.ArgumentError: register: colour is 'red'; expected a name that is not taken.
        """
        if name in self._items:
            raise ArgumentError("register", self.kind, repr(name), "a name that is not taken", "is")
        self._items[name] = item

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
