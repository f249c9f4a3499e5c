"""What readers and embedded corpora give: the values of an example, and where it stood."""

from typing import Any, NamedTuple

Value = Any
"""Of an example: a text, labels, a number, an image, as the task's roles and the columns of its schema say."""


class Place(NamedTuple):
    """A line of a file, for a person to find.

    >>> str(Place("train.tsv", 7366))
    'train.tsv:7366'
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Record(NamedTuple):
    """One example of a task over rows: its values, in the order of the task's roles, and where it stood."""

    values: tuple[Value, ...]
    place: Place
