"""What readers and embedded corpora give: one example, and where it stood."""

from typing import Any, NamedTuple, Protocol, Self


class Place(NamedTuple):
    """A line of a file, for a person to find.

    >>> str(Place("train.tsv", 7366))
    'train.tsv:7366'
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Example(Protocol):
    """What is common to examples of all kinds."""

    @property
    def content(self) -> str:
        """What it is split by: equal contents are in one part."""

    @property
    def answers(self) -> tuple[str, ...]:
        """What a model is to say."""

    @property
    def place(self) -> Place: ...

    @classmethod
    def restored(cls, told: list[Any]) -> Self:
        """What JSON has kept of one."""


class Labelled(NamedTuple):
    """A text and its label, or its several labels (none is possible there)."""

    text: str
    labels: tuple[str, ...]
    place: Place

    @property
    def content(self) -> str:
        return self.text

    @property
    def answers(self) -> tuple[str, ...]:
        return self.labels

    @classmethod
    def restored(cls, told: list[Any]) -> "Labelled":
        text, labels, place = told
        return cls(text, tuple(labels), Place(*place))


class Sentence(NamedTuple):
    """Words, each with its tag."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    place: Place

    @property
    def content(self) -> str:
        return " ".join(self.words)

    @property
    def answers(self) -> tuple[str, ...]:
        return self.tags

    @classmethod
    def restored(cls, told: list[Any]) -> "Sentence":
        words, tags, place = told
        return cls(tuple(words), tuple(tags), Place(*place))


class Pair(NamedTuple):
    """A text and its translation."""

    source: str
    target: str
    place: Place

    @property
    def content(self) -> str:
        return self.source

    @property
    def answers(self) -> tuple[str, ...]:
        return (self.target,)

    @classmethod
    def restored(cls, told: list[Any]) -> "Pair":
        source, target, place = told
        return cls(source, target, Place(*place))


class Captioned(NamedTuple):
    """An image, by its path as it is written, and one of its captions."""

    image: str
    target: str
    place: Place


class Hung(NamedTuple):
    """A caption whose image hangs in a gallery: under a number, and by the first of the names that rows have for it."""

    number: int
    name: str
    target: str
    place: Place

    @property
    def content(self) -> str:
        return self.name

    @property
    def answers(self) -> tuple[str, ...]:
        return (self.target,)

    @classmethod
    def restored(cls, told: list[Any]) -> "Hung":
        number, name, target, place = told
        return cls(number, name, target, Place(*place))
