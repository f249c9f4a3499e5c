"""Which column holds the text and which the label: as a person says, or guessed from the first rows, and shown."""

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from seqloom.data.examples import Place
from seqloom.data.files import Format, format_of
from seqloom.data.lines import Bad, Skipped, refuse
from seqloom.data.readers import guess
from seqloom.data.readers.rows import ROWS, json_objects
from seqloom.data.wording import counted
from seqloom.spec.config.data import Data
from seqloom.spec.errors import DataError

LOOKED_AT = 1000  # rows
SHOWN = 12  # names of columns in a sentence
MOST_KEYS = 1000  # of JSON objects: more are no columns of a table, and each is looked at in each object


class Columns(NamedTuple):
    """Where the text and the label stand, from 0; `names` are all columns, `guessed` the keys that nobody gave.

    >>> found = Columns(text=1, label=0, header=False, names=("1", "2"), guessed=("text", "label", "header"))
    >>> found.describe()
    'text: column 2, label: column 1, no header (guessed; --data.text and --data.label name others)'
    """

    text: int
    label: int
    header: bool
    names: tuple[str, ...]
    guessed: tuple[str, ...]

    @property
    def width(self) -> int:
        return len(self.names)

    def describe(self) -> str:
        """One line for a person."""
        if not self.header:
            what = f"text: column {self.text + 1}, label: column {self.label + 1}, no header"
        else:
            what = f"text: {self.names[self.text]!r}, label: {self.names[self.label]!r}"
        options = [f"--data.{key}" for key in self.guessed if key != "header"]
        if options:
            return f"{what} (guessed; {' and '.join(options)} name{'s' if len(options) == 1 else ''} others)"
        if self.guessed:
            return f"{what} (header guessed; --data.header and --no-data.header say)"
        return what

    def shape(self) -> str:
        """What a row looks like, in a few words."""
        roles = {self.text: "text", self.label: "label"}
        if self.header:
            return listed(self.names)
        return listed([roles.get(index, f"column {index + 1}") for index in range(self.width)])

    def said_in(self, data: Data) -> Data:
        """The config with these columns said, by name or number: so that other files are read as this one was."""
        text, label = (
            self.names[index] if self.header and self.names.count(self.names[index]) == 1 else str(index + 1)
            for index in (self.text, self.label)
        )
        return data.model_copy(update={"text": text, "label": label})


def columns(path: str | Path, data: Data) -> Columns:
    """The columns of a CSV, TSV or JSONL file, from its first 1,000 records and what `data` says."""
    path = Path(path)
    written = format_of(path, "classify", data.format)
    bad = refuse if data.on_bad_line == "refuse" else Skipped()
    if written == "jsonl":
        return _keys(path, first_objects(path, data, bad), data)
    return _columns(path, first_rows(path, written, data, bad), data)


def first_rows(path: Path, written: Format, data: Data, bad: Bad) -> list[list[str]]:
    """The first 1,000 rows of a CSV or TSV file."""
    return [row for _, row in islice(ROWS[written](path, data.max_characters, bad), LOOKED_AT)]


def first_objects(path: Path, data: Data, bad: Bad) -> list[dict[str, object]]:
    """The first 1,000 objects of a JSONL file."""
    return [record for _, record in islice(json_objects(path, data.max_characters, bad), LOOKED_AT)]


def _columns(path: Path, rows: list[list[str]], data: Data) -> Columns:
    width = width_of(path, rows, "a text", "label")
    header = _header(path, rows, width, data)
    same = [row for row in rows[header:] if len(row) == width]
    names = names_of(path, rows, width, header)
    return _found(path, names, list(zip(*same, strict=True)), header, data)


def width_of(path: Path, rows: list[list[str]], one: str, other: str) -> int:
    """How many fields most rows have: two at least, `one` (a text) and its `other` (label)."""
    if not rows:
        raise DataError(path, "there is no row that can be read", f"Name a file with {one} and its {other} in each row")
    width = Counter(map(len, rows)).most_common(1)[0][0]
    if width == 1:
        mark = next((f"; the fields may be separated by {mark!r}" for mark in ";\t|" if mark in rows[0][0]), "")
        do = f"Rewrite it with commas (.csv) or tabs (.tsv) between {one} and its {other}"
        raise DataError(path, f"there is only one column{mark}", do)
    return width


def names_of(path: Path, rows: list[list[str]], width: int, header: bool) -> tuple[str, ...]:
    """The columns' names; without a header their numbers, from 1."""
    if header and len(rows[0]) != width and len(rows) > 1:
        what = f"the header has {counted(len(rows[0]), 'field')} and most rows have {width}"
        raise DataError(
            Place(str(path), 1), what, "Name every column once, or remove the header and pass --no-data.header"
        )
    return tuple(rows[0]) if header else tuple(str(index + 1) for index in range(width))


