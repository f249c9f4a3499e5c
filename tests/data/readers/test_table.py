"""CSV and TSV: what csv.writer writes reads back; a bad row is a sentence, or is skipped without its neighbours."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.examples import Labelled, Place
from seqloom.data.lines import Skipped
from seqloom.data.readers.columns import Columns
from seqloom.data.readers.rows import csv_rows, tsv_rows
from seqloom.data.readers.table import read_table
from seqloom.spec.config.data import Data
from seqloom.spec.errors import DataError

TEXT_LABEL = Columns(text=0, label=1, header=False, names=("1", "2"), guessed=())
fields = st.one_of(
    st.text(st.characters(exclude_characters="\0\r\ufeff", exclude_categories=["Cs"]), max_size=8),
    st.text(st.sampled_from('",\n a'), max_size=8),
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("table") / "table.csv"


def read(file: Path, raw: str, data: Data | None = None, written: str = "csv") -> tuple[list[Labelled], list[str]]:
    """What is read when bad rows are skipped, and the sentences; the first of them is what refusing says."""
    file.write_bytes(raw.encode())
    data, skipped = data or Data(), Skipped()
    rows = list(read_table(file, written, TEXT_LABEL, data, skipped))
    if skipped.count:
        with pytest.raises(DataError) as error:
            list(read_table(file, written, TEXT_LABEL, data))
        assert str(error.value) == str(skipped.errors[0])
    return rows, [str(error).removeprefix(str(file)) for error in skipped.errors]


@given(
    rows=st.lists(st.lists(fields, min_size=1, max_size=4), min_size=1),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_what_the_csv_module_writes_reads_back(file: Path, rows: list[list[str]], end: str, quoting: int) -> None:
    if end == "\r":  # csv.writer puts quotes around \n of itself only where \n ends its lines
        quoting = csv.QUOTE_ALL
    buffer, lines = io.StringIO(newline=""), []
    writer = csv.writer(buffer, lineterminator=end, quoting=quoting)
    for row in rows:
        lines.append(1 + buffer.getvalue().replace("\r\n", "\n").replace("\r", "\n").count("\n"))
        writer.writerow(row)
    file.write_bytes(buffer.getvalue().encode())
    assert list(csv_rows(file)) == list(zip(lines, rows, strict=True))


def test_rows_keep_the_line_they_begin_on(file: Path) -> None:
    rows, errors = read(file, 'good,1\n\n"very,\n\n""bad""",0\r\nfine,1')
    assert not errors
    assert [(row.text, row.labels, row.place.line) for row in rows] == [
        ("good", ("1",), 1),
        ('very,\n\n"bad"', ("0",), 3),
        ("fine", ("1",), 6),
    ]
    assert rows[0].place == Place(str(file), 1)


def test_a_quote_inside_a_field_that_has_none_around_it_is_a_character(file: Path) -> None:
    rows, errors = read(file, '5" pipe,1\n6" pipe,0\n')
    assert [row.text for row in rows] == ['5" pipe', '6" pipe']
    assert not errors


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
def test_an_unbalanced_quote_names_where_it_opens_and_costs_a_line(
    file: Path, raw: str, line: int, kept: list[str]
) -> None:
    file.write_text(raw)
    skipped = Skipped()
    texts = [row[0] for _, row in csv_rows(file, bad=skipped) if len(row) == 2]
    assert texts == kept
    assert str(skipped.errors[0]).startswith(f"{file}:{line}: a quote opens here that does not close at the end of a f")
    with pytest.raises(DataError, match=f":{line}: a quote opens here"):
        list(csv_rows(file))


def test_an_open_quote_does_not_swallow_the_file(file: Path) -> None:
    file.write_text('a,1\n"b,0\n' + "c,1\n" * 100_000)
    taken = []
    with pytest.raises(DataError, match=":2: a quote opens here"):
        taken.extend(csv_rows(file, max_characters=1000))
    skipped = Skipped()
    assert sum(1 for _ in csv_rows(file, 1000, skipped)) == 100_001
    assert skipped.count == 1


def test_long_fields_are_bounded_by_max_characters_alone(file: Path) -> None:
    long = "x y\n" * 100_000
    rows, errors = read(file, f'"{long}",1\n')
    assert not errors
    assert rows[0].text == long
    with pytest.raises(DataError, match=":1: a quote opens here"):
        list(csv_rows(file, max_characters=1000))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("b", "1 field, expected 2 (text, label). Put quotes around"),
        ("b,0,c", "3 fields, expected 2 (text, label). Put quotes around"),
        ("b,", "the label is empty. "),
        ("b, ", "the label is empty. "),
        ('"b",""', "the label is empty. "),
    ],
)
def test_a_bad_row_is_a_sentence(file: Path, row: str, message: str) -> None:
    rows, errors = read(file, f"a,1\n{row}\nc,1\n")
    assert [row.text for row in rows] == ["a", "c"]
    assert len(errors) == 1
    assert errors[0].startswith(f":2: {message}")
    assert "or pass --data.on-bad-line skip" in errors[0]


def test_a_bad_byte_inside_a_record_costs_that_record(file: Path) -> None:
    file.write_bytes(b'a,1\n"b\n\xff\nc",0\nd,1\n')
    skipped = Skipped()
    assert [row[0] for _, row in csv_rows(file, bad=skipped)] == ["a", "d"]
    assert skipped.count == 1


def test_tsv_has_no_quotes(file: Path) -> None:
    file.write_text('"a\t1\n\nb"\t0\n\t1\n')
    assert list(tsv_rows(file)) == [(1, ['"a', "1"]), (3, ['b"', "0"]), (4, ["", "1"])]


def test_an_empty_text_is_read(file: Path) -> None:
    assert read(file, ",1\n")[0][0].text == ""


def test_several_labels(file: Path) -> None:
    rows, errors = read(file, "a,x|y\nb,\nc,x| x\nd,x||y\ne, z \n", Data(label_separator="|"))
    assert [row.labels for row in rows] == [("x", "y"), (), ("x",), ("z",)]
    assert errors == [
        ":4: one of the labels in 'x||y' is empty. Fill it in, remove the line, or pass --data.on-bad-line skip."
    ]


def test_a_header_is_no_row(file: Path) -> None:
    file.write_text("text,label\n")
    columns = Columns(0, 1, True, ("text", "label"), ())
    with pytest.raises(DataError, match="there is no row that can be read"):
        list(read_table(file, "csv", columns, Data()))


def test_a_lone_carriage_return_ends_a_line_of_a_file_with_others(file: Path) -> None:
    r"""As \n and \r\n do, and as Python's own reading of text has it; in quotes it is a line's end in the text."""
    rows, sentences = read(file, 'fine,a\r\nbro\rken,b\r\n"in\rside",c\r\ngood,d\r\nbad\r\n')
    assert rows == [
        Labelled("fine", ("a",), Place(str(file), 1)),
        Labelled("ken", ("b",), Place(str(file), 3)),
        Labelled("in\nside", ("c",), Place(str(file), 4)),
        Labelled("good", ("d",), Place(str(file), 6)),
    ]
    assert [said.partition(" (")[0] for said in sentences] == [":2: 1 field, expected 2", ":7: 1 field, expected 2"]
