"""Examples and the part that each is in: read from their files once, and after that from a copy."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

from seqloom.data.examples import Example, Place
from seqloom.data.lines import Bad
from seqloom.data.origin import Origin
from seqloom.data.split import TEST, TRAIN, VALID, part_of
from seqloom.data.vocabulary import Vocabulary
from seqloom.spec.errors import DataError

Some = TypeVar("Some", bound=Example)
Counts = dict[str, Counter[str]]  # of each label or tag, how often it is in each part

in_json = json.JSONEncoder(ensure_ascii=False).encode


class ReadOnce(Generic[Some]):
    """All examples of an origin, each with its part: that of its file, or one by its content.

    `first` reads the files and writes a copy as it goes; every later reading is of the copy, which nobody else changes.
    What is `moved` is learnt from instead of being kept back.
    """

    def __init__(
        self, origin: Origin, read: Callable[[str, Bad], Iterator[Some]], kind: type[Some], copy: Path
    ) -> None:
        self.origin, self.read, self.kind, self.copy = origin, read, kind, copy
        self.bad = origin.bad()
        self.moved: set[str] = set()

    def first(self) -> Iterator[tuple[str, Some]]:
        """Out of the files."""
        with self.copy.open("w", encoding="utf-8", newline="\n") as file:
            for part, example in self._from_files():
                file.write(in_json((part, example)) + "\n")
                yield part, example

    def _from_files(self) -> Iterator[tuple[str, Some]]:
        origin = self.origin
        valid, test = origin.share(VALID), origin.share(TEST)
        for example in self.read(TRAIN, self.bad):
            yield part_of(example.content, origin.seed, valid, test), example
        for part in (VALID, TEST):
            if origin.has(part):
                for example in self.read(part, self.bad):
                    yield part, example

    def __iter__(self) -> Iterator[tuple[str, Some]]:
        with self.copy.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                part, told = json.loads(line)
                example = self.kind.restored(told)
                yield TRAIN if self.moved and self._moves(part, example) else part, example

    def _moves(self, part: str, example: Some) -> bool:
        return not self.origin.has(part) and example.content in self.moved

    def sizes(self) -> Counter[str]:
        """The first reading: how many examples each part has."""
        return Counter(part for part, _ in self.first())

    def count(self) -> tuple[Counts, bool]:
        """The first reading: how often each answer is in each part; whether every example has exactly one."""
        counts: Counts = {}
        single = True
        for part, example in self.first():
            single &= len(example.answers) == 1
            for answer in example.answers:
                counts.setdefault(answer, Counter())[part] += 1
        return counts, single

    def learn_all(self, counts: Counts) -> None:
        """Move the examples of answers that by chance are all kept back, with their duplicates."""
        homeless = {answer for answer, each in counts.items() if not each[TRAIN]}
        if homeless:
            self.moved = {
                example.content
                for part, example in self
                if not self.origin.has(part) and homeless.intersection(example.answers)
            }

    def unseen(self, counts: Counts) -> Iterator[str]:
        """Answers that only files of their own have, which are not learnt from."""
        for answer, each in counts.items():
            if not each[TRAIN] and all(self.origin.has(part) for part in each):
                yield answer

    def place_of(self, answer: str) -> Place:
        """Where an answer is first seen."""
        return next(example.place for _, example in self if answer in example.answers)


def check_known(names: Vocabulary, example: Example, answer: str, noun: str) -> None:
    """A file to test on may have answers (labels, tags) that the run never saw."""
    for each in example.answers:
        if each not in names:
            what = f"{answer} {each!r} is not one of the run's ({', '.join(names.names[:10])})"
            raise DataError(example.place, what, f"Remove the {noun}, or train on examples of it")
