"""What a task reads: kinds of files, columns by their roles, embedded corpora; said in its config, without torch."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from seqloom.data.fields import Field, text

Parse = Callable[[Field, Any], Any]
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
    """A corpus that needs no file: the function that makes it, as `module:function`, and its extra config keys.

    The function is called with data.seed, data.length, data.examples and the values of `keys`.

    tokenizer: the kind that suits it, where the task leaves that to the data
    """

    function: str
    keys: tuple[str, ...] = ()
    tokenizer: str | None = None

    @property
    def summary(self) -> str:
        """What it holds: the docstring of its module as one line."""
        return " ".join((import_module(self.function.partition(":")[0]).__doc__ or "").split())

    def make(self, data: Any) -> Iterator[Any]:
        """Its examples (of language: its text in chunks)."""
        values = [getattr(data, key) for key in self.keys]
        made: Iterator[Any] = self.load()(data.seed, data.length, data.examples, *values)
        return made

    def load(self) -> Callable[..., Iterator[Any]]:
        """The function that makes it."""
        module, _, name = self.function.partition(":")
        function: Callable[..., Iterator[Any]] = getattr(import_module(module), name)
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
    corpora: Mapping[str, EmbeddedCorpus] = field(default_factory=dict)
    suffix: str = ".txt"

    @property
    def default_corpus(self) -> str:
        """The corpus that the task is shown on where no file is given."""
        return next(iter(self.corpora))
