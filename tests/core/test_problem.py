"""A problem as data and as a message: keys are named for the reader, control characters are escaped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.problem import (
    ArgumentError,
    CannotStep,
    ConfigError,
    DataError,
    KeyName,
    MissingMemory,
    Problem,
    RunError,
    SeqloomError,
    TextError,
    UnavailableBackend,
    UnknownName,
    as_key,
    conflict,
    end_sentence,
    format_keys,
    format_problem,
    render,
)


def in_capitals(dotted: str, value: str | None) -> str:
    return f"<{dotted.upper()}>" if value is None else f"<{dotted.upper()}={value}>"


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (Problem("a", "it is empty"), "it is empty."),
        (Problem("a", "it is empty", "Name another"), "it is empty. Name another."),
        (Problem("a", "it is empty", "Name another", "a.csv"), "a.csv: it is empty. Name another."),
        (Problem("a", "unknown key", "Did you mean lr?"), "unknown key. Did you mean lr?"),
        (
            Problem("a", "unknown", "Did you mean lr? (--help lists all)"),
            "unknown. Did you mean lr? (--help lists all)",
        ),
        (Problem("a", "unknown key", "(--help lists all)"), "unknown key. (--help lists all)"),
        (Problem("a", "it goes on …"), "it goes on …"),
    ],
)
def test_a_problem_is_formatted_as_a_message(problem: Problem, sentence: str) -> None:
    assert format_problem(problem) == sentence


@pytest.mark.parametrize(
    ("key", "by_default", "formatted"),
    [
        (KeyName("train.lr"), "train.lr", "<TRAIN.LR>"),
        (KeyName("data.on_bad_line", "skip"), "data.on_bad_line skip", "<DATA.ON_BAD_LINE=skip>"),
        (KeyName("train.carry_state", False), "train.carry_state false", "<TRAIN.CARRY_STATE=false>"),
        (KeyName("decode.beam_size", 4), "decode.beam_size 4", "<DECODE.BEAM_SIZE=4>"),
        (KeyName("out", "another/folder"), "out='another/folder'", "<OUT=another/folder>"),
    ],
)
def test_a_key_is_named_by_the_formatter(key: KeyName, by_default: str, formatted: str) -> None:
    problem = Problem("a", f"{key} is wrong", f"Leave out {key}", f"{key}.csv")
    assert format_problem(problem) == f"{by_default}.csv: {by_default} is wrong. Leave out {by_default}."
    assert format_problem(problem, in_capitals) == f"{formatted}.csv: {formatted} is wrong. Leave out {formatted}."


def test_an_error_names_keys_by_its_formatter() -> None:
    error = ConfigError.of(conflict("train.lr", f"{KeyName('train.lr')} is wrong"))
    assert (str(error), error.problem.key, error.format_key) == ("train.lr is wrong.", "train.lr", None)
    error.format_key = in_capitals
    assert str(error) == "<TRAIN.LR> is wrong."


@pytest.mark.parametrize("kind", [ConfigError, DataError, RunError, TextError])
def test_an_error_is_made_of_a_problem(kind: type[ConfigError]) -> None:
    problem = Problem("a", "it is empty", "Name another", "a.csv", values={"rows": 0})
    assert kind.of(problem).problem == problem
    assert isinstance(kind.of(problem), kind)


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b[2J",
        "\x9b31m",
        "two\nlines",
        "back\rover",
        "\u202etxt.exe",
        "\u2066x",
        "\u200e",
        "\x07",
        "\x00",
        "\ud800",
        "\u2028",
    ],
)
def test_control_characters_are_escaped(hostile: str) -> None:
    sentence = str(DataError(f"{hostile}.csv:3", f"label {hostile}", f"Remove {hostile}", code="a"))
    assert sentence.isprintable()
    assert sentence.count("\\") == 3
    assert format_keys(hostile) == hostile  # programs read it unescaped


@given(st.text())
def test_every_text_can_be_rendered(text: str) -> None:
    rendered = render(text)
    assert not any(character in rendered for character in "\n\r\x1b\u202e")
    assert rendered.encode().decode() == rendered
    if text.isprintable() and text.isascii():
        assert rendered == text


def test_a_text_is_never_taken_for_a_key() -> None:
    """The marks around a key's name are noncharacters, which are escaped where they come from a text."""
    assert render("\ufdd0x") == "\\ufdd0x"


def test_a_sentence_gets_a_full_stop_and_a_key_its_value() -> None:
    assert [end_sentence(text) for text in ("", "a", "a.", "a?", "a? (b)", "a (b)")] == [
        "",
        "a.",
        "a.",
        "a?",
        "a? (b)",
        "a (b).",
    ]
    assert as_key("train.lr", "1") == "train.lr 1"


def test_an_argument_error_has_the_actual_and_the_expected_value() -> None:
    error = ArgumentError("Recurrent", "x", "width 5", "width 3")
    assert str(error) == "Recurrent: x has width 5; expected width 3."
    assert error.argument == "x"


def test_a_question_gets_no_full_stop() -> None:
    error = ArgumentError("Recurrent", "state", "no tensors", "['hidden']: is it the state of another layer?")
    assert str(error).endswith("is it the state of another layer?")


def test_an_unknown_name_is_shown_without_quotes() -> None:
    assert str(UnknownName("unknown cell 'lsmt'.")) == "unknown cell 'lsmt'."


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (ArgumentError, ValueError),
        (UnknownName, KeyError),
        (CannotStep, TypeError),
        (MissingMemory, TypeError),
        (UnavailableBackend, RuntimeError),
    ],
)
def test_an_error_is_also_a_builtin_error(error: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(error, SeqloomError)
    assert issubclass(error, builtin)
