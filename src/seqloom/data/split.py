"""What is learnt from, what is chosen by, what is measured on: by content, so that a duplicate never straddles."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

from seqloom.spec.errors import DataError

TRAIN, VALID, TEST = "train", "valid", "test"
PARTS = (TRAIN, VALID, TEST)
Item = TypeVar("Item")


def part_of(content: str, seed: int, valid: float, test: float) -> str:
    """The part of an example, from its content alone: equal examples are in one part, and others don't move them.

    >>> part_of("a text", 1, 0.1, 0.1) == part_of("a text", 1, 0.1, 0.1)
    True
    """
    told = f"{seed}\x1f{content}".encode()
    place = int.from_bytes(hashlib.blake2b(told, digest_size=8).digest(), "little") / 2**64
    return TEST if place < test else VALID if place < test + valid else TRAIN


def check_filled(name: str, parts: Iterable[str]) -> None:
    """Nothing can be learnt from nothing, or chosen by nothing."""
    for part in (TRAIN, VALID):
        if part not in set(parts):
            do = "Give more examples, or a file of its own with --valid"
            raise DataError(name, f"no example is left for the {part} part", do)


def between(chunks: Iterable[str], start: int, stop: int) -> Iterator[str]:
    """The characters from start to stop of a text that comes in chunks.

    >>> "".join(between(["abc", "defg"], 2, 5))
    'cde'
    """
    at = 0
    for chunk in chunks:
        if piece := chunk[max(start - at, 0) : stop - at]:
            yield piece
        at += len(chunk)
        if at >= stop:
            return


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


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Lists of so many, the last perhaps of fewer.

    >>> list(batched("abc", 2))
    [['a', 'b'], ['c']]
    """
    group: list[Item] = []
    for item in items:
        group.append(item)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
