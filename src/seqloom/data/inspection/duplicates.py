"""Texts that are there more than once: within a split, across splits, and with different answers.

Of each text an 8-byte hash is kept, with 8 bytes for its location and 4 for its split and answer: 20 bytes per text,
and about as many more while they are compared. Ten million texts take some 400 MB, and 550 MB where most of them are
there more than once.
"""

import hashlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Int, UInt
from numpy import ndarray

from seqloom.core.plurals import counted
from seqloom.core.problem import Problem
from seqloom.data.inspection.report import MAX_LOCATIONS, Inspection, Tally, percent
from seqloom.data.records import Location
from seqloom.data.split import SPLITS, TEST, TRAIN, VALID

SEPARATOR = "\x1f"
LINE_BITS = 40

MANY = 0.05  # of a split that repeats itself: more is a warning
LEAK = 0.01  # of a split that another has too: more is a warning
WRONG = 0.01  # of answers that contradict others: more is a warning


class Locations:
    """Numbers for locations, so that millions of them fit in memory.

    >>> locations = Locations()
    >>> locations[locations.stable_hash(Location("train.tsv", 7366))]
    'train.tsv:7366'
    """

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.names: list[str] = []

    def stable_hash(self, location: Location) -> int:
        """A location as a number, in the order of files as they came and then of lines."""
        file = self.numbers.get(location.file)
        if file is None:
            file = self.numbers[location.file] = len(self.names)
            self.names.append(location.file)
        return file << LINE_BITS | location.line

    def __getitem__(self, number: int) -> str:
        return str(Location(self.names[number >> LINE_BITS], number & ((1 << LINE_BITS) - 1)))


class TextIndex:
    """Each text's hash, split, answer (what a model is to say of it) and location, and how many each split has."""

    def __init__(self) -> None:
        self.locations = Locations()
        self.hashes, self.answers, self.numbers = array("Q"), array("I"), array("q")
        self.sizes = dict.fromkeys(SPLITS, 0)

    def add(self, text: str, split: str, answer: Sequence[str], location: Location) -> None:
        """Add a text of a split's files."""
        self.hashes.append(hash_of(text))
        self.answers.append(short_hash(tuple(answer)) << 2 | SPLITS.index(split))
        self.numbers.append(self.locations.stable_hash(location))
        self.sizes[split] += 1

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
    """Texts that are there more than once, equal ones together (`group`), each group in reading order (`row`)."""

    contents: TextIndex
    row: Int[ndarray, " rows"]
    group: Int[ndarray, " rows"]
    answer: UInt[ndarray, " rows"]
    split: UInt[ndarray, " rows"]

    def within(self, split: str) -> Tally:
        """Texts of a split that repeat an earlier one of it."""
        of_split = self.split == SPLITS.index(split)
        group = self.group[of_split]
        return self._tally(self.row[of_split][1:][group[1:] == group[:-1]])

    def shared(self, split: str, other: str) -> Tally:
        """Texts of a split that another split has too."""
        there = np.zeros(int(self.group[-1]) + 1 if len(self.group) else 0, dtype=bool)
        there[self.group[self.split == SPLITS.index(other)]] = True
        return self._tally(self.row[(self.split == SPLITS.index(split)) & there[self.group]])

    def contradictions(self) -> tuple[Tally, int]:
        """Texts with different answers, at the locations of the first; and how many answers must be wrong at least."""
        starts = group_starts(self.group)
        if not len(starts):
            return Tally(), 0
        several = np.minimum.reduceat(self.answer, starts) != np.maximum.reduceat(self.answer, starts)
        rows = several[self.group]
        pairs, counts = np.unique(self.group[rows].astype(np.int64) << 30 | self.answer[rows], return_counts=True)
        right = np.maximum.reduceat(counts, group_starts(pairs >> 30)).sum() if len(pairs) else 0
        tally = self._tally(self._examples(starts[several]))
        tally.count = int(several.sum())
        return tally, int(rows.sum() - right)

    def _examples(self, starts: Int[ndarray, " groups"]) -> Int[ndarray, " examples"]:
        """Of the first groups that disagree, a text and the first with another answer."""
        chosen: list[int] = []
        for start in starts[np.argsort(self.row[starts])[: MAX_LOCATIONS // 2]]:
            other = start + 1
            while self.answer[other] == self.answer[start]:
                other += 1
            chosen += [int(self.row[start]), int(self.row[other])]
        return np.array(chosen, dtype=np.int32)

    def _tally(self, rows: Int[ndarray, " chosen"]) -> Tally:
        few = np.sort(np.partition(rows, MAX_LOCATIONS)[:MAX_LOCATIONS] if len(rows) > MAX_LOCATIONS else rows)
        numbers, locations = self.contents.numbers, self.contents.locations
        return Tally(len(rows), [locations[numbers[row]] for row in few])


def group_starts(group: Int[ndarray, " rows"]) -> Int[ndarray, " groups"]:
    """Where each run of equal numbers begins.

    >>> group_starts(np.array([0, 0, 1, 3])).tolist()
    [0, 2, 3]
    """
    begins = np.ones(len(group), dtype=bool)
    begins[1:] = group[1:] != group[:-1]
    return np.flatnonzero(begins)


def hash_of(text: str) -> int:
    """Eight bytes that stand for a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


@lru_cache(maxsize=1000)
def short_hash(answer: tuple[str, ...]) -> int:
    """Thirty bits that stand for an answer."""
    return hash_of(SEPARATOR.join(answer)) >> 34


def report_duplicates(repeated: Repeated, noun: str, inspection: Inspection, which: str = "") -> None:
    """Findings about texts that repeat an earlier one of the files of their split.

    seqloom's own split goes by content, so that equal texts are in one split: they are looked at by their files.
    """
    contents = repeated.contents
    for split in SPLITS:
        again, size = repeated.within(split), contents.sizes[split]
        many = again.count > MANY * size
        repeat = "repeats" if again.count == 1 else "repeat"
        message = (
            f"{counted(again.count, noun)}{which} of {split} ({percent(again.count, size)}) {repeat} an earlier one"
        )
        advice = "Remove them, unless they should count more" if many else "Nothing to do, if they are meant"
        inspection.add("warning" if many else "note", again, Problem("repeated", message, advice))


def report_overlap(repeated: Repeated, noun: str, inspection: Inspection, which: str = "") -> None:
    """Findings about texts that the files of two splits both have."""
    contents = repeated.contents
    for split, other in ((VALID, TRAIN), (TEST, TRAIN), (TEST, VALID)):
        both, size = repeated.shared(split, other), contents.sizes[split]
        are = "is" if both.count == 1 else "are"
        message = f"{counted(both.count, noun)}{which} of {split} ({percent(both.count, size)}) {are} in {other} too"
        advice = f"Remove from {other} what {split} has, or scores on {split} will be too good"
        inspection.add("warning" if both.count > LEAK * size else "note", both, Problem("shared", message, advice))


def report_contradictions(repeated: Repeated, noun: str, answers: str, inspection: Inspection, which: str = "") -> None:
    """A finding about texts of which no model can predict all answers.

    answers: what these are called
    """
    against, wrong = repeated.contradictions()
    total = sum(repeated.contents.sizes.values())
    have = "has" if against.count == 1 else "have"
    message = (
        f"{counted(against.count, noun)}{which} {have} different {answers}, so that at least "
        f"{wrong:,} of {total:,} ({percent(wrong, total)}) can't be predicted correctly"
    )
    advice = f"Check which of the {answers} are meant"
    inspection.add("warning" if wrong > WRONG * total else "note", against, Problem("contradictions", message, advice))
