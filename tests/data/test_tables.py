"""CSV, TSV and JSONL: written rows read back; a bad line is refused, or skipped without its neighbors."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.config.data import RowData
from seqloom.core.problem import DataError
from seqloom.data.records import Location
from seqloom.data.tables import csv_rows, json_objects, tsv_rows
from seqloom.data.text_io import OnBadLine, SkipBadLines, raise_error

Value = TypeVar("Value")
fields = st.one_of(
    st.text(st.characters(exclude_characters="\0\r\ufeff", exclude_categories=["Cs"]), max_size=8),
    st.text(st.sampled_from('",\n a'), max_size=8),
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("table") / "table.csv"


def read(
    reader: Callable[..., Iterator[tuple[Location, Value]]],
    file: Path,
    max_characters: int = 1_000_000,
    on_bad_line: OnBadLine = raise_error,
) -> list[tuple[int, Value]]:
    """The records of a reader, each with its first line; all are of this file."""
    records = list(reader([file], RowData(max_characters=max_characters), on_bad_line))
    assert {location.file for location, _ in records} <= {str(file)}
    return [(location.line, record) for location, record in records]


@given(
    rows=st.lists(st.lists(fields, min_size=1, max_size=4), min_size=1),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_output_of_the_csv_module_reads_back(file: Path, rows: list[list[str]], end: str, quoting: int) -> None:
    if end == "\r":  # csv.writer quotes \n by itself only where \n ends its lines
        quoting = csv.QUOTE_ALL
    buffer, lines = io.StringIO(newline=""), []
    writer = csv.writer(buffer, lineterminator=end, quoting=quoting)
    for row in rows:
        lines.append(1 + buffer.getvalue().replace("\r\n", "\n").replace("\r", "\n").count("\n"))
        writer.writerow(row)
    file.write_bytes(buffer.getvalue().encode())
    assert read(csv_rows, file) == list(zip(lines, rows, strict=True))


def test_rows_have_the_line_on_which_they_begin(file: Path) -> None:
    file.write_bytes(b'good,1\n\n"very,\n\n""bad""",0\r\nfine,1')
    assert read(csv_rows, file) == [(1, ["good", "1"]), (3, ['very,\n\n"bad"', "0"]), (6, ["fine", "1"])]


def test_several_files_are_read_one_after_another(tmp_path: Path) -> None:
    (first, second) = tmp_path / "1", tmp_path / "2"
    first.write_text('{"a": 1}')
    second.write_text('{"b": 2}')
    for reader, cells in (
        (csv_rows, (['{"a": 1}'], ['{"b": 2}'])),
        (tsv_rows, (['{"a": 1}'], ['{"b": 2}'])),
        (json_objects, ({"a": 1}, {"b": 2})),
    ):
        assert list(reader([first, second], RowData())) == [
            (Location(str(path), 1), record) for path, record in zip((first, second), cells, strict=True)
        ]


def test_a_quote_inside_an_unquoted_field_is_a_character(file: Path) -> None:
    file.write_text('5" pipe,1\n6" pipe,0\n')
    assert read(csv_rows, file) == [(1, ['5" pipe', "1"]), (2, ['6" pipe', "0"])]


@pytest.mark.parametrize(
    ("raw", "line", "kept"),
    [
        ('a,1\n"b,0\nc,1\n"d",0\n', 2, ["a", "c", "d"]),
        ('a,1\n"b,0\nc,1\nd,0\n', 2, ["a", "c", "d"]),
        ('a,1\n"b" c,0\nd,1\n', 2, ["a", "d"]),
        ('"a\nb","1\nc,1\nd,0\n', 2, ["c", "d"]),
        ('a,"1', 1, []),
    ],
)
def test_an_unbalanced_quote_is_refused_with_its_line_or_skipped(
    file: Path, raw: str, line: int, kept: list[str]
) -> None:
    file.write_text(raw)
    skipped = SkipBadLines()
    texts = [row[0] for _, row in read(csv_rows, file, on_bad_line=skipped) if len(row) == 2]
    assert texts == kept
    assert str(skipped.errors[0]).startswith(f"{file}:{line}: a quote opens here that does not close at the end of a f")
    with pytest.raises(DataError, match=f":{line}: a quote opens here"):
        read(csv_rows, file)


