"""A closed list of names, each with an id: labels, tags, words, letters."""

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
    """Names in order; any other name has the id of UNKNOWN, if that is one of the names.

    >>> letters = Vocabulary.from_counts(Counter("banana"), unknown=True)
    >>> list(letters), letters.ids("bat").tolist()
    (['<unk>', 'a', 'n', 'b'], [3, 1, 0])
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._ids = {name: i for i, name in enumerate(self.names)}
        self.unknown = self._ids.get(UNKNOWN)

    @staticmethod
    def from_counts(
        counts: Counter[str], *, unknown: bool, min_count: int = 1, max_size: int | None = None
    ) -> "Vocabulary":
        """The names that occur at least `min_count` times, most frequent first."""
        names = (name for name, count in counts.items() if count >= min_count and name != UNKNOWN)
        ordered = sorted(names, key=lambda name: (-counts[name], name))
        return Vocabulary([*([UNKNOWN] if unknown else []), *ordered][:max_size])

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, number: SupportsIndex) -> str:
        return self.names[number]

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def ids(self, names: Iterable[str]) -> Integer[ndarray, " n"]:
        return np.array([self._ids.get(name, self.unknown) for name in names], dtype=np.int64)

    def to_json(self) -> str:
        return json.dumps(self.names, ensure_ascii=False)

    @staticmethod
    def from_json(text: str, location: str) -> "Vocabulary":
        """The reverse of `to_json`; `location` is the file, in the error if it is damaged."""
        try:
            names = json.loads(text)
        except (ValueError, RecursionError):
            names = None
        advice = "Restore the file from a copy"
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise RunError("not a list of names, so it is damaged", advice, location=location)
        if len(set(names)) != len(names):
            raise RunError("it has a name twice, so it is damaged", advice, location=location)
        return Vocabulary(names)
