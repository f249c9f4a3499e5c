"""Columns are found by the config, by known names and by their values; then valid and invalid rows."""

import json
import tracemalloc
from pathlib import Path

import pytest

from seqloom.core.problem import ConfigError, DataError, render
from seqloom.data import columns as module
from seqloom.data.columns import Columns, read_rows
from seqloom.data.formats import FORMATS, TableData, column_key, format_of
from seqloom.data.image_store import image_path
from seqloom.data.records import Location, Record
from seqloom.data.spec import DataSpec, Role
from seqloom.data.text_io import OnBadLine, SkipBadLines, raise_error
from seqloom.tasks.registry import TASKS, experiment

SENTENCES = [f"a sentence of some length, number {number}" for number in range(20)]
PLAIN = "\n".join(f"{number % 2},{sentence!r}".replace("'", '"') for number, sentence in enumerate(SENTENCES))
WORDS = "\n".join(f"{'good' if number % 2 else 'bad'}\t{sentence}" for number, sentence in enumerate(SENTENCES))
NAMES = "\n".join(f"Abe{number}\t{'Japanese' if number % 2 else 'Portuguese'}" for number in range(20))
PAIRS = "a dog\tun chien\na cat\tun chat\n"
CAPTIONS = [("photos/1.jpg", "A dog runs ."), ("photos/1.jpg", "A brown dog ."), ("photos/2.jpg", "Two cats .")]


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def save(text: str, name: str) -> Path:
    Path(name).write_bytes(text.encode())
    return Path(name)


def section(task: str, **values: object) -> TableData:
    """The data section of a task's config."""
    data = experiment({"task": task, "data": {"train": "a file", **values}}).data
    assert isinstance(data, TableData)
    return data


def find_columns(path: Path, task: str, **values: object) -> Columns:
    data_spec = TASKS[task].data_spec
    return module.find_columns(path, format_of(path, data_spec), data_spec, section(task, **values))


def find(text: str, name: str = "a.csv", /, **values: object) -> Columns:
    """The columns of a text and its label."""
    return find_columns(save(text, name), "classify", **values)


def find_sides(text: str, task: str = "translate", /, **values: object) -> tuple[int, int, bool]:
    """The columns of a source and its target, and whether there is a header."""
    columns = find_columns(save(text, "a.tsv"), task, **values)
    return *columns.indices, columns.header


def read(path: Path, task: str, bad_lines: OnBadLine = raise_error, /, **values: object) -> list[Record]:
    """The rows of a table, with the columns that are found."""
    data_spec = TASKS[task].data_spec
    columns = find_columns(path, task, **values)
    return list(read_rows(path, format_of(path, data_spec), columns, section(task, **values), bad_lines))


def pairs(path: Path, **values: object) -> list[tuple[str, str, int]]:
    return [(*sides, location.line) for sides, location in read(path, "translate", **values)]


def message(text: str, name: str = "a.csv", task: str = "classify", /, **values: object) -> str:
    """The error of a table that is refused."""
    with pytest.raises(DataError) as error:
        read(save(text, name), task, **values)
    return str(error.value)


# A text and its label, by names and by values ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "text_column", "label", "header"),
    [
        (PLAIN, "a.csv", 1, 0, False),
        (f"label,text\n{PLAIN}", "a.csv", 1, 0, True),
        (f"Stars,Review Text\n{PLAIN}", "a.csv", 1, 0, True),
        (f"polarite,phrase_fr\n{PLAIN}", "a.csv", 1, 0, True),
        (WORDS, "a.tsv", 1, 0, False),
        (f"avis\tphrase\n{WORDS}", "a.tsv", 1, 0, True),
        (f"superb\ta film that nobody should miss, ever\n{WORDS}", "a.tsv", 1, 0, False),
        (f"topic\thow are you?\n{WORDS}\ntopic\twhat is this?", "a.tsv", 1, 0, False),
        (NAMES, "a.tsv", 0, 1, False),
        (f"name\tlanguage\n{NAMES}", "a.tsv", 0, 1, True),
        ("text,label\ngood,1", "a.csv", 0, 1, True),
        ("text,label", "a.csv", 0, 1, True),
        (",text,label\n0,a film,1\n1,the film,0\n2,a play,1", "a.csv", 1, 2, True),
        ("id,title,body,class\n1,a,bb,x\n2,c,dd,y", "a.csv", 2, 3, True),
        ("\n".join(f"{n},train,{s.replace(',', '')},{n % 3}" for n, s in enumerate(SENTENCES)), "a.csv", 2, 3, False),
    ],
)
def test_columns_are_guessed(text: str, name: str, text_column: int, label: int, header: bool) -> None:
    guess = find(text, name)
    assert (*guess.indices, guess.header) == (text_column, label, header)
    assert guess.guessed == ("text", "label", "header")


