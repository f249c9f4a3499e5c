"""Each event is one line of valid JSON, whatever its numbers."""

import json
import math

import pytest

from seqloom.training.events import Event, Sample, Skip, Start, Step, Stop, Valid, jsonable


def test_a_line_has_the_name_and_the_fields_of_its_event() -> None:
    event_line = json.loads(Start(0, "2026-01-31T12:00:00+00:00", "2 CPU cores", 412, 90, "chrf", 0.5).to_json())
    assert event_line == {
        "event": "start",
        "step": 0,
        "time": "2026-01-31T12:00:00+00:00",
        "device": "2 CPU cores",
        "parameters": 412,
        "steps": 90,
        "chosen_by": "chrf",
        "loss_margin": 0.5,
    }


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (Step(3, 0.5, 1.0, 0.1, 2.0, 0.0, 9, 1.0), "step"),
        (Valid(3, 0.5, {"loss": 1.0}, True), "valid"),
        (Stop(3, "SIGTERM"), "stop"),
    ],
)
def test_event_names_are_those_of_the_log(event: Event, name: str) -> None:
    assert event.name == name


def parse_strictly(line: str) -> object:
    """Parse JSON and refuse NaN, as parsers in other languages do."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    return json.loads(line, parse_constant=refuse)


@pytest.mark.parametrize(("value", "word"), [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")])
def test_a_number_that_is_not_finite_is_a_string(value: float, word: str) -> None:
    assert parse_strictly(Skip(1, "loss", value).to_json()) == {
        "event": "skip",
        "step": 1,
        "what": "loss",
        "value": word,
    }
    assert parse_strictly(json.dumps(jsonable({"a": [{"b": value}, (value, 1)], "c": value}))) == {
        "a": [{"b": word}, [word, 1]],
        "c": word,
    }


def test_a_sample_with_line_breaks_is_one_line() -> None:
    line = Sample(1, "a\nb", "é\u2028\r\n\U0001f600").to_json()
    assert "\n" not in line
    assert parse_strictly(line) == {"event": "sample", "step": 1, "prompt": "a\nb", "text": "é\u2028\r\n\U0001f600"}
