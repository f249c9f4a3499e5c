"""CSV and TSV: a text and its label, or labels, a row."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from seqloom.data.examples import Labelled, Place
from seqloom.data.lines import Bad, refuse
from seqloom.data.readers.columns import Columns
from seqloom.data.readers.labels import labels_of_cell
from seqloom.data.readers.rows import OR_SKIP, ROWS
from seqloom.data.wording import counted
from seqloom.spec.config.data import Data
from seqloom.spec.errors import DataError


def mend(written: str, fields: int, width: int) -> str:
    """What to do about a row of so many fields.

    >>> mend("tsv", 3, 2), mend("tsv", 1, 2)
    ('Remove a tab', 'Add the tab that is missing')
    """
    if written == "csv":
        return 'Put quotes around a field that has a comma in it ("a, b")'
    return "Remove a tab" if fields > width else "Add the tab that is missing"


def read_table(
    path: str | Path, written: Literal["csv", "tsv"], columns: Columns, data: Data, bad: Bad = refuse
) -> Iterator[Labelled]:
    """Each row's text and labels, in the file's order. A row that has not as many fields as columns goes to `bad`."""
    rows = ROWS[written](path, data.max_characters, bad)
    file, width, separator = str(path), columns.width, data.label_separator
    if columns.header:
        next(rows, None)
    found = False
    for number, row in rows:
        place = Place(file, number)
        try:
            if len(row) != width:
                raise _wrong_width(row, columns, written, place)
            labels = labels_of_cell(row[columns.label], separator, place)
        except DataError as error:
            bad(error)
            continue
        found = True
        yield Labelled(row[columns.text], labels, place)
    if not found:
        raise DataError(path, "there is no row that can be read", "Name a file with a text and a label in each row")


def _wrong_width(row: list[str], columns: Columns, written: Literal["csv", "tsv"], place: Place) -> DataError:
    what = f"{counted(len(row), 'field')}, expected {columns.width} ({columns.shape()})"
    return DataError(place, what, f"{mend(written, len(row), columns.width)}, {OR_SKIP}")