@pytest.mark.parametrize(
    ("names", "text", "label", "header", "description"),
    [
        ({}, 1, 2, True, "text: 'text', label: 'label' (guessed; data.text and data.label select other columns)"),
        ({"text": "title"}, 0, 2, True, "text: 'title', label: 'label' (guessed; data.label selects other columns)"),
        ({"text": "title", "label": "kind"}, 0, 3, True, "text: 'title', label: 'kind'"),
        (
            {"text": "1", "label": "4"},
            0,
            3,
            True,
            "text: 'title', label: 'kind' (header guessed; data.header true or data.header false sets it)",
        ),
        ({"text": "1", "label": "4", "header": False}, 0, 3, False, "text: column 1, label: column 4, no header"),
    ],
)
def test_named_columns_are_used(
    names: dict[str, object], text: int, label: int, header: bool, description: str
) -> None:
    columns = find("title,text,label,kind\na,b,c,d\n", **names)
    assert (*columns.indices, columns.header) == (text, label, header)
    assert render(columns.describe()) == description


def test_a_guess_of_no_header_is_reported() -> None:
    remark = "(header guessed; data.header true or data.header false sets it)"
    assert render(find(PLAIN, text=2, label=1).describe()) == f"text: column 2, label: column 1, no header {remark}"


def test_columns_of_the_first_file_apply_to_other_files() -> None:
    data = section("classify")
    assert find(f"label,text\n{PLAIN}").apply_to(data) == section("classify", text="text", label="label", header=True)
    assert find(PLAIN).apply_to(data) == section("classify", text="2", label="1", header=False)
    twice = find("text,text,label\na,b,c\n", text=2, label="label")
    assert twice.apply_to(data) == section("classify", text="2", label="label", header=True)


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("only\none", {}, ": there is only one column. Rewrite it"),
        ("a;b\nc;d", {}, ": there is only one column; the fields may be separated by ';'. Rewrite it"),
        (
            "\n".join(f"{n},x{n}" for n in range(9)),
            {},
            ": no column looks like a label: in each, nearly all values are di",
        ),
        (
            "review,stars\na,b",
            {"text": "reveiw"},
            ":1: no column 'reveiw' (columns: review, stars). The nearest is 'review'; name it with data.text.",
        ),
        ("review,stars\na,b", {"text": "zzz"}, ":1: no column 'zzz' (columns: review, stars). Name one of them with"),
        ("review,stars\na,b", {"label": "3"}, ": no column 3 (there are 2). Count from 1 in data.label."),
        ("review,stars\na,b", {"label": "0"}, ": no column 0 (there are 2). Count from 1 in data.label."),
        ("review,stars\na,b", {"text": "1", "label": "review"}, ": text and label are the same column ('review'). "),
        (
            "review,stars\na,b",
            {"text": "review", "header": False},
            ": data.text 'review' is a name, but the file has no",
        ),
        ("text,text,label\na,b,c", {"text": "text"}, ": several columns are called 'text'. Give a number"),
        ("text,label\na,b,c\nd,e,f", {"text": "text"}, ":1: the header has 2 fields and most rows have 3. "),
        ("\n\n", {}, ": there is no row that can be read. "),
        ('a,"b', {}, ":1: a quote opens here"),
    ],
)
def test_invalid_columns_are_refused(text: str, names: dict[str, object], expected: str) -> None:
    assert message(text, **names).startswith(f"a.csv{expected}")


