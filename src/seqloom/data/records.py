"""Records as readers yield them, with locations, and functions that parse a field into the value of an example."""

import math
from typing import Any, NamedTuple, Protocol

from seqloom.core.problem import DataError, KeyName

OR_SKIP = f"or pass {KeyName('data.on_bad_line', 'skip')}"
FILL_IN = f"Fill it in, remove the line, {OR_SKIP}"

Value = Any
"""One value of an example: a text, labels, a number or an image, as the task's roles require."""


class Location(NamedTuple):
    """A line of a file.

    >>> str(Location("train.tsv", 7366))
    'train.tsv:7366'
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Record(NamedTuple):
    """One example of a task over rows: its values, in the order of the task's roles, and its location."""

    values: tuple[Value, ...]
    location: Location


class Field(NamedTuple):
    """A raw value (a cell of a table, a value of JSON), the name or number of its column, and its location."""

    value: object
    name: str
    location: Location


class LabelData(Protocol):
    """The key of the data section that `parse_labels` needs."""

    @property
    def label_separator(self) -> str | None: ...


def parse_text(field: Field, _data: object = None) -> str:
    if not isinstance(field.value, str):
        message = f"{field.name!r} is {json_kind(field.value)}, and a text is a string"
        raise DataError(field.location, message, f"Put it in quotes, {OR_SKIP}", code="not-a-string")
    return field.value


def parse_stripped_text(field: Field, data: object = None) -> str:
    """The string without white space at its ends."""
    return parse_text(field, data).strip()


def parse_labels(field: Field, data: LabelData) -> tuple[str, ...]:
    """One label, or several: those of an array, or of a string with `data.label_separator` between them.

    >>> from types import SimpleNamespace
    >>> field = Field(["comedy", 7, True], "genres", Location("films.jsonl", 2))
    >>> parse_labels(field, SimpleNamespace(label_separator=None))
    ('comedy', '7', 'true')
    """
    if isinstance(field.value, list):
        names = [split_labels(parse_scalar(value, field.location), None, field.location)[0] for value in field.value]
        return tuple(dict.fromkeys(names))
    return split_labels(parse_scalar(field.value, field.location), data.label_separator, field.location)


def split_labels(cell: str, separator: str | None, location: Location) -> tuple[str, ...]:
    """One label; with a separator, the distinct labels in order, or none for an empty cell.

    >>> split_labels("comedy|drama", "|", Location("films.csv", 2))
    ('comedy', 'drama')
    """
    label = cell.strip()
    if separator is None:
        if not label:
            raise DataError(location, "the label is empty", FILL_IN, code="empty-label")
        return (label,)
    if not label:
        return ()
    names = [name.strip() for name in cell.split(separator)]
    if not all(names):
        raise DataError(location, f"one of the labels in {cell[:60]!r} is empty", FILL_IN, code="empty-among-labels")
    return tuple(dict.fromkeys(names))


def parse_scalar(value: object, location: Location) -> str:
    """A string, number or boolean as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return str(value)
    message = f"{value if isinstance(value, float) else json_kind(value)} can't be a label"
    advice = f"Write a string, a whole number, true or false, or an array of those, {OR_SKIP}"
    raise DataError(location, message, advice, code="not-a-label")


def json_kind(value: object) -> str:
    """The kind of a JSON value, for a message.

    >>> json_kind(None), json_kind([1])
    ('null', 'an array')
    """
    kinds = ((type(None), "null"), (bool, "true or false"), ((int, float), "a number"), (str, "a string"))
    return next((name for kind, name in (*kinds, (list, "an array")) if isinstance(value, kind)), "an object")


def check_encodable(values: list[object], location: Location) -> None:
    """Refuse half of a surrogate pair: JSON can write it, as \\ud800, but it can't be saved as UTF-8."""
    for value in values:
        for string in value if isinstance(value, list) else [value]:
            try:
                if isinstance(string, str):
                    string.encode()
            except UnicodeEncodeError as error:
                message = f"\\u{ord(error.object[error.start]):04x} is half of a character"
                advice = f"Write the character itself, {OR_SKIP}"
                raise DataError(location, message, advice, code="surrogate") from None


def content_text(value: object) -> str:
    """A value as the text whose hash decides the split of an example.

    >>> content_text("a text"), content_text(("two", "words")), content_text(2.5)
    ('a text', 'two words', '2.5')
    """
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
