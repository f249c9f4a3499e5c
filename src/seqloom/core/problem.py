"""Errors as data (`Problem`), their format, and the exceptions that carry them.

    location: message. advice.

The code that raises an error writes its message and advice. A config key in them is a `KeyName`, which is formatted
when the error is shown: as a key in Python, as an option on the command line.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

OPEN, SET, CLOSE = "\ufdd0", "\ufdd1", "\ufdd2"  # noncharacters of Unicode, which no text contains
KEY_NAME = re.compile(f"{OPEN}([^{OPEN}{SET}{CLOSE}]*)(?:{SET}([^{OPEN}{SET}{CLOSE}]*))?{CLOSE}")
HAS_END = re.compile(r"[.?…]$|(^|[.?] )\([^()]*\)$")
# Control characters, surrogates, noncharacters, and characters that reverse a line or have no width, except the two
# joiners that some scripts and emoji need.
INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufdd0-\ufdef\ufeff\ufffe\uffff"
    "\U000e0000-\U000e007f]"
)

KeyFormatter = Callable[[str, str | None], str]
"""A function of a dotted key and its value or None, which returns both as the user writes them."""


@dataclass(frozen=True)
class Problem:
    """What is wrong, where, and what to do about it.

    code: the kind of problem, by which programs and `check` group problems
    message: what is wrong, without a full stop
    advice: what to do about it, without a full stop
    location: a file, with its line if known
    key: the dotted name of the invalid config key, if any
    values: the numbers and names in the message
    """

    code: str
    message: str
    advice: str = ""
    location: str = ""
    key: str | None = None
    values: Mapping[str, object] = field(default_factory=dict)

    def rendered(self) -> "Problem":
        """The problem with keys as they are named in Python, and with invisible characters escaped."""
        message, advice, location = map(render, (self.message, self.advice, self.location))
        return replace(self, message=message, advice=advice, location=location)


def conflict(key: str, message: str, advice: str = "") -> Problem:
    """The problem of a config key whose value conflicts with other keys."""
    return Problem("conflict", message, advice, key=key)


# Formatting -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KeyName:
    """A config key in a message, with a value if there is one.

    >>> format_problem(Problem("bad-row", "3 fields, expected 2", f"Give {KeyName('data.on_bad_line', 'skip')}"))
    '3 fields, expected 2. Give data.on_bad_line skip.'
    """

    dotted: str
    value: object = None

    def __str__(self) -> str:
        value = str(self.value).lower() if isinstance(self.value, bool) else self.value
        return f"{OPEN}{self.dotted}{'' if value is None else f'{SET}{value}'}{CLOSE}"


def as_key(dotted: str, value: str | None = None) -> str:
    """The name of a key in Python and in a config file. A key without a section is an argument of a function.

    >>> as_key("data.on_bad_line", "skip"), as_key("train.lr"), as_key("out", "another/folder")
    ('data.on_bad_line skip', 'train.lr', "out='another/folder'")
    """
    return dotted if value is None else f"{dotted} {value}" if "." in dotted else f"{dotted}={value!r}"


def format_problem(problem: Problem, format_key: KeyFormatter = as_key) -> str:
    """The problem as one line of text.

    >>> format_problem(Problem("fields", "3 fields, expected 2", "Remove the tab", "train.tsv:7366"))
    'train.tsv:7366: 3 fields, expected 2. Remove the tab.'
    """
    location = f"{problem.location}:" if problem.location else ""
    texts = location, end_sentence(problem.message), end_sentence(problem.advice)
    return render(" ".join(filter(None, texts)), format_key)


def render(text: str, format_key: KeyFormatter = as_key) -> str:
    """A text to print: with formatted keys, and with invisible characters escaped.

    >>> render(f"Give {KeyName('train.carry_state', True)}", lambda key, value: f"--{key}")
    'Give --train.carry_state'
    >>> render("a\\x1b[31m\\nb")
    'a\\\\x1b[31m\\\\nb'
    """
    return INVISIBLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), format_keys(text, format_key))


def rename_keys(text: str, rename: Callable[[str], str]) -> str:
    """Rename the keys in a text."""
    return KEY_NAME.sub(lambda match: str(KeyName(rename(match[1]), match[2])), text)


def format_keys(text: str, format_key: KeyFormatter = as_key) -> str:
    """A text for programs: with formatted keys, and without escapes."""
    return KEY_NAME.sub(lambda match: format_key(match[1], match[2]), text)


def end_sentence(text: str) -> str:
    """Add a full stop, unless the text ends with punctuation or a remark of its own in parentheses.

    >>> end_sentence("no such file"), end_sentence("Which? (--help lists all)"), end_sentence("bad (line 3)")
    ('no such file.', 'Which? (--help lists all)', 'bad (line 3).')
    >>> end_sentence("(--help lists all)")
    '(--help lists all)'
    """
    return text if not text or HAS_END.search(text) else f"{text}."


# Exceptions -----------------------------------------------------------------------------------------------------------


class SeqloomError(Exception):
    """An error that seqloom raises on purpose; its text is one line.

    >>> error = UserError("reviews.csv is empty", "Name another file", code="empty-file")
    >>> str(error), error.problem.code
    ('reviews.csv is empty. Name another file.', 'empty-file')
    """

    default_code: ClassVar[str] = "error"
    template: Problem
    """The problem with unformatted config keys."""
    format_key: KeyFormatter | None = None
    """Formats config keys; the code that shows the error sets it."""

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
        super().__init__(render(message))
        self.template = Problem(code or self.default_code, message, advice, str(location), key, values or {})

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """The exception that carries a problem.

        >>> str(ConfigError.of(Problem("unknown-key", "unknown key train.learning_rat", "Did you mean train.lr?")))
        'unknown key train.learning_rat. Did you mean train.lr?'
        """
        error = cls.__new__(cls)
        SeqloomError.__init__(error, problem.message)
        error.template = problem
        return error

    @property
    def problem(self) -> Problem:
        return self.template.rendered()

    def __str__(self) -> str:
        return format_problem(self.template, self.format_key or as_key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class UserError(SeqloomError, ValueError):
    """Invalid input: a file, an option, a folder. The command line ends with exit code 2."""

    default_code = "invalid-input"


class DataError(UserError):
    """Invalid content of a file.

    >>> str(DataError("train.tsv:7366", "3 fields, expected 2", "Remove the tab", code="field-count"))
    'train.tsv:7366: 3 fields, expected 2. Remove the tab.'
    """

    def __init__(
        self, location: object, message: str, advice: str, *, code: str, values: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message, advice, code=code, location=location, values=values)


class TextError(DataError):
    """An invalid text in a list; `number` is its position, from 1.

    >>> str(TextError(2, "no word that the model knows", "Give another", code="unknown-words"))
    'text 2: no word that the model knows. Give another.'
    """

    def __init__(self, number: int, message: str, advice: str, *, code: str) -> None:
        super().__init__(f"text {number}", message, advice, code=code)
        self.number = number

    def shifted(self, count: int) -> "TextError":
        """The same error in a list with `count` more texts before this one."""
        problem = self.template
        return TextError(count + self.number, problem.message, problem.advice, code=problem.code)


class ConfigError(UserError):
    """A config key that does not exist, or a value that it can't have."""

    default_code = "invalid-config"