def test_rows_of_another_width_are_ignored_in_a_guess() -> None:
    assert find(f"{PLAIN}\n1,2,3").names == ("1", "2")


def test_keys_of_json_are_columns() -> None:
    records = [
        {"id": n, "meta": {"long": s * 3}, "said": s, "about": ["a", "b"][n % 2]} for n, s in enumerate(SENTENCES)
    ]
    lines = "\n".join(map(json.dumps, records))
    guess = find(lines, "a.jsonl")
    assert (
        render(guess.describe())
        == "text: 'said', label: 'about' (guessed; data.text and data.label select other columns)"
    )
    assert find(lines, "a.jsonl", text="said", label="about").guessed == ()
    assert "The nearest is 'about'" in message(lines, "a.jsonl", label="abuot")
    assert message('{"text": "x"}', "a.jsonl").startswith("a.jsonl: there is only one key ('text')")
    assert message("{}", "a.jsonl").startswith("a.jsonl: the objects have no keys")


def test_with_too_many_keys_the_columns_must_be_named() -> None:
    records = [{f"key {n}": "x", "text": sentence, "label": "a"} for n, sentence in enumerate(SENTENCES * 60)]
    lines = "\n".join(map(json.dumps, records))
    expected = "a.jsonl: 1,002 different keys, too many to guess which is the text and which the label. Name both with"
    assert message(lines, "a.jsonl").startswith(expected)
    assert message(lines, "a.jsonl", text="text").startswith(expected)
    named = find(lines, "a.jsonl", text="text", label="label")
    assert [named.names[index] for index in named.indices] == ["text", "label"]


def test_objects_with_few_common_keys_need_little_memory() -> None:
    records = [{f"key {n}": "x", "said": sentence, "label": "ab"[n % 2]} for n, sentence in enumerate(SENTENCES * 49)]
    lines = "\n".join(map(json.dumps, records))
    tracemalloc.start()
    guess = find(lines, "a.jsonl")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [guess.names[index] for index in guess.indices] == ["said", "label"]
    assert peak < 4_000_000  # one reference for each of 980 × 982 cells would take 7.7 MB


# A source and its target, by names and by position -----------------------------------------------------------------


def test_the_first_two_columns_are_the_default() -> None:
    assert find_sides(PAIRS) == (0, 1, False)
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
def test_a_header_is_recognized_by_known_names(first: str, sides: tuple[int, int]) -> None:
    row = "\t".join(["a dog sits", "un chien", "x"][: first.count("\t") + 1])
    assert find_sides(f"{first}\n{row}\n{row}\n") == (*sides, True)


@pytest.mark.parametrize("first", ["to\tzu", "go to bed\tgeh ins Bett", "a\tb", "en\tThe", "from here\tto there"])
def test_ordinary_words_are_no_header(first: str) -> None:
    assert find_sides(f"{first}\n{PAIRS}") == (0, 1, False)


@pytest.mark.parametrize("first", ["it\tes", "He\tEl", "is\tes"])
def test_language_codes_that_are_words_are_no_header_of_a_dictionary(first: str) -> None:
    assert find_sides(f"{first}\nhouse\tHaus\nto go\tgehen\n") == (0, 1, False)
    assert find_sides(f"{first}\n") == (0, 1, False)
    assert find_sides(f"{first}\n" + "the dog runs home\tel perro corre\n" * 2) == (0, 1, True)
    assert find_sides("en\tit\nhouse\tcasa\n") == (0, 1, True)


def test_a_guessed_header_is_reported() -> None:
    def describe(text: str, **values: object) -> str:
        return render(find_columns(save(text, "a.tsv"), "translate", **values).describe())

    guessed = "source: 'en', target: 'de' (header guessed; data.header true or data.header false sets it"
    assert describe(f"en\tde\n{PAIRS}", source=1, target=2) == f"{guessed})"
    others = "data.source and data.target select other columns"
    assert describe(f"en\tde\n{PAIRS}") == f"{guessed}; {others})"
    assert describe(f"en\tde\n{PAIRS}", header=True) == f"source: 'en', target: 'de' ({others})"
    assert describe(f"en\tde\n{PAIRS}", source="en") == f"source: 'en', target: 'de' ({others})"
    assert describe(PAIRS) == f"source: column 1, target: column 2, no header ({others})"


