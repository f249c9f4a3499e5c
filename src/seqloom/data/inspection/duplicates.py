"""Texts that occur more than once: within a split, across splits, and with different answers.

Each text takes 20 bytes of memory (8 for its hash, 8 for its location, 4 for its split and answer), and about 20 more
while texts are compared. Ten million texts take about 400 MB, or 550 MB if most of them are duplicates.
"""

import hashlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Int, UInt
from numpy import ndarray

from seqloom.core.problem import Problem
from seqloom.core.wording import counted
from seqloom.data.inspection.findings import MAX_LOCATIONS, Inspection, Tally, percent
from seqloom.data.records import Location
from seqloom.data.split import SPLITS, TEST, TRAIN, VALID

SEPARATOR = "\x1f"
LINE_BITS = 40
# Shares above which a finding is a warning: duplicates in a split, texts shared by splits, contradictory answers.
MAX_REPEATED, MAX_LEAKED, MAX_CONTRADICTED = 0.05, 0.01, 0.01


class TextIndex:
    """The hash, split, answer (what a model should predict) and location of each text, and the size of each split.

    A location is one number, so that millions of them fit in memory.
    """

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self.hashes, self.answers, self.locations = array("Q"), array("I"), array("q")
        self.sizes = dict.fromkeys(SPLITS, 0)

    def add(self, text: str, split: str, answer: Sequence[str], location: Location) -> None:
        self.hashes.append(hash_text(text))
        self.answers.append(hash_answer(tuple(answer)) << 2 | SPLITS.index(split))
        file = self.files.setdefault(location.file, len(self.files))
        self.locations.append(file << LINE_BITS | location.line)
        self.sizes[split] += 1

    def tally(self, rows: Int[ndarray, " texts"]) -> Tally:
        """The number of these texts, and their first locations."""
        first_rows = np.sort(np.partition(rows, MAX_LOCATIONS)[:MAX_LOCATIONS] if len(rows) > MAX_LOCATIONS else rows)
        files, locations = list(self.files), [self.locations[row] for row in first_rows]
        mask = (1 << LINE_BITS) - 1
        return Tally(len(rows), [str(Location(files[code >> LINE_BITS], code & mask)) for code in locations])

    def duplicates(self) -> "Duplicates":
        hashes = np.frombuffer(self.hashes, dtype=np.uint64)
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        repeats = np.zeros(len(order), dtype=bool)
        repeats[1:] = hashes[1:] == hashes[:-1]
        del hashes
        in_group = repeats.copy()
        in_group[:-1] |= repeats[1:]
        row, group = order[in_group].astype(np.int32), np.cumsum(~repeats[in_group], dtype=np.int32) - 1
        answers = np.frombuffer(self.answers, dtype=np.uint32)[row]
        return Duplicates(self, row, group, answers >> 2, (answers & 3).astype(np.uint8))