def _header(path: Path, rows: list[list[str]], width: int, data: Data) -> bool:
    if data.header is not None:
        return data.header
    if any(given is not None and not given.isdecimal() for given in (data.text, data.label)):
        return True
    alike = [row for row in rows if len(row) == width]
    return rows[0] is alike[0] and guess.has_header(alike)


def keys_of(path: Path, records: list[dict[str, object]], one: str, other: str) -> tuple[str, ...]:
    """The keys of JSON objects, in the order of their coming: two at least."""
    if not records:
        raise DataError(path, "there is no line that can be read", "Name a file with one JSON object per line")
    names = tuple(dict.fromkeys(key for record in records for key in record))
    if len(names) < 2:
        what = f"there is only one key ({names[0]!r})" if names else "the objects have no keys"
        raise DataError(path, what, f"Give each object {one} and its {other}")
    return names


def _keys(path: Path, records: list[dict[str, object]], data: Data) -> Columns:
    """The keys of JSON objects are columns with a header."""
    names = keys_of(path, records, "a text", "label")
    if len(names) > MOST_KEYS and (data.text is None or data.label is None):
        what = f"{len(names):,} different keys, too many to guess which is the text and which the label"
        raise DataError(path, what, "Name both with --data.text and --data.label")
    found = _found(path, names, _Values(records, names), True, data)
    return found._replace(guessed=tuple(key for key in found.guessed if key != "header"))


class _Values:
    """The values of JSON objects, key by key; one that is missing is an empty cell.

    Each key's are made when they are looked at: objects may have few keys in common, and a table of all with all would
    be many times what they are.
    """

    def __init__(self, records: list[dict[str, object]], names: tuple[str, ...]) -> None:
        self.records, self.names = records, names

    def __iter__(self) -> Iterator[list[str]]:
        for name in self.names:
            values = (record.get(name) for record in self.records)
            yield ["" if value is None or isinstance(value, dict) else str(value) for value in values]


def _found(path: Path, names: tuple[str, ...], columns: guess.Columns, header: bool, data: Data) -> Columns:
    given = {
        key: given_column(path, key, names, header, value)
        for key, value in (("text", data.text), ("label", data.label))
    }
    text, label = given["text"], given["label"]
    if text is not None and text == label:
        raise DataError(
            path, f"text and label are the same column ({names[text]!r})", "Name two with --data.text and --data.label"
        )
    known = names if header else ()
    if label is None:
        label = guess.by_name(known, guess.LABEL_NAMES, beside=text)
    if text is None:
        text = guess.by_name(known, guess.TEXT_NAMES, beside=label)
    if label is None:
        label = guess.label_column(columns, beside=text)
    if label is None:
        what = f"no column looks like a label: the values of each hardly repeat (columns: {listed(names)})"
        raise DataError(path, what, "Name the label's with --data.label")
    if text is None:
        text = guess.text_column(columns, beside=label)
    if text is None:
        raise DataError(path, "no column is left for the text", "Name it with --data.text")
    said = {"text": data.text, "label": data.label, "header": data.header}
    guessed = tuple(key for key, value in said.items() if value is None)
    by_name = any(value is not None and not value.isdecimal() for value in (data.text, data.label))
    return Columns(text, label, header, names, tuple(key for key in guessed if not (key == "header" and by_name)))


def given_column(path: Path, key: str, names: tuple[str, ...], header: bool, value: str | None) -> int | None:
    """The column that a person named: by its name in the header, or by its number from 1."""
    if value is None:
        return None
    if header and names.count(value) == 1:
        return names.index(value)
    if value.isdecimal() and 1 <= int(value) <= len(names):
        return int(value) - 1
    if value.isdecimal():
        raise DataError(path, f"no column {value} (there are {len(names)})", f"Count from 1 in --data.{key}")
    if not header:
        raise DataError(
            path, f"--data.{key} {value!r} is a name, and there is no header", "Give the column's number, from 1"
        )
    if value in names:
        raise DataError(path, f"several columns are called {value!r}", f"Give a number, from 1, in --data.{key}")
    some = names[:MOST_KEYS]
    nearest = get_close_matches(value, some, n=1) or get_close_matches(value.lower(), some, n=1)
    do = (
        f"The nearest is {nearest[0]!r}; name it with --data.{key}"
        if nearest
        else f"Name one of them with --data.{key}"
    )
    raise DataError(Place(str(path), 1), f"no column {value!r} (columns: {listed(names)})", do)


def listed(names: Sequence[str]) -> str:
    """The first few names, cut short: a file without a header may have sentences there.

    >>> listed(["id", "a long sentence that is no name of a column"])
    'id, a long sentence that is no nam…'
    """
    few = [name if len(name) <= 30 else f"{name[:30]}…" for name in names[:SHOWN]]
    return ", ".join(few) + (", …" if len(names) > SHOWN else "")
