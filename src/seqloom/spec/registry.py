"""Closed registries: a name from a file or a command line to something we ship, never to any class at large."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Generic, TypeVar

from seqloom.spec.errors import UnknownName

Item = TypeVar("Item")


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

    def __getitem__(self, name: str) -> Item:
        if name not in self._items:
            raise UnknownName(unknown(self.kind, name, self._items))
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Registry({self.kind}: {', '.join(self._items)})"


def unknown(kind: str, name: object, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """The sentence for a name that is not known: the nearest right one, then all."""
    nearest = get_close_matches(str(name), list(known), n=1)
    guess = f" Did you mean {nearest[0]!r}?" if nearest else ""
    return f"unknown {kind} {name!r}.{guess} Known: {', '.join(sorted(known))}."