class RunError(UserError):
    """A folder that is not a run, or a run that does not support the operation."""

    default_code = "invalid-run"


class PartError(UserError):
    """A user-defined part that does not fit its kind, or that has an invalid name.

    >>> str(PartError("the cell 'lstm' is taken", "Give it another name", location="my_parts.py:12"))
    "my_parts.py:12: the cell 'lstm' is taken. Give it another name."
    """

    default_code = "invalid-part"


class PartWarning(UserWarning):
    """A user-defined part of a run is not registered, or has changed since the run was made."""


class ArgumentError(SeqloomError, ValueError):
    """An invalid argument.

    >>> str(ArgumentError("Recurrent", "x", "width 5", "width 3 (input_size)"))
    'Recurrent: x has width 5; expected width 3 (input_size).'
    """

    default_code = "invalid-argument"

    def __init__(self, location: str, argument: str, actual: str, expected: str, verb: str = "has") -> None:
        message = f"{argument} {verb} {actual}; expected {expected}"
        super().__init__(message, location=location, values={"argument": argument})
        self.argument = argument


class NotFinite(ArgumentError):
    """Scores of a model that are not finite. Training may recover from it."""


class UnknownName(SeqloomError, KeyError):
    """A name that is not in a registry."""

    default_code = "unknown-name"


class CannotStep(SeqloomError, TypeError):
    """A layer that reads the whole sequence was asked to continue from a state."""


class MissingMemory(SeqloomError, TypeError):
    """A cross-attention layer was called without a memory to attend to."""


class NoEquivalent(SeqloomError, TypeError):
    """A module that can't be converted, because the other library has no equivalent.

    >>> str(NoEquivalent("GRU", "torch.nn", "its reset gate comes before the product"))
    'GRU has no equivalent in torch.nn: its reset gate comes before the product.'
    """

    default_code = "no-equal"

    def __init__(self, name: str, library: str, reason: str) -> None:
        super().__init__(f"{name} has no equivalent in {library}: {reason}")


class UnavailableBackend(SeqloomError, RuntimeError):
    """A requested backend can't run a computation here."""

    default_code = "unavailable-backend"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out: of Python, or of torch on a GPU (known by name, without importing torch) or a CPU."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or "alloc_cpu" in str(error)
