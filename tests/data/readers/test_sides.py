"""Two columns of a table: found by number, by name or by place; what lacks a side is a sentence."""

import json
from pathlib import Path

import pytest

from seqloom.data.lines import Skipped
from seqloom.data.readers.sides import CAPTION, TRANSLATION, Roles, find_sides, read_sides
from seqloom.spec.config.data import Data
from seqloom.spec.errors import DataError

ROWS = "a dog\tun chien\na cat\tun chat\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def saved(text: str, name: str = "a.tsv") -> Path:
    Path(name).write_text(text)
    return Path(name)


def found(text: str, roles: Roles = TRANSLATION, **data: object) -> tuple[int, int, bool]:
    sides = find_sides(saved(text), "tsv", Data.model_validate(data), roles)
    return sides.source, sides.target, sides.header


def pairs(path: Path, form: str = "tsv", **data: object) -> list[tuple[str, str, int]]:
    read = read_sides(path, form, Data.model_validate(data))  # type: ignore[arg-type]
    return [(source, target, place.line) for source, target, place in read]


def sentence(text: str, name: str = "a.tsv", form: str = "tsv", **data: object) -> str:
    with pytest.raises(DataError) as error:
        pairs(saved(text, name), form, **data)
    return str(error.value)


def test_unless_said_the_first_two_columns() -> None:
    assert found(ROWS) == (0, 1, False)
    assert pairs(Path("a.tsv")) == [("a dog", "un chien", 1), ("a cat", "un chat", 2)]


@pytest.mark.parametrize(
    ("first", "sides"),
    [
        ("source\ttarget", (0, 1)),
        ("tgt\tsrc", (1, 0)),
        ("en\tde", (0, 1)),
        ("de\ten", (0, 1)),
        ("French\tsource", (1, 0)),
        ("id\tEnglish\tGerman", (1, 2)),
        ("from_en\tto_fr", (0, 1)),
        ("output\tid\tinput", (2, 0)),
        ("en-GB\tpt_BR", (0, 1)),
    ],
)
def test_a_header_is_known_by_its_names(first: str, sides: tuple[int, int]) -> None:
    row = "\t".join(["a dog sits", "un chien", "x"][: first.count("\t") + 1])
    assert found(f"{first}\n{row}\n{row}\n") == (*sides, True)


@pytest.mark.parametrize("first", ["to\tzu", "go to bed\tgeh ins Bett", "a\tb", "en\tThe", "from here\tto there"])
def test_words_are_no_header(first: str) -> None:
    assert found(f"{first}\n{ROWS}") == (0, 1, False)


@pytest.mark.parametrize("first", ["it\tes", "He\tEl", "is\tes"])
def test_codes_that_are_words_name_no_columns_of_a_dictionary(first: str) -> None:
    assert found(f"{first}\nhouse\tHaus\nto go\tgehen\n") == (0, 1, False)
    assert found(f"{first}\n") == (0, 1, False)
    assert found(f"{first}\n" + "the dog runs home\tel perro corre\n" * 2) == (0, 1, True)
    assert found("en\tit\nhouse\tcasa\n") == (0, 1, True)


def test_a_header_that_is_guessed_says_so() -> None:
    def said(text: str, **data: object) -> str:
        return find_sides(saved(text), "tsv", Data.model_validate(data)).describe()

    guessed = "source: 'en', target: 'de' (header guessed; --data.header and --no-data.header say"
    assert said(f"en\tde\n{ROWS}", source=1, target=2) == f"{guessed})"
    assert said(f"en\tde\n{ROWS}").startswith(f"{guessed}; ")
    assert "guessed" not in said(f"en\tde\n{ROWS}", header=True)
    assert "guessed" not in said(f"en\tde\n{ROWS}", source="en")
    assert "guessed" not in said(ROWS)


def test_names_that_stand_below_too_are_values() -> None:
    assert found("en\tde\n" * 3) == (0, 1, False)


def test_a_person_has_the_last_word() -> None:
    three = "x\ty\tz\n" * 3
    assert found(three, source=3, target=1) == (2, 0, False)
    assert found(three, source=2) == (1, 0, False)
    assert found(three, target=1) == (1, 0, False)
    assert found(three, source=3) == (2, 1, False)
    assert found(three, source="z", target="x") == (2, 0, True)
    assert found(three, header=True) == (0, 1, True)
    assert found("en\tde\n" + ROWS, header=False) == (0, 1, False)
    assert found("id\ten\tde\nx\ty\tz\n", target="en") == (2, 1, True)