@dataclass(frozen=True)
class Duplicates:
    """Texts that occur more than once, equal ones together (`group`), each group in reading order (`row`)."""

    index: TextIndex
    row: Int[ndarray, " rows"]
    group: Int[ndarray, " rows"]
    answer: UInt[ndarray, " rows"]
    split: UInt[ndarray, " rows"]

    def within(self, split: str) -> Tally:
        """Texts that repeat an earlier text of their split."""
        in_split = self.split == SPLITS.index(split)
        group = self.group[in_split]
        return self.index.tally(self.row[in_split][1:][group[1:] == group[:-1]])

    def shared(self, split: str, other: str) -> Tally:
        """Texts of a split that are also in another."""
        in_other = np.zeros(int(self.group[-1]) + 1 if len(self.group) else 0, dtype=bool)
        in_other[self.group[self.split == SPLITS.index(other)]] = True
        return self.index.tally(self.row[(self.split == SPLITS.index(split)) & in_other[self.group]])

    def contradictions(self) -> tuple[Tally, int]:
        """Texts with different answers; and the least number of examples that a model gets wrong because of them."""
        starts = group_starts(self.group)
        if not len(starts):
            return Tally(), 0
        contradictory = np.minimum.reduceat(self.answer, starts) != np.maximum.reduceat(self.answer, starts)
        rows = contradictory[self.group]
        pairs, counts = np.unique(self.group[rows].astype(np.int64) << 30 | self.answer[rows], return_counts=True)
        max_correct = np.maximum.reduceat(counts, group_starts(pairs >> 30)).sum() if len(pairs) else 0
        examples: list[int] = []  # of each of the first groups, a text and the first one with another answer
        contradictory_starts = starts[contradictory]
        for start in contradictory_starts[np.argsort(self.row[contradictory_starts])[: MAX_LOCATIONS // 2]]:
            other = start + 1
            while self.answer[other] == self.answer[start]:
                other += 1
            examples += [int(self.row[start]), int(self.row[other])]
        tally = self.index.tally(np.array(examples, dtype=np.int32))
        tally.count = int(contradictory.sum())
        return tally, int(rows.sum() - max_correct)


def group_starts(group: Int[ndarray, " rows"]) -> Int[ndarray, " groups"]:
    """The start of each run of equal numbers.

    >>> group_starts(np.array([0, 0, 1, 3])).tolist()
    [0, 2, 3]
    """
    is_start = np.ones(len(group), dtype=bool)
    is_start[1:] = group[1:] != group[:-1]
    return np.flatnonzero(is_start)


def hash_text(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


@lru_cache(maxsize=1000)
def hash_answer(answer: tuple[str, ...]) -> int:
    return hash_text(SEPARATOR.join(answer)) >> 34


def report_duplicates(duplicates: Duplicates, noun: str, inspection: Inspection, qualifier: str = "") -> None:
    """Findings about texts that repeat an earlier one of their split's files; `qualifier` follows `noun` in messages.

    Held-out examples count as training examples, since a split by content keeps equal texts together.
    """
    for split in SPLITS:
        repeated, size = duplicates.within(split), duplicates.index.sizes[split]
        are_many = repeated.count > MAX_REPEATED * size
        verb = "repeats" if repeated.count == 1 else "repeat"
        texts = f"{counted(repeated.count, noun)}{qualifier} of {split} ({percent(repeated.count, size)})"
        advice = "Remove them, unless they are intended" if are_many else "Nothing to do if they are intended"
        problem = Problem("repeated", f"{texts} {verb} an earlier one", advice)
        inspection.add("warning" if are_many else "note", repeated, problem)


def report_overlap(duplicates: Duplicates, noun: str, inspection: Inspection, qualifier: str = "") -> None:
    for split, other in ((VALID, TRAIN), (TEST, TRAIN), (TEST, VALID)):
        shared, size = duplicates.shared(split, other), duplicates.index.sizes[split]
        verb = "is" if shared.count == 1 else "are"
        texts = f"{counted(shared.count, noun)}{qualifier} of {split} ({percent(shared.count, size)})"
        advice = f"Remove them from {other}; otherwise scores on {split} will be too high"
        problem = Problem("shared", f"{texts} {verb} in {other} too", advice)
        inspection.add("warning" if shared.count > MAX_LEAKED * size else "note", shared, problem)


def report_contradictions(
    duplicates: Duplicates, noun: str, answers: str, inspection: Inspection, qualifier: str = ""
) -> None:
    """A finding about texts with several answers, which no model can all predict; `answers` is the word for them."""
    contradictions, wrong = duplicates.contradictions()
    total = sum(duplicates.index.sizes.values())
    verb = "has" if contradictions.count == 1 else "have"
    message = (
        f"{counted(contradictions.count, noun)}{qualifier} {verb} different {answers}, so at least {wrong:,} of "
        f"{total:,} ({percent(wrong, total)}) can't be predicted correctly"
    )
    problem = Problem("contradictions", message, f"Check which of the {answers} are correct")
    inspection.add("warning" if wrong > MAX_CONTRADICTED * total else "note", contradictions, problem)
