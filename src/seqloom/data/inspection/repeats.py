"""Texts that stand more than once: within a part, across parts, and with different labels.

Of each text an 8-byte hash is kept, with 8 bytes for its place and 4 for its part and what it is labelled: 20 bytes a
text, and about as many more while they are compared. Ten million texts take some 400 MB, and 550 MB where most of them
stand more than once.
"""

import hashlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Int, UInt
from numpy import ndarray

from seqloom.data.examples import Place
from seqloom.data.inspection.gathered import FEW, Tally
from seqloom.data.inspection.places import Files
from seqloom.data.split import PARTS

SEPARATOR = "\x1f"


class Contents:
    """Each text's hash, part, answer (its label or tags) and place, and how many texts each part has."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.hashes, self.answers, self.places = array("Q"), array("I"), array("q")
        self.sizes = dict.fromkeys(PARTS, 0)

    def add(self, text: str, part: str, answer: Sequence[str], place: Place) -> None:
        """One more text."""
        self.hashes.append(hashed(text))
        self.answers.append(short_hash(tuple(answer)) << 2 | PARTS.index(part))
        self.places.append(self.files.number(place))
        self.sizes[part] += 1

    def repeated(self) -> "Repeated":
        """Those that are there more than once."""
        hashes = np.frombuffer(self.hashes, dtype=np.uint64)
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        again = np.zeros(len(order), dtype=bool)
        again[1:] = hashes[1:] == hashes[:-1]
        del hashes
        kept = again.copy()
        kept[:-1] |= again[1:]
        row, group = order[kept].astype(np.int32), np.cumsum(~again[kept], dtype=np.int32) - 1
        answers = np.frombuffer(self.answers, dtype=np.uint32)[row]
        return Repeated(self, row, group, answers >> 2, (answers & 3).astype(np.uint8))


@dataclass(frozen=True)
class Repeated:
    """Texts that stand more than once, equal ones together (`group`), each group in the order of reading (`row`)."""

    contents: Contents
    row: Int[ndarray, " rows"]
    group: Int[ndarray, " rows"]
    answer: UInt[ndarray, " rows"]
    part: UInt[ndarray, " rows"]

    def within(self, part: str) -> Tally:
        """Texts of a part that repeat an earlier one of it."""
        of_part = self.part == PARTS.index(part)
        group = self.group[of_part]
        return self._tally(self.row[of_part][1:][group[1:] == group[:-1]])

    def shared(self, part: str, other: str) -> Tally:
        """Texts of a part that another part has too."""
        there = np.zeros(int(self.group[-1]) + 1 if len(self.group) else 0, dtype=bool)
        there[self.group[self.part == PARTS.index(other)]] = True
        return self._tally(self.row[(self.part == PARTS.index(part)) & there[self.group]])

    def contradictions(self) -> tuple[Tally, int]:
        """Texts with different answers, at the places of the first; and how many answers must be wrong at least."""
        starts = firsts(self.group)
        if not len(starts):
            return Tally(), 0
        several = np.minimum.reduceat(self.answer, starts) != np.maximum.reduceat(self.answer, starts)
        rows = several[self.group]
        pairs, counts = np.unique(self.group[rows].astype(np.int64) << 30 | self.answer[rows], return_counts=True)
        right = np.maximum.reduceat(counts, firsts(pairs >> 30)).sum() if len(pairs) else 0
        tally = self._tally(self._examples(starts[several]))
        tally.count = int(several.sum())
        return tally, int(rows.sum() - right)

    def _examples(self, starts: Int[ndarray, " groups"]) -> Int[ndarray, " examples"]:
        """Of the first groups that disagree, a text and the first that says otherwise."""
        chosen: list[int] = []
        for start in starts[np.argsort(self.row[starts])[: FEW // 2]]:
            other = start + 1
            while self.answer[other] == self.answer[start]:
                other += 1
            chosen += [int(self.row[start]), int(self.row[other])]
        return np.array(chosen, dtype=np.int32)

    def _tally(self, rows: Int[ndarray, " chosen"]) -> Tally:
        few = np.sort(np.partition(rows, FEW)[:FEW] if len(rows) > FEW else rows)
        places, files = self.contents.places, self.contents.files
        return Tally(len(rows), [files.place(places[row]) for row in few])


def firsts(group: Int[ndarray, " rows"]) -> Int[ndarray, " groups"]:
    """Where each stretch of equal numbers begins.

    >>> firsts(np.array([0, 0, 1, 3])).tolist()
    [0, 2, 3]
    """
    begins = np.ones(len(group), dtype=bool)
    begins[1:] = group[1:] != group[:-1]
    return np.flatnonzero(begins)


def hashed(text: str) -> int:
    """Eight bytes that stand for a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


@lru_cache(maxsize=1000)
def short_hash(answer: tuple[str, ...]) -> int:
    """Thirty bits that stand for labels or tags."""
    return hashed(SEPARATOR.join(answer)) >> 34