def test_images_and_captions_have_other_names() -> None:
    assert found("caption\timage\na dog\t1.jpg\n", CAPTION) == (1, 0, True)
    sides = find_sides(Path("a.tsv"), "tsv", Data(), CAPTION)
    assert sides.describe() == (
        "image: 'image', caption: 'caption' (header guessed; --data.header and --no-data.header say; "
        "--data.source and --data.target name others)"
    )


def test_what_was_found_can_be_said() -> None:
    said = find_sides(saved("id\ten\tde\n" + "1\tx\ty\n" * 3), "tsv", Data()).said_in(Data())
    assert (said.source, said.target) == ("en", "de")
    sides = find_sides(saved(ROWS), "tsv", said.model_copy(update={"source": "2", "target": "1"}))
    assert sides.describe() == "source: column 2, target: column 1, no header"


def test_csv_and_jsonl() -> None:
    assert pairs(saved('source,target\n"a, b","c\nd"\n', "a.csv"), "csv") == [("a, b", "c\nd", 2)]
    records = [{"id": n, "de": f"{n} de", "en": f"{n} en"} for n in range(3)]
    path = saved("".join(json.dumps(record) + "\n" for record in records), "a.jsonl")
    assert pairs(path, "jsonl", source="en", target="de") == [(f"{n} en", f"{n} de", n + 1) for n in range(3)]
    assert pairs(path, "jsonl")[0] == ("0 de", "0 en", 1)


def test_white_space_at_the_ends_is_no_part_of_a_side() -> None:
    assert pairs(saved(" a dog \t\u00a0un chien\n")) == [("a dog", "un chien", 1)]


def test_a_field_too_many_or_too_few() -> None:
    assert sentence(ROWS + "one\ttwo\tthree\n") == (
        "a.tsv:3: 3 fields, expected 2 (source, tab, target). Remove a tab, or pass --data.on-bad-line skip."
    )
    assert sentence(ROWS + "alone\n") == (
        "a.tsv:3: 1 field, expected 2 (source, tab, target). "
        "Add the tab that is missing, or pass --data.on-bad-line skip."
    )
    assert sentence("a,b\nc,d\ne,f,g\n", "a.csv", "csv").startswith("a.csv:3: 3 fields, expected 2 (source, comma, ")
    bad = Skipped()
    read = read_sides(saved(ROWS + "one\ttwo\tthree\nx\t\n"), "tsv", Data(on_bad_line="skip"), bad)
    assert len(list(read)) == 2
    assert bad.count == 2


@pytest.mark.parametrize(
    ("row", "which"), [("\tx", "the source is"), ("x\t ", "the target is"), (" \t", "both sides are")]
)
def test_an_empty_side(row: str, which: str) -> None:
    said = f"a.tsv:3: {which} empty. Fill it in, remove the line, or pass --data.on-bad-line skip."
    assert sentence(f"{ROWS}{row}\n") == said


def test_files_without_pairs() -> None:
    assert sentence("alone\nalone\n").startswith("a.tsv: there is only one column.")
    assert sentence("source\ttarget\n").startswith("a.tsv: there is no row that can be read.")
    assert sentence('{"a": "b"}\n', "a.jsonl", "jsonl").endswith("Give each object a source and its target.")
    with pytest.raises(DataError, match="Give each object an image and its caption"):
        find_sides(Path("a.jsonl"), "jsonl", Data(), CAPTION)


def test_the_same_column_twice() -> None:
    assert sentence(ROWS, source=1, target="1").startswith("a.tsv: source and target are the same column ('1').")
    assert sentence(ROWS, source=3) == "a.tsv: no column 3 (there are 2). Count from 1 in --data.source."
    assert "The nearest is 'target'" in sentence("source\ttarget\na\tb\n", target="taget")


def test_json_that_is_no_pair() -> None:
    good = '{"source": "a", "target": "b"}\n'
    assert sentence(good + '{"source": "a"}\n', "a.jsonl", "jsonl").startswith("a.jsonl:2: no key 'target'")
    assert "'target' is an array" in sentence(good + '{"source": "a", "target": []}\n', "a.jsonl", "jsonl")
    assert "half of a character" in sentence(good + '{"source": "\\ud800", "target": "b"}\n', "a.jsonl", "jsonl")
