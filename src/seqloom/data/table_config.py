"""The config keys of tasks that read tables: the header, and a key for each column."""

from typing import Any

from seqloom.core.config.data import RowData
from seqloom.core.config.section import key
from seqloom.data.formats import AUTO, FORMATS


def table_formats() -> tuple[str, ...]:
    """The values of `data.format` beside which a column can be named."""
    return (AUTO, *(form.name for form in FORMATS.values() if form.kind == "table"))


def header_formats() -> tuple[str, ...]:
    """Those beside which the first row may be a header; the records of the others have names for their values."""
    return (AUTO, *(form.name for form in FORMATS.values() if form.kind == "table" and not form.keyed))


def column_key(description: str) -> Any:
    """The key of a column, which a person names by its name or its number from 1."""
    return key(
        None,
        description=description,
        only_with={"data.format": table_formats},
        of_file=True,
        numbers_are_text=True,
    )


class TableData(RowData):
    """Keys of tasks that read tables."""

    header: bool | None = key(
        None,
        description="Whether the first row names the columns. Guessed unless given.",
        only_with={"data.format": header_formats},
        of_file=True,
    )
