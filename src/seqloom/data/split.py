"""Training, validation and test splits: by content, so that duplicates are in one split; and text cut into chunks."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from seqloom.core.problem import DataError, KeyName, Problem

TRAIN, VALID, TEST = "train", "valid", "test"
SPLITS = (TRAIN, VALID, TEST)
Item = TypeVar("Item")


def split_by_content(content: str, seed: int, valid: float, test: float) -> str:
    """The split of an example, a function of its content: equal examples are in one split, and others don't move them.

    >>> split_by_content("a text", 1, 0.1, 0.1) == split_by_content("a text", 1, 0.1, 0.1)
    True
    """
    key = f"{seed}\x1f{content}".encode()
    position = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little") / 2**64
    return TEST if position < test else VALID if position < test + valid else TRAIN


def check_filled(name: str, splits: Iterable[str]) -> None:
    present = set(splits)
    for split in (TRAIN, VALID):
        if split not in present:
            raise DataError.of(replace(empty_split("example", split), location=name))


def empty_split(noun: str, split: str) -> Problem:
    """No example is left for a split that training needs."""
    own_file = f"a larger {KeyName('data.valid_share')}, or a file of its own with {KeyName('data.valid')}"
    return Problem("empty-split", f"no {noun} is left for the {split} split", f"Give more {noun}s, {own_file}")


class ChunkReader:
    """A text that comes in chunks, read once, so many characters at a time.

    >>> text = ChunkReader(["abc", "defg"])
    >>> list(text.read(4)), list(text.read(9))
    (['abc', 'd'], ['efg'])
    """

    def __init__(self, chunks: Iterable[str]) -> None:
        self.chunks, self.rest = iter(chunks), ""

    def read(self, characters: int) -> Iterator[str]:
        """The next so many characters, or all that are left."""
        while characters > 0:
            chunk = self.rest or next(self.chunks, None)
            if chunk is None:
                return
            head, self.rest = chunk[:characters], chunk[characters:]
            characters -= len(head)
            if head:
                yield head


def split_at_lines(chunks: Iterable[str], size: int) -> Iterator[str]:
    """The same text in chunks of at most `size` characters, each of which ends with a line where that is possible.

    Where a chunk ends depends on the text alone, not on the chunks it came in.

    >>> list(split_at_lines(["ab\\ncd", "e\\nf"], 4))
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
    """Lists of items whose sizes sum to at least `size`; the last may be smaller.

    >>> list(batched("abc", 2)), list(batched(["a", "bcd", "e"], 4, len))
    ([['a', 'b'], ['c']], [['a', 'bcd'], ['e']])
    """
    group: list[Item] = []
    total = 0
    for item in items:
        group.append(item)
        total += size_of(item)
        if total >= size:
            yield group
            group, total = [], 0
    if group:
        yield group