def test_an_open_quote_does_not_swallow_the_file(file: Path) -> None:
    file.write_text('a,1\n"b,0\n' + "c,1\n" * 20_000)
    with pytest.raises(DataError, match=":2: a quote opens here"):
        read(csv_rows, file, max_characters=1000)
    skipped = SkipBadLines()
    assert len(read(csv_rows, file, 1000, skipped)) == 20_001
    assert skipped.count == 1


def test_long_fields_are_limited_by_max_characters_alone(file: Path) -> None:
    long = "x y\n" * 100_000
    file.write_text(f'"{long}",1\n')
    assert read(csv_rows, file) == [(1, [long, "1"])]
    with pytest.raises(DataError, match=":1: a quote opens here"):
        read(csv_rows, file, max_characters=1000)


def test_a_bad_byte_is_skipped_with_its_record(file: Path) -> None:
    file.write_bytes(b'a,1\n"b\n\xff\nc",0\nd,1\n')
    skipped = SkipBadLines()
    assert [row[0] for _, row in read(csv_rows, file, on_bad_line=skipped)] == ["a", "d"]
    assert skipped.count == 1


def test_tsv_has_no_quotes(file: Path) -> None:
    file.write_text('"a\t1\n\nb"\t0\n\t1\n')
    assert read(tsv_rows, file) == [(1, ['"a', "1"]), (3, ['b"', "0"]), (4, ["", "1"])]


def test_a_lone_carriage_return_ends_a_line(file: Path) -> None:
    r"""It ends a line like \n and \r\n, as in Python's text mode; in quotes it is a line end of the text."""
    file.write_bytes(b'fine,a\r\nbro\rken,b\r\n"in\rside",c\r\ngood,d\r\nbad\r\n')
    assert read(csv_rows, file) == [
        (1, ["fine", "a"]),
        (2, ["bro"]),
        (3, ["ken", "b"]),
        (4, ["in\nside", "c"]),
        (6, ["good", "d"]),
        (7, ["bad"]),
    ]


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1), ascii=st.booleans())
def test_output_of_the_json_module_reads_back(file: Path, texts: list[str], ascii: bool) -> None:
    objects = [{"label": number, "text": text} for number, text in enumerate(texts)]
    file.write_bytes("\n\n".join(json.dumps(value, ensure_ascii=ascii) for value in objects).encode())
    assert read(json_objects, file) == [(2 * number + 1, value) for number, value in enumerate(objects)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"text": "x", "label": 1',
            "not valid JSON (expecting ',' delimiter, column 25). Write one JSON object per line",
        ),
        ("[1]", "an array, not a JSON object such as"),
        ("null", "null, not a JSON object such as"),
        ("[" * 100_000, "JSON that can't be read: a number is too long, or it is nested too deeply"),
        (
            '{"text": "x", "label": ' + "1" * 5000 + "}",
            "JSON that can't be read: a number is too long, or it is nested too deeply",
        ),
    ],
)
def test_a_line_that_is_no_json_object_is_refused_or_skipped(file: Path, line: str, message: str) -> None:
    good = '{"text": "a", "label": 1}'
    file.write_text(f"{good}\n{line}\n{good}\n")
    with pytest.raises(DataError) as error:
        read(json_objects, file)
    assert str(error.value).startswith(f"{file}:2: {message}")
    assert "or pass data.on_bad_line skip" in str(error.value)
    skipped = SkipBadLines()
    assert [number for number, _ in read(json_objects, file, on_bad_line=skipped)] == [1, 3]
    assert skipped.count == 1


def test_a_json_array_is_refused_as_jsonl(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(gzip.compress(b'\n [{"text": "x"}]', mtime=0))
    with pytest.raises(DataError, match=r"a JSON array, .*Write one record per line \(JSONL\), for example with `jq"):
        read(json_objects, path)
    path.write_text('{"text": "x"}\n')
    assert read(json_objects, path) == [(1, {"text": "x"})]
