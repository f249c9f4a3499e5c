"""An error as data, and the one place where it becomes a sentence. No other code puts one together or takes one apart.

    location: message. advice.

A message and its advice are written beside the line that raises them. A config key within them is a `KeyName`: who
shows the error names it as the reader does, as a key in Python and in a config file, as an option on the command line.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

OPEN, SET, CLOSE = "\ufdd0", "\ufdd1", "\ufdd2"  # noncharacters of Unicode, which no text has, around a key's name
MARKED = re.compile(f"{OPEN}([^{OPEN}{SET}{CLOSE}]*)(?:{SET}([^{OPEN}{SET}{CLOSE}]*))?{CLOSE}")
ENDED = re.compile(r"[.?…]$|[.?] \([^()]*\)$")
# Control characters, halves of characters, what turns a line around or has no width, and noncharacters; but not the two
# joiners, without which some scripts and emoji can't be written.
INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufdd0-\ufdef\ufeff\ufffe\uffff"
    "\U000e0000-\U000e007f]"
)

LONGEST = 300  # characters of another library's error

Naming = Callable[[str, str | None], str]
"""From a dotted key, and the value that it is set to if any, to what the reader calls it."""


@dataclass(frozen=True)
class Problem:
    """What is wrong.

    code: which kind of problem, for who groups or tells them apart; every place that raises one has its own
    message: what is wrong, without the full stop
    advice: what to do about it, likewise
    location: where it is: a file, with its line if it has one
    key: the dotted name of the config key at fault, if one is
    values: the numbers and names within the message
    """

    code: str
    message: str
    advice: str = ""
    location: str = ""
    key: str | None = None
    values: Mapping[str, object] = field(default_factory=dict)

    def rendered(self) -> "Problem":
        """The same as Python shows it: keys by their own names, and nothing that does something to a terminal."""
        message, advice, location = map(rendered, (self.message, self.advice, self.location))
        return replace(self, message=message, advice=advice, location=location)


def conflict(key: str, message: str, advice: str = "") -> Problem:
    """A config key whose value does not go with the rest of the config."""
    return Problem("conflict", message, advice, key=key)


@dataclass(frozen=True)
class KeyName:
    """A config key within a message, and the value that it is or should be set to.

    >>> problem = Problem(
    ...     "bad-row", "3 fields, expected 2", f"Remove the tab, or give {KeyName('data.on_bad_line', 'skip')}"
    ... )
    >>> format_problem(problem)
    '3 fields, expected 2. Remove the tab, or give data.on_bad_line skip.'
    """

    dotted: str
    value: object = None

    def __str__(self) -> str:
        value = self.value
        text = "" if value is None else f"{SET}{str(value).lower() if isinstance(value, bool) else value}"
        return f"{OPEN}{self.dotted}{text}{CLOSE}"


def as_key(dotted: str, value: str | None = None) -> str:
    """As in Python and in a config file; what has no section is an argument of a function.

    >>> as_key("data.on_bad_line", "skip"), as_key("train.lr"), as_key("out", "another/folder")
    ('data.on_bad_line skip', 'train.lr', "out='another/folder'")
    """
    return dotted if value is None else f"{dotted} {value}" if "." in dotted else f"{dotted}={value!r}"


def format_problem(problem: Problem, naming: Naming = as_key) -> str:
    """The sentence.

    >>> format_problem(Problem("fields", "3 fields, expected 2", "Remove the tab", "train.tsv:7366"))
    'train.tsv:7366: 3 fields, expected 2. Remove the tab.'
    """
    parts = [f"{problem.location}:" if problem.location else "", ended(problem.message), ended(problem.advice)]
    return rendered(" ".join(part for part in parts if part), naming)


def rendered(text: str, naming: Naming = as_key) -> str:
    """A text with the reader's names for the keys in it, and with what can't be seen, or does something to a terminal,
    as an escape.

    >>> rendered(f"Give {KeyName('train.carry', True)}", lambda key, value: f"--{key}")
    'Give --train.carry'
    >>> rendered("a\\x1b[31m\\nb")
    'a\\\\x1b[31m\\\\nb'
    """
    return INVISIBLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), named(text, naming))


def named(text: str, naming: Naming = as_key) -> str:
    """A text with the reader's names for the keys in it, and all else as it stands: for a program."""
    return MARKED.sub(lambda found: naming(found[1], found[2]), text)


def describe_exception(error: BaseException) -> str:
    """Type and text of an exception that is not ours, in one line.

    >>> describe_exception(ValueError("no such\\n  file.")), describe_exception(KeyboardInterrupt())
    ('ValueError: no such file', 'KeyboardInterrupt')
    """
    try:
        text = " ".join(str(error).split()).rstrip(".")
    except Exception:  # the exception may be of a user's own class
        text = ""
    return f"{type(error).__name__}: {text[:LONGEST]}{'…' * (len(text) > LONGEST)}" if text else type(error).__name__


def ended(text: str) -> str:
    """With a full stop, unless it has an end of its own.

    >>> ended("no such file"), ended("Did you mean lr?"), ended("Which? (--help lists all)"), ended("bad (line 3)")
    ('no such file.', 'Did you mean lr?', 'Which? (--help lists all)', 'bad (line 3).')
    """
    return text if not text or ENDED.search(text) else f"{text}."


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


class NoEquivalent(SeqloomError, TypeError):
    """Something that can't be converted, because the other library has nothing that computes the same; and why.

    >>> str(NoEquivalent("GRU", "torch.nn", "its reset gate comes before the product"))
    'GRU has no equivalent in torch.nn: its reset gate comes before the product.'
    """

    default_code = "no-equivalent"

    def __init__(self, what: str, where: str, why: str) -> None:
        super().__init__(f"{what} has no equivalent in {where}: {why}")


class UnavailableBackend(SeqloomError, RuntimeError):
    """A backend asked for by name that can't run here, and why."""

    default_code = "unavailable-backend"


def is_memory(error: BaseException) -> bool:
    """Python's own error, torch's for a GPU (known by its name, so that torch is not imported), or its allocator's."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or "alloc_cpu" in str(error)
