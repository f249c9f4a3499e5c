"""From a value to a text or to labels; what can't be one is refused."""

import json

import pytest

from seqloom.core.config.data import DataSection
from seqloom.core.problem import DataError
from seqloom.data.records import Field, Location, check_encodable, parse_labels, parse_stripped_text, parse_text
from seqloom.data.spec import Parse
from seqloom.tasks.registry import experiment

PLACE = Location("films.jsonl", 2)


def section(separator: str | None = None) -> DataSection:
    """The config of a task whose rows may have several labels."""
    data = {"train": "films.jsonl", "label_separator": separator}
    return experiment({"task": "classify", "data": data}).data


def message(parse: Parse, value: object, separator: str | None = None) -> str:
    with pytest.raises(DataError) as error:
        parse(Field(value, "text", PLACE), section(separator))
    return str(error.value)


@pytest.mark.parametrize(
    ("value", "names"),
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
def test_labels(value: str, names: tuple[str, ...]) -> None:
    assert parse_labels(Field(json.loads(value), "label", PLACE), section()) == names


@pytest.mark.parametrize(
    ("cell", "names"), [("a|b", ("a", "b")), ("x|y", ("x", "y")), ("", ()), ("x| x", ("x",)), (" z ", ("z",))]
)
def test_a_separator_splits_strings(cell: str, names: tuple[str, ...]) -> None:
    assert parse_labels(Field(cell, "label", PLACE), section("|")) == names


def test_a_label_between_separators_is_not_empty() -> None:
    do = "Fill it in, remove the line, or pass data.on_bad_line skip."
    assert message(parse_labels, "x||y", "|") == f"films.jsonl:2: one of the labels in 'x||y' is empty. {do}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("null", "null can't be a label. Write a string, a whole number, true or false, or an array of those, or pass"),
        ('{"a": 1}', "an object can't be a label. "),
        ('[["a"]]', "an array can't be a label. "),
        ("NaN", "nan can't be a label. "),
        ('""', "the label is empty. Fill it in, remove the line, or pass data.on_bad_line skip."),
        ('" "', "the label is empty. "),
        ('["a", " "]', "the label is empty. "),
    ],
)
def test_what_can_not_be_a_label_is_refused(value: str, expected: str) -> None:
    assert message(parse_labels, json.loads(value)).startswith(f"films.jsonl:2: {expected}")


@pytest.mark.parametrize("parse", [parse_text, parse_stripped_text])
@pytest.mark.parametrize(
    ("value", "kind"), [(5, "a number"), (None, "null"), (True, "true or false"), ([], "an array"), ({}, "an object")]
)
def test_a_text_is_a_string(parse: Parse, value: object, kind: str) -> None:
    do = "Put it in quotes, or pass data.on_bad_line skip."
    assert message(parse, value) == f"films.jsonl:2: 'text' is {kind}, and a text is a string. {do}"


def test_white_space_at_the_ends() -> None:
    field = Field(" a dog\u00a0", "text", PLACE)
    assert parse_text(field) == " a dog\u00a0"
    assert parse_stripped_text(field) == "a dog"


@pytest.mark.parametrize("value", ["x \ud800", ["a", "x \ud800"]])
def test_half_of_a_character_is_refused(value: object) -> None:
    with pytest.raises(DataError) as error:
        check_encodable([1, "whole", value], PLACE)
    do = "Write the character itself, or pass data.on_bad_line skip."
    assert str(error.value) == f"films.jsonl:2: \\ud800 is half of a character. {do}"
    check_encodable(["\U0001f600", ["a", None], 5], PLACE)
