"""A closed list of names, each with a number: labels, tags, words, letters."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import SupportsIndex

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.core.problem import RunError

UNKNOWN = "<unk>"


class Vocabulary:
    """Names in order; a name that is not there has the number of UNKNOWN, if that is one of them.

    >>> letters = Vocabulary.of_counts(Counter("banana"), unknown=True)
    >>> list(letters), letters.numbers("bat").tolist()
    (['<unk>', 'a', 'n', 'b'], [3, 1, 0])
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._numbers = {name: i for i, name in enumerate(self.names)}
        self.unknown = self._numbers.get(UNKNOWN)

    @staticmethod
    def of_counts(counts: Counter[str], *, unknown: bool, least: int = 1, most: int | None = None) -> "Vocabulary":
        """The names seen at least `least` times, most frequent first."""
        kept = sorted((name for name, n in counts.items() if n >= least), key=lambda name: (-counts[name], name))
        first = [UNKNOWN] if unknown else []
        return Vocabulary([*first, *(name for name in kept if name != UNKNOWN)][:most])

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, number: SupportsIndex) -> str:
        return self.names[number]

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def numbers(self, names: Iterable[str]) -> Integer[ndarray, " n"]:
        """Of several, all known or with something that stands for them."""
        return np.array([self._numbers.get(name, self.unknown) for name in names], dtype=np.int64)

    def to_json(self) -> str:
        """As it is saved."""
        return json.dumps(self.names, ensure_ascii=False)

    @staticmethod
    def from_json(text: str, where: str) -> "Vocabulary":
        """As it was saved; `where` is the file, for the sentence if it is damaged."""
        try:
            names = json.loads(text)
        except (ValueError, RecursionError):
            names = None
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise RunError("not a list of names, so it is damaged", "Restore the file from a copy", location=where)
        if len(set(names)) != len(names):
            raise RunError(
                "a name stands there twice, so it is damaged", "Restore the file from a copy", location=where
            )
        return Vocabulary(names)
