"""Errors that one sentence explains: what is wrong, where, what to do. Each carries that as data, its `problem`."""

from collections.abc import Mapping
from typing import ClassVar, Self

from seqloom.spec.problem import Naming, Problem, as_key, format_problem, rendered


class SeqloomError(Exception):
    """An error that seqloom raises on purpose; its text is one sentence.

    >>> error = UserError("reviews.csv is empty", "Name another file", code="empty-file")
    >>> str(error), error.problem.code
    ('reviews.csv is empty. Name another file.', 'empty-file')
    """

    default_code: ClassVar[str] = "error"
    template: Problem
    """What is wrong, with config keys that are still to be named as the reader does."""
    naming: Naming | None = None
    """What the reader calls a config key, if who shows the error says so."""

    def __init__(
        self,
        message: str,
        advice: str = "",
        *,
        code: str | None = None,
        location: object = "",
        key: str | None = None,
        values: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(rendered(message))
        self.template = Problem(code or self.default_code, message, advice, str(location), key, values or {})

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """The error of a problem.

        >>> str(ConfigError.of(Problem("unknown-key", "unknown key train.learning_rat", "Did you mean train.lr?")))
        'unknown key train.learning_rat. Did you mean train.lr?'
        """
        error = cls.__new__(cls)
        SeqloomError.__init__(error, problem.message)
        error.template = problem
        return error

    @property
    def problem(self) -> Problem:
        """What is wrong, as data: a program reads this, and not the sentence."""
        return self.template.rendered()

    def __str__(self) -> str:
        return format_problem(self.template, self.naming or as_key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class UserError(SeqloomError, ValueError):
    """Invalid input: a file, an option, a folder. The command line ends with exit code 2."""

    default_code = "invalid-input"


class DataError(UserError):
    """Something in a file that can't be used. Problems of one kind have one code, by which a check groups them.

    >>> str(DataError("train.tsv:7366", "3 fields, expected 2", "Remove the tab", code="field-count"))
    'train.tsv:7366: 3 fields, expected 2. Remove the tab.'
    """

    def __init__(
        self,
        location: object,
        message: str,
        advice: str,
        *,
        code: str,
        values: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message, advice, code=code, location=location, values=values)


class TextError(DataError):
    """A text among several that can't be used; `number` says which, from 1.

    >>> str(TextError(2, "no word that the model knows", "Give another", code="unknown-words"))
    'text 2: no word that the model knows. Give another.'
    """

    def __init__(self, number: int, message: str, advice: str, *, code: str) -> None:
        super().__init__(f"text {number}", message, advice, code=code)
        self.number = number

    def after(self, others: int) -> "TextError":
        """The same, where so many texts came before."""
        problem = self.template
        return TextError(others + self.number, problem.message, problem.advice, code=problem.code)


class ConfigError(UserError):
    """A config key that does not exist, or a value that it can't have."""

    default_code = "invalid-config"


class RunError(UserError):
    """A folder that is not a run, or not one that can be used as asked."""

    default_code = "invalid-run"


class PartError(UserError):
    """A user-defined part that does not fit its kind, or whose name can't be its name.

    >>> str(PartError("the cell 'lstm' is taken", "Give it another name", location="my_parts.py:12"))
    "my_parts.py:12: the cell 'lstm' is taken. Give it another name."
    """

    default_code = "invalid-part"


class PartWarning(UserWarning):
    """A user-defined part of a run is not registered, or not as it was when the run was made."""


class ArgumentError(SeqloomError, ValueError):
    """An argument that can't be used.

    >>> str(ArgumentError("Recurrent", "x", "width 5", "width 3 (input_size)"))
    'Recurrent: x has width 5; expected width 3 (input_size).'
    """

    default_code = "invalid-argument"

    def __init__(self, where: str, argument: str, came: str, expected: str, verb: str = "has") -> None:
        message = f"{argument} {verb} {came}; expected {expected}"
        super().__init__(message, location=where, values={"argument": argument})
        self.argument = argument


class NotFinite(ArgumentError):
    """Scores of a model that are no numbers: in training it may yet recover."""


class UnknownName(SeqloomError, KeyError):
    """A name that a registry does not hold."""

    default_code = "unknown-name"


class CannotStep(SeqloomError, TypeError):
    """A layer that reads the whole sequence was asked to go on from a carried state."""


class MissingMemory(SeqloomError, TypeError):
    """A layer that looks at another sequence was called before it was given one."""


class NoEqual(SeqloomError, TypeError):
    """Something that can't be converted, because the other library has nothing that computes the same; and why.

    >>> str(NoEqual("GRU", "torch.nn", "its reset gate comes before the product"))
    'GRU has no equal in torch.nn: its reset gate comes before the product.'
    """

    default_code = "no-equal"

    def __init__(self, what: str, where: str, why: str) -> None:
        super().__init__(f"{what} has no equal in {where}: {why}")


class UnavailableBackend(SeqloomError, RuntimeError):
    """A backend asked for by name that can't run here, and why."""

    default_code = "unavailable-backend"


def is_memory(error: BaseException) -> bool:
    """Python's own error, torch's for a GPU (known by its name, so that torch is not imported), or its allocator's."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or "alloc_cpu" in str(error)
