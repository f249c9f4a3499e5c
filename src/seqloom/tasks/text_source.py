"""What a generated text is about: a text, here; another task may have another source, with the same interface."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from jaxtyping import Int, Integer, Shaped
from numpy import ndarray
from torch import Tensor

from seqloom.core.config.data import RowData
from seqloom.core.config.section import keys
from seqloom.core.plurals import counted
from seqloom.core.problem import KeyName, TextError
from seqloom.data.prepare import Dataset, Split
from seqloom.data.records import Location
from seqloom.data.row_store import SourceFile
from seqloom.data.schema import Encoders
from seqloom.data.split import TRAIN
from seqloom.data.tokenizers import Tokenizer
from seqloom.models.encoder_decoder import EncoderDecoderKeys, encoder_section
from seqloom.models.family import Family
from seqloom.nn.layer import Layer
from seqloom.nn.stems import TokenEmbedding
from seqloom.nn.vision import ImageStem
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.known_characters import Seen, characters, says_nothing, unseen
from seqloom.tasks.padding import padded
from seqloom.tasks.task import Answer

if TYPE_CHECKING:
    from seqloom.data.image_store import Images

SOURCE_FILE, TARGET_FILE = "source.json", "target.json"
END_SIGN = "</s>"  # how the end is shown


class Read(NamedTuple):
    """Sources as a model reads them: of images all is real, and there are no lengths."""

    source: Shaped[Tensor, "batch *rest"]
    lengths: Int[Tensor, " batch"] | None


class Source(ABC):
    """One kind of source.

    target: the tokenizer of what is written about it
    seen: the characters that were learned from
    """

    seen: Seen = Seen()
    ends: int = 0  # how many of a source's positions are not its own: the end of a text
    target: Tokenizer

    @classmethod
    @abstractmethod
    def learned(cls, experiment: Experiment, data: Dataset, images: "Images | None") -> Self:
        """The kind of source that the data have; `images` are those that the data name, if they name any."""

    @classmethod
    @abstractmethod
    def from_files(cls, experiment: Experiment, encoders: Encoders, files: Mapping[str, str]) -> Self:
        """From the files of a run's vocabulary folder."""

    def files(self) -> dict[str, str]:
        """What the vocabulary folder holds beside the encoders."""
        return self.seen.files()

    @abstractmethod
    def described(self) -> str:
        """The vocabularies, for a person."""

    @abstractmethod
    def reported(self, data: Dataset, names: Sequence[str]) -> str:
        """What of the data is odd or could not be used, for a person; nothing where all is well."""

    @abstractmethod
    def longest(self) -> int:
        """The most positions that the model is built for."""

    @abstractmethod
    def stems(self, part: Family) -> tuple[Layer | ImageStem, TokenEmbedding]:
        """Of the source and of the target."""

    @abstractmethod
    def lengths(self, part: Split) -> Integer[ndarray, " rows"]:
        """Of the sources of all rows."""

    @abstractmethod
    def batch(self, part: Split, rows: Integer[ndarray, " batch"]) -> Read:
        """The sources of some rows."""

    @abstractmethod
    def distinct(self, part: Split) -> Integer[ndarray, " sources"]:
        """A row for each source that is to be answered once."""

    def first(self, part: Split, many: int) -> Integer[ndarray, " shown"]:
        """The first rows, in order, to be shown as examples."""
        return np.sort(self.distinct(part)[:many])

    @abstractmethod
    def references(self, part: Split, row: int) -> list[str]:
        """All that the answer to a row's source might be."""

    @abstractmethod
    def shown(self, part: Split, row: int) -> dict[str, str]:
        """A row's source in a report."""

    @abstractmethod
    def about(self, part: Split, row: int) -> Answer:
        """What of a row's source is looked at, as an answer says it: its tokens, or how many regions it has."""

    def unknown(self, given: str) -> list[str]:
        """What of a source the model has never seen, where that can be said."""
        return []

    @abstractmethod
    def read(self, given: Sequence[str]) -> tuple[Read, list[Answer]]:
        """What a person gave, and what an answer says of each; a sentence if it can't be used."""


