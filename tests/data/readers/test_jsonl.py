"""JSONL: labels of every kind, and a sentence for what can't be one."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.examples import Labelled, Place
from seqloom.data.lines import Skipped
from seqloom.data.readers.columns import Columns
from seqloom.data.readers.jsonl import read_jsonl
from seqloom.spec.config.data import Data
from seqloom.spec.errors import DataError

COLUMNS = Columns(text=0, label=1, header=True, names=("text", "label"), guessed=())


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jsonl") / "a.jsonl"


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1), ascii=st.booleans())
def test_what_the_json_module_writes_reads_back(file: Path, texts: list[str], ascii: bool) -> None:
    lines = [json.dumps({"label": number, "text": text}, ensure_ascii=ascii) for number, text in enumerate(texts)]
    file.write_bytes("\n\n".join(lines).encode())
    assert list(read_jsonl(file, COLUMNS, Data())) == [
        Labelled(text, (str(number),), Place(str(file), 2 * number + 1)) for number, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    ("label", "labels"),
    [
        ('"good"', ("good",)),
        ('" good "', ("good",)),
        ("-1", ("-1",)),
        ("4.5", ("4.5",)),
        ("true", ("true",)),
        ("[]", ()),
        ('["a", 1, false, "a"]', ("a", "1", "false")),
        ('"a|b"', ("a|b",)),
    ],
)
def test_labels(file: Path, label: str, labels: tuple[str, ...]) -> None:
    file.write_text(f'{{"text": "", "label": {label}}}')
    assert [row.labels for row in read_jsonl(file, COLUMNS, Data())] == [labels]


def test_a_separator_splits_strings(file: Path) -> None:
    file.write_text('{"text": "", "label": "a|b"}')
    assert next(read_jsonl(file, COLUMNS, Data(label_separator="|"))).labels == ("a", "b")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"text": "x", "label": 1',
            "not valid JSON (expecting ',' delimiter, column 25). Write one JSON object per line",
        ),
        ("[1]", "an array, not a JSON object such as"),
        ("null", "null, not a JSON object such as"),
        ("[" * 100_000, "JSON with a number too long, or nested too deeply"),
        ('{"text": "x", "label": ' + "1" * 5000 + "}", "JSON with a number too long, or nested too deeply"),
        ('{"text": "x"}', "no key 'label' (it has 'text'). Add it, or pass --data.on-bad-line skip."),
        ("{}", "no key 'text' (it has none). "),
        ('{"text": 5, "label": 1}', "'text' is a number, and a text is a string. "),
        ('{"text": null, "label": 1}', "'text' is null, and a text is a string. "),
        ('{"text": "x", "label": null}', "null can't be a label. "),
        ('{"text": "x", "label": {"a": 1}}', "an object can't be a label. "),
        ('{"text": "x", "label": [["a"]]}', "an array can't be a label. "),
        ('{"text": "x", "label": NaN}', "nan can't be a label. "),
        ('{"text": "x", "label": ""}', "the label is empty. "),
        ('{"text": "x", "label": ["a", " "]}', "the label is empty. "),
        ('{"text": "x \\ud800", "label": 1}', "\\ud800 is half of a character. "),
    ],
)
def test_a_bad_line_is_a_sentence(file: Path, line: str, message: str) -> None:
    good = '{"text": "a", "label": 1}'
    file.write_text(f"{good}\n{line}\n{good}\n")
    with pytest.raises(DataError) as error:
        list(read_jsonl(file, COLUMNS, Data()))
    assert str(error.value).startswith(f"{file}:2: {message}")
    skipped = Skipped()
    assert [row.place.line for row in read_jsonl(file, COLUMNS, Data(), skipped)] == [1, 3]
    assert skipped.count == 1


def test_nothing_read_is_a_sentence(file: Path) -> None:
    file.write_text("\n\n")
    with pytest.raises(DataError, match="there is no line that can be read"):
        list(read_jsonl(file, COLUMNS, Data()))
