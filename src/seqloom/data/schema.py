"""How examples become arrays: a column for each array, a learner for each tokenizer or vocabulary."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from jaxtyping import Integer, Shaped
from numpy import ndarray

from seqloom.core.config.data import TokenizedData
from seqloom.core.problem import ArgumentError, DataError
from seqloom.data.records import Location, Value, content_text
from seqloom.data.row_store import smallest_type
from seqloom.data.tokenizers import Tokenizer, train_tokenizer
from seqloom.data.vocabulary import Vocabulary

if TYPE_CHECKING:
    from seqloom.data.prepare import SplitExamples
    from seqloom.data.source import DataSource

Counts = dict[str, Counter[str]]
"""For each answer (a label or a tag), how often it occurs in each split."""
SAMPLE = 20_000_000  # characters on which a tokenizer is trained at most
Encoder = TypeVar("Encoder")
Encoders = Mapping[str, Any]
"""Tokenizers and vocabularies, by the names of their files."""
RowArrays = Mapping[str, Shaped[ndarray, " _"]]
"""The arrays of a row, by the names of their columns."""
Notes = dict[str, Any]
"""Counts from the preparation of data, as JSON values."""


# Learners ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Learner(ABC, Generic[Encoder]):
    """Learns an encoder, which has a method `to_json`, from the training examples.

    roles: the indices of the values of an example that it learns from
    """

    roles: tuple[int, ...]

    @abstractmethod
    def learn(self, values: Iterable[Value], counts: Counts) -> Encoder:
        """Learn from these values of all training examples, or from the counts of all answers."""

    @abstractmethod
    def load(self, text: str, file: str) -> Encoder:
        """The encoder whose `to_json` wrote this text; `file` is the name for error messages."""


@dataclass(frozen=True)
class TokenizerLearner(Learner[Tokenizer]):
    """Trains a tokenizer on a bounded sample of the texts."""

    kind: str
    vocabulary_size: int
    min_count: int
    lowercase: bool
    sample: int

    def learn(self, values: Iterable[str], counts: Counts) -> Tokenizer:
        return train_tokenizer(
            self.kind,
            values,
            vocabulary_size=self.vocabulary_size,
            min_count=self.min_count,
            lowercase=self.lowercase,
            sample=self.sample,
        )

    def load(self, text: str, file: str) -> Tokenizer:
        return Tokenizer.from_json(text, file)


def tokenizer_learner(roles: tuple[int, ...], data: TokenizedData, kind: str) -> TokenizerLearner:
    """The learner that the config asks for; `kind` is the default."""
    return TokenizerLearner(
        roles, data.tokenizer or kind, data.vocabulary_size or 0, data.min_count, data.lowercase, data.sample or SAMPLE
    )


@dataclass(frozen=True)
class VocabularyLearner(Learner[Vocabulary]):
    def load(self, text: str, file: str) -> Vocabulary:
        return Vocabulary.from_json(text, file)


@dataclass(frozen=True)
class AnswerLearner(VocabularyLearner):
    """All answers in alphabetical order."""

    def learn(self, values: Iterable[Value], counts: Counts) -> Vocabulary:
        return Vocabulary(sorted(counts))


# Columns -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnEncoder:
    """Encodes the values of one column.

    dtype: of the array
    encode: from values and their locations to a row of numbers for each value
    close: called with the folder of the prepared data after the last row, to save other files
    """

    dtype: str
    encode: Callable[[Sequence[Value], Sequence[Location]], Sequence[Shaped[ndarray, " _"]]]
    close: Callable[[Path], None] = lambda _: None


@dataclass(frozen=True)
class Column(ABC):
    """One array of the prepared rows.

    name: of the array
    role: the index of the value of an example that it encodes
    max_length: a longer row is cut to this length
    """

    name: str
    role: int
    max_length: int | None = None

    @abstractmethod
    def open(self, encoders: Encoders) -> ColumnEncoder:
        """What encodes its values; `encoders` are the tokenizers and vocabularies of the run."""


@dataclass(frozen=True)
class TokenColumn(Column):
    """The tokens of a text; `encoder` is the file of its tokenizer."""

    encoder: str = ""

    def open(self, encoders: Encoders) -> ColumnEncoder:
        tokenizer: Tokenizer = encoders[self.encoder]
        return ColumnEncoder(smallest_type(len(tokenizer)), lambda values, _: tokenizer.encode_batch(values))


@dataclass(frozen=True)
class TextColumn(Column):
    """A text as UTF-8 bytes."""

    def open(self, encoders: Encoders) -> ColumnEncoder:
        return ColumnEncoder(
            "uint8", lambda values, _: [np.frombuffer(value.encode(), dtype=np.uint8) for value in values]
        )


@dataclass(frozen=True)
class NumberColumn(Column):
    """One number per example."""

    dtype: str = "float32"

    def open(self, encoders: Encoders) -> ColumnEncoder:
        return ColumnEncoder(self.dtype, self._encode)

    def _encode(self, values: Sequence[float], locations: Sequence[Location]) -> Sequence[Shaped[ndarray, " _"]]:
        rows = [np.array([value]) for value in values]
        for row, value, location in zip(rows, values, locations, strict=True):
            if row.dtype.kind not in "iuf" or not np.can_cast(row.dtype, self.dtype, "same_kind"):
                message = f"{value} is not a number that fits {self.dtype}"
                raise DataError(location, message, "Write another", code="number-range")
        return rows


@dataclass(frozen=True)
class AnswerColumn(Column):
    """The ids of answers: labels of a text, tags of words.

    encoder: the file of their vocabulary
    noun, example: the words for an answer and for an example in messages
    """

    encoder: str = ""
    noun: str = "label"
    example: str = "example"

    def open(self, encoders: Encoders) -> ColumnEncoder:
        vocabulary: Vocabulary = encoders[self.encoder]

        def encode(values: Sequence[Sequence[str]], locations: Sequence[Location]) -> Sequence[Integer[ndarray, " _"]]:
            for answers, location in zip(values, locations, strict=True):
                for answer in answers:
                    if answer not in vocabulary:
                        known = ", ".join(vocabulary.names[:10])
                        message = f"{self.noun} {answer!r} is not one of the run's ({known})"
                        advice = f"Remove the {self.example}, or train on examples of it"
                        raise DataError(location, message, advice, code="unknown-answer", values={"value": answer})
            return [vocabulary.ids(answers) for answers in values]

        return ColumnEncoder(smallest_type(len(vocabulary)), encode)


# Schema --------------------------------------------------------------------------------------------------------------


class RowFilter:
    """Keeps all rows. A task may derive a filter that leaves rows out, or counts unusual ones."""

    def keeps(self, split: str, location: Location, row: RowArrays) -> bool:
        """Whether a row is kept; called before columns are cut to their `max_length`."""
        return True

    def notes(self) -> Notes:
        """Its counts, which are saved with the prepared data."""
        return {}


@dataclass(frozen=True)
class Schema:
    """All columns of a task's rows, and their learners. Its `repr` is a part of the cache's key.

    learners: by the names of the files that they save
    content: the value by which examples are split; examples with equal values are in the same split
    answers: the value with answers of a closed set, all of which must occur in training; None if there is none
    """

    columns: tuple[Column, ...]
    learners: Mapping[str, Learner[Any]]
    content: int = 0
    answers: int | None = None

    def __post_init__(self) -> None:
        for member in (*self.columns, *self.learners.values()):
            if not is_dataclass(member):  # its repr, which is in the cache's key, would differ in each process
                raise ArgumentError("Schema", type(member).__name__, "a plain class", "a frozen dataclass", "is")

    def content_of(self, values: Sequence[Value]) -> str:
        return content_text(values[self.content])

    def check_answers(self, examples: "SplitExamples", counts: Counts, single: bool) -> Collection[str]:
        """Refuse answers that can't be learned; return the answers whose examples are left out.

        single: whether every example has exactly one answer
        """
        return ()

    def row_filter(self, source: "DataSource") -> RowFilter:
        return RowFilter()
