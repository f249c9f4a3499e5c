"""What readers and embedded corpora give: one example, and where it stood."""

from typing import NamedTuple


class Place(NamedTuple):
    """A line of a file, for a person to find.

    >>> str(Place("train.tsv", 7366))
    'train.tsv:7366'
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Labelled(NamedTuple):
    """A text and its label, or its several labels (none is possible there)."""

    text: str
    labels: tuple[str, ...]
    place: Place


class Sentence(NamedTuple):
    """Words, each with its tag."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    place: Place
