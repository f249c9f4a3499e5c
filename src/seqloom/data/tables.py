"""Readers of tables: rows of CSV and TSV, objects of JSONL, each with its location."""

import csv
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from seqloom.core.config.data import RowData
from seqloom.core.problem import DataError, UserError
from seqloom.data.paths import without_gz
from seqloom.data.records import OR_SKIP, Location, json_kind
from seqloom.data.text_io import OnBadLine, raise_error, read_lines

Line = tuple[int, str]
Row = tuple[Location, list[str]]


def tsv_rows(paths: Sequence[Path], data: RowData, on_bad_line: OnBadLine = raise_error) -> Iterator[Row]:
    """Lines split at tabs; quotes are characters like others. Blank lines are passed over."""
    for path in paths:
        name = str(path)
        for number, line in read_lines(path, data.max_characters, on_bad_line):
            if line:
                yield Location(name, number), line.split("\t")


def csv_rows(paths: Sequence[Path], data: RowData, on_bad_line: OnBadLine = raise_error) -> Iterator[Row]:
    r"""Records, each with the line it begins on; a quoted field may go on over lines. Blank lines are passed over.

    A quote that does not close at the end of a field within `data.max_characters` goes to `bad`; where that returns,
    reading goes on at the next line, so that a stray quote costs one line and not the file.

    >>> path = getfixture("tmp_path") / "two.csv"
    >>> _ = path.write_text('1,"good,\nreally"\n0,bad\n')
    >>> [(location.line, row) for location, row in csv_rows([path], RowData())]
    [(1, ['1', 'good,\nreally']), (3, ['0', 'bad'])]
    """
    for path in paths:
        yield from csv_records(path, data.max_characters, on_bad_line)


def csv_records(path: Path, max_characters: int, on_bad_line: OnBadLine) -> Iterator[Row]:
    """The records of one file."""
    name = str(path)
    if csv.field_size_limit() < max_characters:
        csv.field_size_limit(min(max_characters, 2**31 - 1))
    lines = Lines(read_lines(path, max_characters, on_bad_line))
    record: list[Line] = []
    whole = False
    while not whole:
        try:
            for row in csv.reader(_noted(lines, record, max_characters), strict=True):
                first, last = record[0][0], record[-1][0]
                if row and last - first == len(record) - 1:  # else a line of it was bad, which has been reported
                    yield Location(name, first), row
                record.clear()
            whole = True
        except csv.Error:
            message = "a quote opens here that does not close at the end of a field"
            advice = f'Close it, or write "" for a quote inside a quoted field, {OR_SKIP}'
            on_bad_line(DataError(Location(name, _opening(record)), message, advice, code="open-quote"))
            lines.back(record[1:])
            record.clear()


class Lines(Iterator[Line]):
    """Lines that can be given back, to be read again."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self.lines = lines
        self.again: deque[Line] = deque()

    def __next__(self) -> Line:
        return self.again.popleft() if self.again else next(self.lines)

    def back(self, lines: list[Line]) -> None:
        self.again.extendleft(reversed(lines))


def _noted(lines: Iterable[Line], record: list[Line], most: int) -> Iterator[str]:
    """Lines for csv.reader, which takes more while a quote is open; each is noted in `record`, up to `most` in all."""
    size = 0
    for numbered in lines:
        line = numbered[1]
        size = size + 1 + len(line) if record else len(line)
        record.append(numbered)
        if size > most:
            return
        yield line + "\n"


FIELD = re.compile(r'(?:"(?:[^"]++|"")*+"|(?!")[^,\n]*+)[,\n]')


def _opening(record: list[Line]) -> int:
    """The line of the first field that is not well formed: where its quote opens."""
    text = "".join(line + "\n" for _, line in record)
    end = 0
    while field := FIELD.match(text, end):
        end = field.end()
    return record[text.count("\n", 0, end)][0]


def json_objects(
    paths: Sequence[Path], data: RowData, on_bad_line: OnBadLine = raise_error
) -> Iterator[tuple[Location, dict[str, object]]]:
    """The JSON object on each line; blank lines are passed over."""
    for path in paths:
        name = str(path)
        for number, line in read_lines(path, data.max_characters, on_bad_line):
            if not line.strip():
                continue
            if line.lstrip().startswith("[") and without_gz(path).suffix.lower() == ".json":
                jq = f"`jq -c '.[]' {path.name} > {path.stem}.jsonl`"
                advice = f"Write one record per line (JSONL), for example with {jq}"
                raise DataError(path, "a JSON array, which would have to be read whole", advice, code="json-array")
            try:
                record = _object(line)
            except UserError as error:
                problem, advice = error.template, f"Write one JSON object per line, {OR_SKIP}"
                on_bad_line(DataError(Location(name, number), problem.message, advice, code=problem.code))
                continue
            yield Location(name, number), record


def _object(line: str) -> dict[str, object]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        message = f"not valid JSON ({error.msg[0].lower()}{error.msg[1:]}, column {error.colno})"
        raise UserError(message, code="invalid-json") from None
    except (ValueError, RecursionError):
        raise UserError("JSON with a number too long, or nested too deeply, to be read", code="extreme-json") from None
    if not isinstance(value, dict):
        message = f'{json_kind(value)}, not a JSON object such as {{"text": "...", "label": "..."}}'
        raise UserError(message, code="not-an-object")
    return value
