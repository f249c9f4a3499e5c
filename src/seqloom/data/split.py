"""What is learnt from, what is chosen by, what is measured on: by content, so that a duplicate never straddles."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from seqloom.core.problem import DataError, KeyName, Problem

TRAIN, VALID, TEST = "train", "valid", "test"
SPLITS = (TRAIN, VALID, TEST)
Item = TypeVar("Item")


def split_by_content(content: str, seed: int, valid: float, test: float) -> str:
    """The split of an example, from its content alone: equal examples are in one split, and others don't move them.

    >>> split_by_content("a text", 1, 0.1, 0.1) == split_by_content("a text", 1, 0.1, 0.1)
    True
    """
    key = f"{seed}\x1f{content}".encode()
    location = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little") / 2**64
    return TEST if location < test else VALID if location < test + valid else TRAIN


def check_filled(name: str, splits: Iterable[str]) -> None:
    """Nothing can be learnt from nothing, or chosen by nothing."""
    for split in (TRAIN, VALID):
        if split not in set(splits):
            raise DataError.of(replace(empty_split("example", split), location=name))


def empty_split(noun: str, split: str) -> Problem:
    """No example is left for a split that training needs."""
    own_file = f"a larger {KeyName('data.valid_share')}, or a file of its own with {KeyName('data.valid')}"
    return Problem("empty-split", f"no {noun} is left for the {split} split", f"Give more {noun}s, {own_file}")


class Taken:
    """A text that comes in chunks, taken from its start so many characters at a time: it is read once.

    >>> text = Taken(["abc", "defg"])
    >>> list(text.take(4)), list(text.take(9))
    (['abc', 'd'], ['efg'])
    """

    def __init__(self, chunks: Iterable[str]) -> None:
        self.chunks, self.rest = iter(chunks), ""

    def take(self, characters: int) -> Iterator[str]:
        """The next so many, or all that are left."""
        while characters > 0:
            chunk = self.rest or next(self.chunks, None)
            if chunk is None:
                return
            piece, self.rest = chunk[:characters], chunk[characters:]
            characters -= len(piece)
            if piece:
                yield piece


def at_lines(chunks: Iterable[str], size: int) -> Iterator[str]:
    """The same text in pieces of about `size` characters that end with a line, where lines are no longer than that.

    Where a piece ends depends on the text alone, not on how it came.

    >>> list(at_lines(["ab\\ncd", "e\\nf"], 4))
    ['ab\\n', 'cde\\n', 'f']
    """
    rest = ""
    for chunk in chunks:
        rest += chunk
        while len(rest) > size:
            cut = rest.rfind("\n", 0, size) + 1 or size
            yield rest[:cut]
            rest = rest[cut:]
    if rest:
        yield rest


def batched(items: Iterable[Item], size: int, size_of: Callable[[Item], int] = lambda _: 1) -> Iterator[list[Item]]:
    """Lists of about this size in all, where an item counts one unless `size_of` says more; the last may be smaller.

    >>> list(batched("abc", 2)), list(batched(["a", "bcd", "e"], 4, len))
    ([['a', 'b'], ['c']], [['a', 'bcd'], ['e']])
    """
    group: list[Item] = []
    held = 0
    for item in items:
        group.append(item)
        held += size_of(item)
        if held >= size:
            yield group
            group, held = [], 0
    if group:
        yield group