def test_names_that_are_repeated_in_rows_are_values() -> None:
    assert find_sides("en\tde\n" * 3) == (0, 1, False)


def test_the_config_overrides_a_guess() -> None:
    three = "x\ty\tz\n" * 3
    assert find_sides(three, source=3, target=1) == (2, 0, False)
    assert find_sides(three, source=2) == (1, 0, False)
    assert find_sides(three, target=1) == (1, 0, False)
    assert find_sides(three, source=3) == (2, 1, False)
    assert find_sides(three, source="z", target="x") == (2, 0, True)
    assert find_sides(three, header=True) == (0, 1, True)
    assert find_sides("en\tde\n" + PAIRS, header=False) == (0, 1, False)
    assert find_sides("id\ten\tde\nx\ty\tz\n", target="en") == (2, 1, True)


def test_images_and_captions_have_their_own_column_names() -> None:
    assert find_sides("caption\timage\na dog\t1.jpg\n", "caption") == (1, 0, True)
    assert render(find_columns(Path("a.tsv"), "caption").describe()) == (
        "image: 'image', caption: 'caption' (header guessed; data.header true or data.header false sets it; "
        "data.source and data.target select other columns)"
    )


def test_found_sides_apply_to_the_config() -> None:
    data = section("translate")
    first = find_columns(save("id\ten\tde\n" + "1\tx\ty\n" * 3, "a.tsv"), "translate").apply_to(data)
    assert first == section("translate", source="en", target="de", header=True)
    columns = find_columns(save(PAIRS, "b.tsv"), "translate", source="2", target="1")
    assert render(columns.describe()) == "source: column 2, target: column 1, no header"


def test_files_without_two_sides_are_refused() -> None:
    advice = "Rewrite it with commas (.csv) or tabs (.tsv) between a source and its target."
    assert message("alone\nalone\n", "a.tsv", "translate") == f"a.tsv: there is only one column. {advice}"
    advice = "Name a file with a source and its target in each row."
    assert message("source\ttarget\n", "a.tsv", "translate") == f"a.tsv: there is no row that can be read. {advice}"
    record = '{"a": "b"}\n'
    message_text = "a.jsonl: there is only one key ('a'). Give each object"
    assert message(record, "a.jsonl", "translate") == f"{message_text} a source and its target."
    assert message(record, "a.jsonl", "caption") == f"{message_text} an image and its caption."
    assert message(record, "a.jsonl") == f"{message_text} a text and its label."


def test_the_same_column_twice_is_refused() -> None:
    assert message(PAIRS, "a.tsv", "translate", source=1, target="1") == (
        "a.tsv: source and target are the same column ('1'). Name two with data.source and data.target."
    )
    assert message(PAIRS, "a.tsv", "translate", source=3) == (
        "a.tsv: no column 3 (there are 2). Count from 1 in data.source."
    )
    assert "The nearest is 'target'" in message("source\ttarget\na\tb\n", "a.tsv", "translate", target="taget")


# The values of rows --------------------------------------------------------------------------------------------------


def labeled(header: bool = False) -> Columns:
    """A text, then its label."""
    names = ("text", "label") if header else ("1", "2")
    return Columns(TASKS["classify"].data_spec.roles, (0, 1), header, names, ())


