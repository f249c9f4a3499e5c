"""JSONL: an object a line, with a text and its label, or labels."""

from collections.abc import Iterator
from pathlib import Path

from seqloom.data.examples import Labelled, Place
from seqloom.data.lines import Bad, refuse
from seqloom.data.readers.columns import Columns
from seqloom.data.readers.labels import labels_of_json
from seqloom.data.readers.rows import OR_SKIP, in_words, json_objects
from seqloom.spec.config.data import Data
from seqloom.spec.errors import DataError


def read_jsonl(path: str | Path, columns: Columns, data: Data, bad: Bad = refuse) -> Iterator[Labelled]:
    """Each object's text and labels, in the file's order. An object without one of the two goes to `bad`."""
    text_key, label_key = columns.names[columns.text], columns.names[columns.label]
    found = False
    for number, record in json_objects(path, data.max_characters, bad):
        place = Place(str(path), number)
        try:
            text = text_of(value_of(record, text_key, place), text_key, place)
            labels = labels_of_json(value_of(record, label_key, place), data.label_separator, place)
            check_encodable(text, *labels, place=place)
        except DataError as error:
            bad(error)
            continue
        found = True
        yield Labelled(text, labels, place)
    if not found:
        raise DataError(path, "there is no line that can be read", "Name a file with one JSON object per line")


def value_of(record: dict[str, object], key: str, place: Place) -> object:
    """What an object has for a key."""
    if key not in record:
        keys = ", ".join(repr(one) for one in list(record)[:10])
        raise DataError(place, f"no key {key!r} (it has {keys or 'none'})", f"Add it, {OR_SKIP}")
    return record[key]


def text_of(value: object, key: str, place: Place) -> str:
    """A value that is a text."""
    if not isinstance(value, str):
        raise DataError(place, f"{key!r} is {in_words(value)}, and a text is a string", f"Put it in quotes, {OR_SKIP}")
    return value


def check_encodable(*strings: str, place: Place) -> None:
    """JSON can write half of a surrogate pair, as \\ud800, which is no character and can't be saved as UTF-8."""
    try:
        for string in strings:
            string.encode()
    except UnicodeEncodeError as error:
        what = f"\\u{ord(error.object[error.start]):04x} is half of a character"
        raise DataError(place, what, f"Write the character itself, {OR_SKIP}") from None