class Texts(Source):
    """Tokens, then the end. With a shared vocabulary both tokenizers are one."""

    ends = 1

    def __init__(self, experiment: Experiment, source: Tokenizer, target: Tokenizer, seen: Seen = Source.seen) -> None:
        self.experiment, self.source, self.target, self.seen = experiment, source, target, seen
        self.most = keys(experiment.data, RowData).max_length or 1 << 20

    @classmethod
    def learned(cls, experiment: Experiment, data: Dataset, images: "Images | None") -> "Texts":
        source, target = sides(data.encoders)
        learnt = data.splits[TRAIN]
        seen = Seen(characters(learnt["source_texts"], source), characters(learnt["target_texts"], target))
        return cls(experiment, source, target, seen)

    @classmethod
    def from_files(cls, experiment: Experiment, encoders: Encoders, files: Mapping[str, str]) -> "Texts":
        return cls(experiment, *sides(encoders), Seen.from_files(files))

    @property
    def shared(self) -> bool:
        """Whether both languages have one vocabulary."""
        return self.source is self.target

    def described(self) -> str:
        if self.shared:
            return f"{len(self.source):,} {self.source.kind} tokens for both"
        return f"{len(self.source):,} and {len(self.target):,} {self.source.kind} tokens"

    def reported(self, data: Dataset, names: Sequence[str]) -> str:
        odd, at = data.notes.get("odd"), data.notes.get("odd_at")
        if not odd or not at:
            return ""
        place = Location(SourceFile(*at[0]).name(names), at[1])
        what = f"{counted(odd, 'pair')} with over {data.notes['max_ratio']:g} times the tokens on one side"
        return f"; {what}, {data.notes['dropped']:,} of them dropped, the first at {place}"

    def longest(self) -> int:
        return self.most + 1  # and the end

    def stems(self, part: Family) -> tuple[TokenEmbedding, TokenEmbedding]:
        longest = self.longest()
        reads = encoder_section(part, longest) or part
        target = part.tokens(len(self.target) + 1, max_length=longest)
        tied = target if self.shared and keys(part, EncoderDecoderKeys).tied else None
        return reads.tokens(len(self.source) + 1, max_length=longest, tied=tied), target

    def lengths(self, part: Split) -> Integer[ndarray, " rows"]:
        return part["source"].lengths() + 1

    def batch(self, part: Split, rows: Integer[ndarray, " batch"]) -> Read:
        return Read(*padded([ended(part["source"][row], self.source) for row in rows]))

    def distinct(self, part: Split) -> Integer[ndarray, " sources"]:
        return np.arange(len(part))

    def first(self, part: Split, many: int) -> Integer[ndarray, " shown"]:
        texts: dict[bytes, int] = {}  # a text may come several times, and is shown once
        for row in range(len(part)):
            texts.setdefault(bytes(part["source_texts"][row]), row)
            if len(texts) == many:
                break
        return np.array(list(texts.values()))

    def references(self, part: Split, row: int) -> list[str]:
        return [part.text("target_texts", row)]

    def shown(self, part: Split, row: int) -> dict[str, str]:
        return {"text": part.text("source_texts", row)}

    def unknown(self, given: str) -> list[str]:
        return unseen(given, self.source, self.seen.source)

    def about(self, part: Split, row: int) -> Answer:
        return self.tokens_of(part["source"][row])

    def tokens_of(self, row: Integer[ndarray, " time"]) -> Answer:
        """As a person reads them, the end included."""
        return {"source_tokens": [*self.source.tokens(row.tolist()), END_SIGN]}

    def read(self, given: Sequence[str]) -> tuple[Read, list[Answer]]:
        rows = self.source.encode_batch(list(given))
        for number, (text, row) in enumerate(zip(given, rows, strict=True), start=1):
            self.check(text, row, number)
        told = [{"text": text, **self.tokens_of(row)} for text, row in zip(given, rows, strict=True)]
        return Read(*padded([ended(row, self.source) for row in rows])), told

    def check(self, text: str, row: Integer[ndarray, " time"], number: int) -> None:
        """A sentence for a text that says nothing to the model, or is longer than it can read."""
        if not len(row) or says_nothing(text, self.source, self.seen.source):
            message = f"{text[:40]!r} has no word that the model knows"
            advice = "Give a text in the language that the run translates from"
            raise TextError(number, message, advice, code="unknown-words")
        limit = self.limit()
        if limit is not None and len(row) > limit:
            message = f"{len(row):,} tokens, and the model's positions allow {limit:,}"
            advice = f"Split it, or train with {KeyName('data.max_length', len(row))}"
            raise TextError(number, message, advice, code="too-many-tokens")

    def limit(self) -> int | None:
        """The most tokens of a text that the encoder can read; None for any number."""
        reads = encoder_section(self.experiment.model, self.longest())
        return None if reads is None or reads.length_limit is None else self.most


def sides(encoders: Encoders) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of source and target, which may be one."""
    source: Tokenizer = encoders[SOURCE_FILE]
    return source, encoders.get(TARGET_FILE, source)


def ended(row: Integer[ndarray, " time"], tokenizer: Tokenizer) -> Integer[ndarray, " time+1"]:
    """A text's tokens and the end, whose number comes after all of them."""
    return np.append(row, len(tokenizer)).astype(np.int64)
