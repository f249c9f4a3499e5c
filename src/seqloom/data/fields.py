"""From a field of a record, a cell of a table or a value of JSON, to what an example holds: a text, labels."""

import math
from typing import NamedTuple, Protocol

from seqloom.core.problem import DataError, KeyName
from seqloom.data.examples import Place

OR_SKIP = f"or pass {KeyName('data.on_bad_line', 'skip')}"
FILL_IN = f"Fill it in, remove the line, {OR_SKIP}"


class LabelData(Protocol):
    """The key of the data section that labels are read by."""

    @property
    def label_separator(self) -> str | None:
        """What separates the labels of a row."""


class Field(NamedTuple):
    """A value of a record, the name (or number) of its column, and where it stood."""

    value: object
    name: str
    place: Place


def text(field: Field, _data: object = None) -> str:
    """A string as it stands.

    >>> text(Field(" a film", "text", Place("films.csv", 2)))
    ' a film'
    """
    if not isinstance(field.value, str):
        message = f"{field.name!r} is {json_kind(field.value)}, and a text is a string"
        raise DataError(field.place, message, f"Put it in quotes, {OR_SKIP}", code="not-a-string")
    return field.value


def stripped_text(field: Field, data: object = None) -> str:
    """A string without white space at its ends."""
    return text(field, data).strip()


def labels(field: Field, data: LabelData) -> tuple[str, ...]:
    """One label, or several: of an array, or of a string with `data.label_separator` between them.

    >>> from types import SimpleNamespace
    >>> labels(Field(["comedy", 7, True], "genres", Place("films.jsonl", 2)), SimpleNamespace(label_separator=None))
    ('comedy', '7', 'true')
    """
    place, separator = field.place, data.label_separator
    if isinstance(field.value, list):
        names = [split_labels(scalar(one, place), None, place)[0] for one in field.value]
        return tuple(dict.fromkeys(names))
    return split_labels(scalar(field.value, place), separator, place)


def split_labels(cell: str, separator: str | None, place: Place) -> tuple[str, ...]:
    """One label; or with a separator several, in their order, each once, or none from an empty cell.

    >>> split_labels("comedy|drama", "|", Place("films.csv", 2))
    ('comedy', 'drama')
    """
    label = cell.strip()
    if separator is None:
        if not label:
            raise DataError(place, "the label is empty", FILL_IN, code="empty-label")
        return (label,)
    if not label:
        return ()
    names = [part.strip() for part in cell.split(separator)]
    if not all(names):
        raise DataError(place, f"one of the labels in {cell[:60]!r} is empty", FILL_IN, code="empty-among-labels")
    return tuple(dict.fromkeys(names))


def scalar(value: object, place: Place) -> str:
    """A string, a number, true or false, as a label."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return str(value)
    message = f"{value if isinstance(value, float) else json_kind(value)} can't be a label"
    advice = f"Write a string, a whole number, true or false, or an array of those, {OR_SKIP}"
    raise DataError(place, message, advice, code="not-a-label")


def json_kind(value: object) -> str:
    """What a JSON value is, as JSON calls it.

    >>> json_kind(None), json_kind([1])
    ('null', 'an array')
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


def check_encodable(values: list[object], place: Place) -> None:
    """JSON can write half of a surrogate pair, as \\ud800, which is no character and can't be saved as UTF-8."""
    strings = [one for value in values for one in (value if isinstance(value, list) else [value])]
    try:
        for string in strings:
            if isinstance(string, str):
                string.encode()
    except UnicodeEncodeError as error:
        message = f"\\u{ord(error.object[error.start]):04x} is half of a character"
        raise DataError(place, message, f"Write the character itself, {OR_SKIP}", code="surrogate") from None