def read_or_skip(text: str, name: str, columns: Columns, **values: object) -> tuple[list[Record], list[str]]:
    """The rows when bad ones are skipped, and the errors; refusing raises the first of them."""
    path, data, skipped = save(text, name), section("classify", **values), SkipBadLines()
    form = format_of(path, TASKS["classify"].data_spec)
    rows = list(read_rows(path, form, columns, data, skipped))
    if skipped.count:
        with pytest.raises(DataError) as error:
            list(read_rows(path, form, columns, data))
        assert str(error.value) == str(skipped.errors[0])
    return rows, [str(error).removeprefix(name) for error in skipped.errors]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("b", "1 field, expected 2 (text, label). Put quotes around"),
        ("b,0,c", "3 fields, expected 2 (text, label). Put quotes around"),
        ("b,", "the label is empty. "),
        ("b, ", "the label is empty. "),
        ('"b",""', "the label is empty. "),
    ],
)
def test_a_bad_row_is_refused_or_skipped(row: str, expected: str) -> None:
    rows, errors = read_or_skip(f"a,1\n{row}\nc,1\n", "a.csv", labeled())
    assert [text for (text, _), _ in rows] == ["a", "c"]
    assert len(errors) == 1
    assert errors[0].startswith(f":2: {expected}")
    assert "or pass data.on_bad_line skip" in errors[0]


def test_rows_have_the_line_on_which_they_begin() -> None:
    rows, errors = read_or_skip('good,1\n\n"very,\n\n""bad""",0\r\nfine,1', "a.csv", labeled())
    assert not errors
    assert rows == [
        Record(("good", ("1",)), Location("a.csv", 1)),
        Record(('very,\n\n"bad"', ("0",)), Location("a.csv", 3)),
        Record(("fine", ("1",)), Location("a.csv", 6)),
    ]


def test_a_lone_carriage_return_ends_a_line() -> None:
    r"""It ends a line like \n and \r\n, as in Python's text mode; in quotes it is a line end of the text."""
    text = 'fine,a\r\nbro\rken,b\r\n"in\rside",c\r\ngood,d\r\nbad\r\n'
    rows, errors = read_or_skip(text, "a.csv", labeled())
    assert rows == [
        Record(("fine", ("a",)), Location("a.csv", 1)),
        Record(("ken", ("b",)), Location("a.csv", 3)),
        Record(("in\nside", ("c",)), Location("a.csv", 4)),
        Record(("good", ("d",)), Location("a.csv", 6)),
    ]
    assert [error.partition(" (")[0] for error in errors] == [":2: 1 field, expected 2", ":7: 1 field, expected 2"]


def test_an_empty_text_is_read() -> None:
    assert read_or_skip(",1\n", "a.csv", labeled()) == ([Record(("", ("1",)), Location("a.csv", 1))], [])


def test_a_row_may_have_several_labels() -> None:
    rows, errors = read_or_skip("a,x|y\nb,\nc,x| x\nd,x||y\ne, z \n", "a.csv", labeled(), label_separator="|")
    assert [labels for (_, labels), _ in rows] == [("x", "y"), (), ("x",), ("z",)]
    assert errors == [
        ":4: one of the labels in 'x||y' is empty. Fill it in, remove the line, or pass data.on_bad_line skip."
    ]


def test_a_header_is_no_row() -> None:
    path, data = save("text,label\n", "a.csv"), section("classify")
    with pytest.raises(DataError, match="there is no row that can be read"):
        list(read_rows(path, FORMATS["csv"], labeled(header=True), data))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            '{"text": "x", "label": 1',
            "not valid JSON (expecting ',' delimiter, column 25). Write one JSON object per line",
        ),
        ("[1]", "an array, not a JSON object such as"),
        ('{"text": "x"}', "no key 'label' (it has 'text'). Add it, or pass data.on_bad_line skip."),
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
def test_a_bad_object_is_refused_or_skipped(line: str, expected: str) -> None:
    good = '{"text": "a", "label": 1}'
    rows, errors = read_or_skip(f"{good}\n{line}\n{good}\n", "a.jsonl", labeled(header=True))
    assert [(values, location.line) for values, location in rows] == [(("a", ("1",)), 1), (("a", ("1",)), 3)]
    assert len(errors) == 1
    assert errors[0].startswith(f":2: {expected}")


