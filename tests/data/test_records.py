"""Values are parsed to a text or to labels; invalid ones are refused."""

import json

import pytest

from seqloom.core.config.data import DataSection
from seqloom.core.problem import DataError
from seqloom.data.records import Field, Location, check_encodable, parse_labels, parse_stripped_text, parse_text
from seqloom.data.spec import Parse
from seqloom.tasks.registry import experiment

LOCATION = Location("films.jsonl", 2)


def section(separator: str | None = None) -> DataSection:
    """The config of a task whose rows may have several labels."""
    data = {"train": "films.jsonl", "label_separator": separator}
    return experiment({"task": "classify", "data": data}).data


def message(parse: Parse, value: object, separator: str | None = None) -> str:
    with pytest.raises(DataError) as error:
        parse(Field(value, "text", LOCATION), section(separator))
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
def test_values_are_parsed_to_labels(value: str, names: tuple[str, ...]) -> None:
    assert parse_labels(Field(json.loads(value), "label", LOCATION), section()) == names


@pytest.mark.parametrize(
    ("cell", "names"), [("a|b", ("a", "b")), ("x|y", ("x", "y")), ("", ()), ("x| x", ("x",)), (" z ", ("z",))]
)
def test_a_separator_splits_strings(cell: str, names: tuple[str, ...]) -> None:
    assert parse_labels(Field(cell, "label", LOCATION), section("|")) == names


def test_an_empty_label_between_separators_is_refused() -> None:
    advice = "Fill it in, remove the line, or pass data.on_bad_line skip."
    assert message(parse_labels, "x||y", "|") == f"films.jsonl:2: one of the labels in 'x||y' is empty. {advice}"


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
def test_a_value_that_is_no_label_is_refused(value: str, expected: str) -> None:
    assert message(parse_labels, json.loads(value)).startswith(f"films.jsonl:2: {expected}")


@pytest.mark.parametrize("parse", [parse_text, parse_stripped_text])
@pytest.mark.parametrize(
    ("value", "kind"), [(5, "a number"), (None, "null"), (True, "true or false"), ([], "an array"), ({}, "an object")]
)
def test_a_text_that_is_no_string_is_refused(parse: Parse, value: object, kind: str) -> None:
    advice = "Put it in quotes, or pass data.on_bad_line skip."
    assert message(parse, value) == f"films.jsonl:2: 'text' is {kind}, and a text is a string. {advice}"


def test_white_space_at_the_ends_is_kept_or_removed() -> None:
    field = Field(" a dog\u00a0", "text", LOCATION)
    assert parse_text(field) == " a dog\u00a0"
    assert parse_stripped_text(field) == "a dog"


@pytest.mark.parametrize("value", ["x \ud800", ["a", "x \ud800"]])
def test_a_lone_surrogate_is_refused(value: object) -> None:
    with pytest.raises(DataError) as error:
        check_encodable([1, "whole", value], LOCATION)
    advice = "Write the character itself, or pass data.on_bad_line skip."
    assert str(error.value) == f"films.jsonl:2: \\ud800 is half of a character. {advice}"
    check_encodable(["\U0001f600", ["a", None], 5], LOCATION)
