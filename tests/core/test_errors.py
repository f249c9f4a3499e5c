import pytest

from seqloom.core.problem import (
    ArgumentError,
    CannotStep,
    MissingMemory,
    SeqloomError,
    UnavailableBackend,
    UnknownName,
)


def test_an_argument_error_says_where_what_came_and_what_was_expected() -> None:
    error = ArgumentError("Recurrent", "x", "width 5", "width 3")
    assert str(error) == "Recurrent: x has width 5; expected width 3."
    assert error.argument == "x"


def test_a_question_ends_with_its_own_mark() -> None:
    error = ArgumentError("Recurrent", "state", "no tensors", "['hidden']: is it the state of another layer?")
    assert str(error).endswith("is it the state of another layer?")


def test_an_unknown_name_is_shown_without_quotes() -> None:
    assert str(UnknownName("unknown cell 'lsmt'.")) == "unknown cell 'lsmt'."


@pytest.mark.parametrize(
    ("ours", "pythons"),
    [
        (ArgumentError, ValueError),
        (UnknownName, KeyError),
        (CannotStep, TypeError),
        (MissingMemory, TypeError),
        (UnavailableBackend, RuntimeError),
    ],
)
def test_each_is_ours_and_of_a_kind_that_python_knows(ours: type[Exception], pythons: type[Exception]) -> None:
    assert issubclass(ours, SeqloomError)
    assert issubclass(ours, pythons)