def test_labels_and_separators_of_objects() -> None:
    rows, errors = read_or_skip('{"label": ["a", 1], "text": ""}\n', "a.jsonl", labeled(header=True))
    assert (rows, errors) == ([Record(("", ("a", "1")), Location("a.jsonl", 1))], [])
    text = '{"text": "", "label": "a|b"}\n'
    rows, _ = read_or_skip(text, "a.jsonl", labeled(header=True), label_separator="|")
    assert [labels for (_, labels), _ in rows] == [("a", "b")]


def test_a_file_without_rows_is_refused() -> None:
    path, data = save("\n\n", "a.jsonl"), section("classify")
    with pytest.raises(DataError, match="there is no line that can be read"):
        list(read_rows(path, FORMATS["jsonl"], labeled(header=True), data))
    assert message("\n\n", "a.jsonl").startswith("a.jsonl: there is no line that can be read")


def test_csv_and_jsonl_have_two_sides() -> None:
    assert pairs(save('source,target\n"a, b","c\nd"\n', "a.csv")) == [("a, b", "c\nd", 2)]
    records = [{"id": n, "de": f"{n} de", "en": f"{n} en"} for n in range(3)]
    path = save("".join(json.dumps(record) + "\n" for record in records), "a.jsonl")
    assert pairs(path, source="en", target="de") == [(f"{n} en", f"{n} de", n + 1) for n in range(3)]
    assert pairs(path)[0] == ("0 de", "0 en", 1)


def test_white_space_at_the_ends_of_a_side_is_removed() -> None:
    assert pairs(save(" a dog \t\u00a0un chien\n", "a.tsv")) == [("a dog", "un chien", 1)]


def test_a_row_with_too_many_or_too_few_fields_is_refused() -> None:
    assert message(PAIRS + "one\ttwo\tthree\n", "a.tsv", "translate") == (
        "a.tsv:3: 3 fields, expected 2 (source, tab, target). Remove a tab, or pass data.on_bad_line skip."
    )
    assert message(PAIRS + "alone\n", "a.tsv", "translate") == (
        "a.tsv:3: 1 field, expected 2 (source, tab, target). "
        "Add the tab that is missing, or pass data.on_bad_line skip."
    )
    assert message("a,b\nc,d\ne,f,g\n", "a.csv", "translate").startswith(
        "a.csv:3: 3 fields, expected 2 (source, comma, target). Put quotes"
    )
    skipped = SkipBadLines()
    path = save(PAIRS + "one\ttwo\tthree\nx\t\n", "a.tsv")
    assert len(read(path, "translate", skipped, on_bad_line="skip")) == 2
    assert skipped.count == 2


@pytest.mark.parametrize(
    ("row", "which"),
    [("\tx", "the source is"), ("x\t ", "the target is"), (" \t", "the source and the target are")],
)
def test_an_empty_side_is_refused(row: str, which: str) -> None:
    expected = f"a.tsv:3: {which} empty. Fill it in, remove the line, or pass data.on_bad_line skip."
    assert message(f"{PAIRS}{row}\n", "a.tsv", "translate") == expected


def test_json_objects_without_two_sides_are_refused() -> None:
    good = '{"source": "a", "target": "b"}\n'
    assert message(good + '{"source": "a"}\n', "a.jsonl", "translate").startswith("a.jsonl:2: no key 'target'")
    assert "'target' is an array" in message(good + '{"source": "a", "target": []}\n', "a.jsonl", "translate")
    assert "half of a character" in message(good + '{"source": "\\ud800", "target": "b"}\n', "a.jsonl", "translate")


def test_the_first_rows_leave_out_bad_ones() -> None:
    for text, name in (
        ("source\ttarget\none\tun\n\tdeux\nthree\ttrois\n", "a.tsv"),
        ('{"source": "one", "target": "un"}\n{"source": 2}\n{"source": "three", "target": "trois"}\n', "a.jsonl"),
    ):
        path, data_spec = save(text, name), TASKS["translate"].data_spec
        first = find_columns(path, "translate", on_bad_line="skip").examples(
            format_of(path, data_spec), section("translate")
        )
        assert [values for values, _ in first] == [("one", "un"), ("three", "trois")]


# Images and captions -------------------------------------------------------------------------------------------------


