"""Readers of tables: rows of CSV and TSV, objects of JSONL, each with its location."""

import csv
import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from seqloom.core.config.data import RowData
from seqloom.core.problem import DataError, UserError
from seqloom.data.paths import without_gz
from seqloom.data.records import OR_SKIP, Location, json_kind
from seqloom.data.text_io import Lines, OnBadLine, raise_error, read_lines

Row = tuple[Location, list[str]]
JsonObject = dict[str, object]

CSV_FIELD = re.compile(r'(?:"(?:[^"]++|"")*+"|(?!")[^,\n]*+)[,\n]')


def tsv_rows(paths: Sequence[Path], data: RowData, on_bad_line: OnBadLine = raise_error) -> Iterator[Row]:
    """Lines split at tabs; quotes have no meaning. Blank lines are left out."""
    for path in paths:
        name = str(path)
        for number, line in read_lines(path, data.max_characters, on_bad_line):
            if line:
                yield Location(name, number), line.split("\t")


def csv_rows(paths: Sequence[Path], data: RowData, on_bad_line: OnBadLine = raise_error) -> Iterator[Row]:
    r"""Records, each with its first line; a quoted field may span lines. Blank lines are left out.

    A quote that does not close at the end of a field within `data.max_characters` goes to `on_bad_line`; if that
    returns, reading continues at the next line, so that a stray quote costs one line and not the file.

    >>> path = getfixture("tmp_path") / "two.csv"
    >>> _ = path.write_text('1,"good,\nreally"\n0,bad\n')
    >>> [(location.line, row) for location, row in csv_rows([path], RowData())]
    [(1, ['1', 'good,\nreally']), (3, ['0', 'bad'])]
    """
    for path in paths:
        yield from CsvReader(path, data.max_characters, on_bad_line)


class CsvReader:
    """The records of one CSV file; after a malformed record, reading continues at its second line."""

    def __init__(self, path: Path, max_characters: int, on_bad_line: OnBadLine) -> None:
        self.name, self.max_characters, self.on_bad_line = str(path), max_characters, on_bad_line
        self.lines: Lines = read_lines(path, max_characters, on_bad_line)
        self.pushed_back: deque[tuple[int, str]] = deque()
        self.record: list[tuple[int, str]] = []  # the lines of the record that is being read

    def __iter__(self) -> Iterator[Row]:
        if csv.field_size_limit() < self.max_characters:
            csv.field_size_limit(min(self.max_characters, 2**31 - 1))
        while True:
            try:
                for row in csv.reader(self._record_lines(), strict=True):
                    first, last = self.record[0][0], self.record[-1][0]
                    if row and last - first == len(self.record) - 1:  # otherwise a line of it was bad, and was reported
                        yield Location(self.name, first), row
                    self.record.clear()
                return
            except csv.Error:
                message = "a quote opens here that does not close at the end of a field"
                advice = f'Close it, or write "" for a quote inside a quoted field, {OR_SKIP}'
                self.on_bad_line(DataError(self._open_quote(), message, advice, code="open-quote"))
                self.pushed_back.extendleft(reversed(self.record[1:]))
                self.record.clear()

    def _record_lines(self) -> Iterator[str]:
        """Lines for `csv.reader`, which asks for more while a quote is open; at most `max_characters` per record."""
        size = 0
        while numbered_line := self.pushed_back.popleft() if self.pushed_back else next(self.lines, None):
            line = numbered_line[1]
            size = size + 1 + len(line) if self.record else len(line)
            self.record.append(numbered_line)
            if size > self.max_characters:
                return
            yield line + "\n"

    def _open_quote(self) -> Location:
        """The line of the first malformed field, where its quote opens."""
        text = "".join(line + "\n" for _, line in self.record)
        end = 0
        while field := CSV_FIELD.match(text, end):
            end = field.end()
        return Location(self.name, self.record[text.count("\n", 0, end)][0])


def json_objects(
    paths: Sequence[Path], data: RowData, on_bad_line: OnBadLine = raise_error
) -> Iterator[tuple[Location, JsonObject]]:
    """The JSON object on each line; blank lines are left out."""
    for path in paths:
        for number, line in read_lines(path, data.max_characters, on_bad_line):
            if not line.strip():
                continue
            if line.lstrip().startswith("[") and without_gz(path).suffix.lower() == ".json":
                jq = f"`jq -c '.[]' {path.name} > {path.stem}.jsonl`"
                advice = f"Write one record per line (JSONL), for example with {jq}"
                raise DataError(path, "a JSON array, which can only be read as a whole", advice, code="json-array")
            location = Location(str(path), number)
            try:
                record = _parse_object(line)
            except UserError as error:
                advice = f"Write one JSON object per line, {OR_SKIP}"
                on_bad_line(DataError(location, error.template.message, advice, code=error.template.code))
                continue
            yield location, record


def _parse_object(line: str) -> JsonObject:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        message = f"not valid JSON ({error.msg[0].lower()}{error.msg[1:]}, column {error.colno})"
        raise UserError(message, code="invalid-json") from None
    except (ValueError, RecursionError):
        raise UserError(
            "JSON that can't be read: a number is too long, or it is nested too deeply", code="extreme-json"
        ) from None
    if not isinstance(value, dict):
        message = f'{json_kind(value)}, not a JSON object such as {{"text": "...", "label": "..."}}'
        raise UserError(message, code="not-an-object")
    return value
