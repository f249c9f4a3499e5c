"""A label, or several, out of a table's cell or a JSON value."""

import math

from seqloom.data.examples import Place
from seqloom.data.readers.rows import OR_SKIP, in_words
from seqloom.spec.errors import DataError


def labels_of_cell(cell: str, separator: str | None, place: Place) -> tuple[str, ...]:
    """One label; or with a separator several, in their order, each once, or none from an empty cell.

    >>> labels_of_cell("comedy|drama", "|", Place("films.csv", 2))
    ('comedy', 'drama')
    """
    label = cell.strip()
    if separator is None:
        if not label:
            raise DataError(place, "the label is empty", f"Fill it in, remove the line, {OR_SKIP}")
        return (label,)
    if not label:
        return ()
    labels = [part.strip() for part in cell.split(separator)]
    if not all(labels):
        what = f"one of the labels in {cell[:60]!r} is empty"
        raise DataError(place, what, f"Fill it in, remove the line, {OR_SKIP}")
    return tuple(dict.fromkeys(labels))


def labels_of_json(value: object, separator: str | None, place: Place) -> tuple[str, ...]:
    """The labels of a string, a number, true or false, or of an array of those.

    >>> labels_of_json(["comedy", 7, True], None, Place("films.jsonl", 2))
    ('comedy', '7', 'true')
    """
    if isinstance(value, list):
        labels = [labels_of_cell(_scalar(one, place), None, place)[0] for one in value]
        return tuple(dict.fromkeys(labels))
    return labels_of_cell(_scalar(value, place), separator, place)


def _scalar(value: object, place: Place) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return str(value)
        case float():
            raise _cannot_be(f"{value}", place)
        case _:
            raise _cannot_be(in_words(value), place)


def _cannot_be(what: str, place: Place) -> DataError:
    do = f"Write a string, a whole number, true or false, or an array of those, {OR_SKIP}"
    return DataError(place, f"{what} can't be a label", do)