def captions(path: Path, on_bad_line: OnBadLine = raise_error, **values: object) -> list[tuple[str, str]]:
    return [(image, caption) for (image, caption), _ in read(path, "caption", on_bad_line, **values)]


def test_every_format_holds_the_same_captions() -> None:
    tsv = "".join(f"{image}\t{caption}\n" for image, caption in CAPTIONS)
    assert captions(save(tsv, "a.tsv")) == CAPTIONS
    csv = "image,caption\n" + "".join(f'{image},"{caption}"\n' for image, caption in CAPTIONS)
    assert captions(save(csv, "a.csv")) == CAPTIONS
    jsonl = "".join(json.dumps({"caption": caption, "image": image}) + "\n" for image, caption in CAPTIONS)
    assert captions(save(jsonl, "a.jsonl")) == CAPTIONS


def test_columns_of_captions_can_be_named() -> None:
    text = "what\tid\twhere\n" + "".join(f"{caption}\t7\t{image}\n" for image, caption in CAPTIONS)
    assert captions(save(text, "a.tsv"), source="where", target="what") == CAPTIONS
    assert captions(save(text.split("\n", 1)[1], "a.tsv"), source="3", target="1") == CAPTIONS


def test_an_image_path_is_relative_to_its_table(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("./photos/1.jpg\tA dog .\n")
    [first] = read(path, "caption")
    assert first == Record(("photos/1.jpg", "A dog ."), Location(str(path), 1))
    assert image_path(first.values[0], first.location) == tmp_path / "photos" / "1.jpg"
    assert image_path("/else/1.jpg", first.location) == Path("/else/1.jpg")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("\tA dog .", ":2: the image is empty. "),
        ("1.jpg\t ", ":2: the caption is empty. "),
        ("1.jpg\tA dog .\tIt runs .", ":2: 3 fields, expected 2 (image, tab, caption). "),
        ("1.jpg", ":2: 1 field, expected 2 (image, tab, caption). "),
    ],
)
def test_a_row_without_an_image_or_a_caption_is_refused_or_skipped(line: str, expected: str) -> None:
    text = f"0.jpg\tA cat .\n{line}\n2.jpg\tA cow .\n"
    assert message(text, "a.tsv", "caption").startswith(f"a.tsv{expected}")
    skipped = SkipBadLines()
    assert [image for image, _ in captions(Path("a.tsv"), skipped)] == ["0.jpg", "2.jpg"]
    assert skipped.count == 1


class ThreeColumns(TableData):
    """Column keys that no task has."""

    first: str | None = column_key("The first.")
    second: str | None = column_key("The second.")
    third: str | None = column_key("The third.")


def test_only_roles_of_the_same_column_are_named() -> None:
    roles = tuple(Role(name, name) for name in ("first", "second", "third"))
    data_spec, path = DataSpec("three", "tables", ("table",), roles), save("a,b,c\n" * 3, "three.csv")
    sentence = r"second and third are the same column \('2'\)\. Name two with data\.second and data\.third\.$"
    with pytest.raises(DataError, match=sentence):
        module.find_columns(path, FORMATS["csv"], data_spec, ThreeColumns(first="1", second="2", third="2"))


def test_a_header_is_recognized_by_the_names_of_the_roles() -> None:
    roles = Role("essay", "first", ("essay",), guess="text"), Role("grade", "second", ("grade",), guess="label")
    texts = [sentence.replace(",", "") for sentence in SENTENCES]
    rows = "".join(f"{text},{number % 3}\n" for number, text in enumerate(texts))
    data_spec, path = DataSpec("grade", "tables", ("table",), roles), save(f"essay,grade\n{rows}", "essays.csv")
    columns = module.find_columns(path, FORMATS["csv"], data_spec, ThreeColumns())
    assert (columns.header, columns.indices) == (True, (0, 1))


def test_a_format_with_names_in_each_record_has_no_header() -> None:
    with pytest.raises(ConfigError, match=r"data\.header has no effect with data\.format jsonl"):
        section("classify", format="jsonl", header=True)
