"""Closed registries: a name from a file or a command line to something we ship, never to any class at large."""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from seqloom.spec.errors import UnknownName
from seqloom.spec.near import near

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
    """The sentence for a name that is not known: the one that was likely meant, then all."""
    meant = near(str(name), known)
    guess = f" Did you mean {meant!r}?" if meant else ""
    return f"unknown {kind} {name!r}.{guess} Known: {', '.join(sorted(known))}."
