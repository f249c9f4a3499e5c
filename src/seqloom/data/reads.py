"""What a task reads: kinds of files, columns by their roles, embedded corpora; said in its config, without torch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from typing import Any, Literal

from seqloom.core.config.data import DataSection
from seqloom.core.names import TOKENIZERS
from seqloom.core.part_checks import as_function, each, misfit
from seqloom.core.part_origin import Origin
from seqloom.core.problem import UserError
from seqloom.core.registry import Registry, shown
from seqloom.data.corpora import made_with
from seqloom.data.examples import Place, Record
from seqloom.data.fields import Field, stripped_text, text

Made = Callable[..., Iterator[Any]]
Parse = Callable[[Field, Any], object]
"""From a field of a record and the data section of the config to what an example holds."""


@dataclass(frozen=True)
class Role:
    """A column that a task reads from tables.

    name: what it is called in messages
    key: of the data section, by which a person names the column; data.text
    synonyms: names that such columns have in data that people share, the likeliest first
    guess: how it is found where no name says it: by what its values look like ("text": the longest, "label": the
        fewest distinct ones), or by its position among the columns that are left ("order")
    languages: whether the name of a language may name it
    parse: from a field to a value
    required: whether an empty text is refused
    """

    name: str
    key: str
    synonyms: tuple[str, ...] = ()
    guess: Literal["text", "label", "order"] = "order"
    languages: bool = False
    parse: Parse = text
    required: bool = False


@dataclass(frozen=True)
class EmbeddedCorpus:
    """A corpus that needs no file: the function that makes it, and its extra config keys.

    The function is called with data.seed, data.length, data.examples and the values of `keys`.

    function: as `module:function`; of a user-defined corpus the function itself
    tokenizer: the kind that suits it, where the task leaves that to the data
    """

    function: str | Made
    keys: tuple[str, ...] = ()
    tokenizer: str | None = None

    @property
    def summary(self) -> str:
        """What it holds: the docstring of its module, or of a user-defined function, as one line."""
        own = self.function if callable(self.function) else import_module(self.function.partition(":")[0])
        return " ".join((own.__doc__ or "").split())

    def make(self, data: DataSection) -> Iterator[Any]:
        """Its examples (of language: its text in chunks)."""
        values = [getattr(data, key) for key in self.keys]
        return self.load()(data.seed, data.length, data.examples, *values)

    def load(self) -> Made:
        """The function that makes it."""
        if callable(self.function):
            return self.function
        module, _, name = self.function.partition(":")
        function: Made = getattr(import_module(module), name)
        return function


@dataclass(frozen=True)
class Reads:
    """All that a task reads.

    task: its name, for messages
    description: of its files, for messages: "TSV, CSV, JSONL, or two text files, line by line"
    kinds: of formats that it reads (`data.formats`): table, folder, parallel, conll, text
    roles: of the columns of a table
    corpora: by name; the first is the one that is taken where no file is given
    suffix: of a typical file, for messages
    """

    task: str
    description: str
    kinds: tuple[str, ...]
    roles: tuple[Role, ...] = ()
    corpora: Registry[EmbeddedCorpus] = field(default_factory=lambda: Registry("corpus", {}))
    suffix: str = ".txt"

    @property
    def default_corpus(self) -> str:
        """The corpus that the task is shown on where no file is given."""
        if not self.corpora:
            what = f"no file is named, and {self.task} has no corpus that needs none"
            raise UserError(what, f"Name a file: {self.task} reads {self.description}", code="no-data")
        return next(iter(self.corpora))

    def made_with(self, corpus: str | None) -> dict[str, str]:
        """What decides what a corpus holds, beside its seed: versions, or the file of a user-defined one."""
        origin = None if corpus is None else self.corpora.names.origin(corpus)
        return made_with(corpus) if origin is None else {origin.file or origin.module: origin.sha256}


def register_corpus(name: str, part: object, several: Sequence[Reads], tokenizer: str | None) -> None:
    """Add a user-defined corpus to what each of several tasks reads: to all of them, or to none."""
    function = as_function("corpus", name, part, "seed", "length", "examples")
    if tokenizer is not None and tokenizer not in TOKENIZERS:
        advice = f"Give one of {', '.join(TOKENIZERS)}, or register it first"
        raise misfit("corpus", name, part, f"has the tokenizer {tokenizer!r}, which is not registered", advice)
    for reads in sorted(several, key=lambda reads: name not in reads.corpora):  # where it is taken, first
        corpus = EmbeddedCorpus(checked(name, function, reads), tokenizer=tokenizer)
        reads.corpora.register(name, corpus, Origin.registered(part))


def checked(name: str, function: Callable[..., object], reads: Reads) -> Made:
    """A corpus whose examples are looked at: what a task can't read is refused at once."""

    @wraps(function)
    def made(seed: int, length: int | None, examples: int | None) -> Iterator[object]:
        empty = True
        for example in each("corpus", name, function, lambda: function(seed, length, examples)):
            if (expected := unlike(example, reads)) is not None:
                reason = f"gave {shown(example)}, and {reads.task} reads {expected}"
                raise misfit("corpus", name, function, reason, "Give that")
            empty = False
            yield example
        if empty:
            raise misfit("corpus", name, function, "gave no examples", "Yield some")

    return made


def unlike(example: object, reads: Reads) -> str | None:
    """What a task reads instead, if it does not read this; None if it does."""
    if "text" in reads.kinds:
        return None if are_texts([example]) else "texts, chunk by chunk"
    match example:
        case Record(values=tuple() as values, place=Place(file=str(), line=int())):
            pass
        case _:
            return "Record(values, Place(name, number)), its values a tuple"
    if not reads.roles:
        wanted = [unlike_kind(kind, values) for kind in reads.kinds]
        return None if None in wanted else wanted[0]
    if len(values) != len(reads.roles):
        return f"{len(reads.roles)} values ({', '.join(role.name for role in reads.roles)})"
    for role, value in zip(reads.roles, values, strict=True):
        if role.guess == "label" and not (isinstance(value, tuple) and are_texts(value)):
            return f"the {role.name} as a tuple of texts, of one or several"
        if role.parse in (text, stripped_text) and not are_texts([value]):
            return f"the {role.name} as a text"
    return None


def unlike_kind(kind: str, values: Sequence[object]) -> str | None:
    """What the values of an example of a kind of file are, if they are not these."""
    match kind, tuple(values):
        case "conll", (list() | tuple() as words, list() | tuple() as tags):
            fits = are_texts([*words, *tags]) and len(words) == len(tags) > 0
        case "folder", (str() as one, list() | tuple() as labels):
            fits = are_texts([one, *labels])
        case "parallel", (str() as one, str() as other):
            fits = are_texts([one, other])
        case _:
            fits = kind not in VALUES
    return None if fits else VALUES[kind]


VALUES = {
    "conll": "words and as many tags: two tuples of texts",
    "folder": "a text and a tuple of labels",
    "parallel": "two texts",
}
"""Of an example, by the kind of its file."""


def are_texts(values: Sequence[object]) -> bool:
    """Whether all are strings that UTF-8 can hold: without halves of surrogate pairs."""
    try:
        return all(isinstance(value, str) and value.encode() is not None for value in values)
    except UnicodeEncodeError:
        return False
