"""What a task can read: kinds of files, columns by their roles, embedded corpora. Does not import torch."""

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from importlib.metadata import version
from typing import Any, Literal

from seqloom.core.config.data import DataSection
from seqloom.core.names import TOKENIZERS
from seqloom.core.part import Part
from seqloom.core.problem import UserError
from seqloom.core.registry import Registry
from seqloom.core.wording import short_repr
from seqloom.data.records import Field, Location, Record, parse_stripped_text, parse_text

CorpusFunction = Callable[..., Iterator[Any]]
Parse = Callable[[Field, Any], object]
"""Converts a field of a record, with the data section of the config, to a value of an example."""

EDITIONS = {"numbers": 2}  # of embedded corpora; increase it when the same seed gives other examples


@dataclass(frozen=True)
class Role:
    """A column that a task reads from tables.

    name: in messages
    key: the config key that names the column, such as data.text
    synonyms: names of such columns in public datasets, the likeliest first
    guess: how the column is found if no name matches: by its values ("text": the longest, "label": the fewest distinct
        ones), or by its position among the remaining columns ("order")
    languages: whether the column may be named after a language
    parse: from a field to a value
    required: whether an empty text is refused
    is_path: whether it is the path of a file, relative to the folder of the table
    """

    name: str
    key: str
    synonyms: tuple[str, ...] = ()
    guess: Literal["text", "label", "order"] = "order"
    languages: bool = False
    parse: Parse = parse_text
    required: bool = False
    is_path: bool = False


@dataclass(frozen=True)
class EmbeddedCorpus:
    """A corpus that needs no file: a function that generates it, and the config keys of its own.

    The function is called with data.seed, data.corpus_length, data.examples and the values of `keys`.

    function: as `module:function`; for a user-defined corpus the function itself
    tokenizer: the default kind for this corpus, if the task has no default of its own
    """

    function: str | CorpusFunction
    keys: tuple[str, ...] = ()
    tokenizer: str | None = None

    @property
    def summary(self) -> str:
        """The docstring of its module, or of a user-defined function, as one line."""
        source = self.function if callable(self.function) else import_module(self.function.partition(":")[0])
        return " ".join((source.__doc__ or "").split())

    def load(self) -> CorpusFunction:
        if callable(self.function):
            return self.function
        module, _, name = self.function.partition(":")
        function: CorpusFunction = getattr(import_module(module), name)
        return function

    def generate(self, data: DataSection) -> Iterator[Any]:
        """The examples; for language models, the text in chunks."""
        return self.load()(data.seed, data.corpus_length, data.examples, *(getattr(data, key) for key in self.keys))


@dataclass(frozen=True)
class DataSpec:
    """All that a task can read.

    task: its name, in messages
    description: of its files, in messages: "TSV, CSV, JSONL, or two text files, line by line"
    kinds: of the formats that it reads (`Format.kind`): table, folder, parallel, conll, text
    roles: of the columns of a table; the first is the input, from which the others are predicted
    corpora: by name; the first is the default where no file is given
    suffix: of a typical file, in messages
    """

    task: str
    description: str
    kinds: tuple[str, ...]
    roles: tuple[Role, ...] = ()
    corpora: Registry[EmbeddedCorpus] = field(default_factory=lambda: Registry("corpus", {}))
    suffix: str = ".txt"

    @property
    def default_corpus(self) -> str:
        if not self.corpora:
            message = f"no file is named, and {self.task} has no embedded corpus"
            raise UserError(message, f"Name a file: {self.task} reads {self.description}", code="no-data")
        return next(iter(self.corpora))

    def corpus_versions(self, corpus: str | None) -> dict[str, str]:
        """What determines a corpus besides its seed: versions, or the source file of a user-defined corpus."""
        if corpus is None:
            return {}
        if (origin := self.corpora.names.origin(corpus)) is not None:
            return {origin.file or origin.module: origin.sha256}
        versions = {"edition": str(EDITIONS.get(corpus, 1))}
        if corpus == "python":
            versions["python"] = platform.python_version()
        if corpus == "numbers":
            versions["num2words"] = version("num2words")
        return versions


# User-defined corpora ------------------------------------------------------------------------------------------------


def register_corpus(part: Part, specs: Sequence[DataSpec], tokenizer: str | None) -> None:
    if tokenizer is not None and tokenizer not in TOKENIZERS:
        advice = f"Give one of {', '.join(TOKENIZERS)}, or register it first"
        raise part.misfit(f"has the tokenizer {tokenizer!r}, which is not registered", advice)
    for spec in specs:  # a name that is taken is refused before anything changes
        spec.corpora.names.check(part.name, part.origin)
    for spec in specs:
        spec.corpora.register(part.name, EmbeddedCorpus(_checked(part, spec), tokenizer=tokenizer), part.origin)


def _checked(part: Part, spec: DataSpec) -> CorpusFunction:
    """A corpus whose examples are checked: an example that the task can't read is an error."""
    function = part.as_function("seed, length, examples")

    @wraps(function)
    def checked(seed: int, length: int | None, examples: int | None) -> Iterator[object]:
        empty = True
        for example in part.iterate(function, seed, length, examples):
            if (expected := expected_example(example, spec)) is not None:
                raise part.misfit(f"gave {short_repr(example)}, and {spec.task} reads {expected}", "Give that")
            empty = False
            yield example
        if empty:
            raise part.misfit("gave no examples", "Yield some")

    return checked


def expected_example(example: object, spec: DataSpec) -> str | None:
    """A description of the examples that a task reads; None if this is such an example."""
    if "text" in spec.kinds:
        return None if are_texts([example]) else "texts, chunk by chunk"
    match example:
        case Record(values=tuple() as values, location=Location(file=str(), line=int())):
            pass
        case _:
            return "Record(values, Location(name, number)), its values a tuple"
    if not spec.roles:
        expected = [expected_values(kind, values) for kind in spec.kinds]
        return None if None in expected else expected[0]
    if len(values) != len(spec.roles):
        return f"{len(spec.roles)} values ({', '.join(role.name for role in spec.roles)})"
    for role, value in zip(spec.roles, values, strict=True):
        if role.guess == "label" and not (isinstance(value, tuple) and are_texts(value)):
            return f"the {role.name} as a tuple of texts, of one or several"
        if role.parse in (parse_text, parse_stripped_text) and not are_texts([value]):
            return f"the {role.name} as a text"
    return None


VALUES = {
    "conll": "words and as many tags: two tuples of texts",
    "folder": "a text and a tuple of labels",
    "parallel": "two texts",
}
"""The values of an example, by the kind of its file."""


def expected_values(kind: str, values: Sequence[object]) -> str | None:
    """A description of the values that a kind of file has; None if these are such values."""
    match kind, tuple(values):
        case "conll", (list() | tuple() as words, list() | tuple() as tags):
            valid = are_texts([*words, *tags]) and len(words) == len(tags) > 0
        case "folder", (str() as text, list() | tuple() as labels):
            valid = are_texts([text, *labels])
        case "parallel", (str() as source, str() as target):
            valid = are_texts([source, target])
        case _:
            valid = kind not in VALUES
    return None if valid else VALUES[kind]


def are_texts(values: Sequence[object]) -> bool:
    """Whether all are strings without lone surrogates, which UTF-8 can't encode."""
    try:
        return all(isinstance(value, str) and value.encode() is not None for value in values)
    except UnicodeEncodeError:
        return False
