"""What is translated: a text here, pictures and features in `pictures`. All that a task must know of it is the same."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Int, Integer, Shaped
from numpy import ndarray
from torch import Tensor

from seqloom.data.origin import Origin
from seqloom.data.paired import SOURCE, TARGET, PairedData, PairedPart, paired, paired_to_test
from seqloom.data.split import TRAIN
from seqloom.data.tokenisers import Tokeniser
from seqloom.data.wording import counted
from seqloom.nn.layer import Layer
from seqloom.nn.stems import Tokens
from seqloom.nn.vision import ImageStem
from seqloom.spec.config.encoder import encoder_of
from seqloom.spec.config.model import AnyModel, Mixer, Transformer
from seqloom.spec.errors import TextError
from seqloom.tasks.bodies import tokens
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.rows import padded
from seqloom.tasks.seen import Seen, characters, says_nothing, unseen

END_SIGN = "</s>"  # how the end is shown

SomePart = TypeVar("SomePart")


class Read(NamedTuple):
    """Sources as a model reads them: of images all is real, and there are no lengths."""

    source: Shaped[Tensor, "batch *rest"]
    lengths: Int[Tensor, " batch"] | None


class Source(ABC, Generic[SomePart]):
    """One kind of source.

    target: the tokeniser of what is written about it
    seen: the characters that were learned from
    """

    answer: str  # what the answer is called
    seen: Seen = Seen()
    ends: int = 0  # how many of a source's positions are not its own: the end of a text
    target: Tokeniser

    @classmethod
    @abstractmethod
    def prepare(cls, experiment: Experiment, origin: Origin) -> tuple["Source[Any]", Any]:
        """The kind of source that the data have, and the data."""

    @classmethod
    @abstractmethod
    def from_files(cls, experiment: Experiment, files: Mapping[str, str]) -> "Source[Any]":
        """From the files of a run's vocabulary folder."""

    @abstractmethod
    def files(self) -> dict[str, str]:
        """The vocabulary folder."""

    @abstractmethod
    def to_test(self, origin: Origin, folder: Path) -> Any:
        """Files to test on, read as this run's were; `folder` is for arrays."""

    @abstractmethod
    def described(self) -> str:
        """The vocabularies, for a person."""

    @abstractmethod
    def reported(self, data: Any) -> str:
        """What of the data is odd or could not be used, for a person; nothing where all is well."""

    @abstractmethod
    def longest(self) -> int:
        """The most positions that the model is built for."""

    @abstractmethod
    def stems(self, part: AnyModel) -> tuple[Layer | ImageStem, Tokens]:
        """Of the source and of the target."""

    @abstractmethod
    def lengths(self, part: SomePart) -> Integer[ndarray, " rows"]:
        """Of the sources of all rows."""

    @abstractmethod
    def batch(self, part: SomePart, rows: Integer[ndarray, " batch"]) -> Read:
        """The sources of some rows."""

    @abstractmethod
    def distinct(self, part: SomePart) -> Integer[ndarray, " sources"]:
        """A row for each source that is to be answered once."""

    def first(self, part: SomePart, many: int) -> Integer[ndarray, " shown"]:
        """The first rows, in order, to be shown as examples."""
        return np.sort(self.distinct(part)[:many])

    @abstractmethod
    def references(self, part: SomePart, row: int) -> list[str]:
        """All that the answer to a row's source might be."""

    @abstractmethod
    def shown(self, part: SomePart, row: int) -> dict[str, Any]:
        """A row's source in a report."""

    @abstractmethod
    def about(self, part: SomePart, row: int) -> dict[str, Any]:
        """What of a row's source is looked at, as an answer says it: its tokens, or how many regions it has."""

    def unknown(self, given: str) -> list[str]:
        """What of a source the model has never seen, where that can be said."""
        return []

    @abstractmethod
    def read(self, given: Sequence[str]) -> tuple[Read, list[dict[str, Any]]]:
        """What a person gave, and what an answer says of each; a sentence if it can't be used."""


class Texts(Source[PairedPart]):
    """Tokens, then the end. With a shared vocabulary both tokenisers are one."""

    answer = "translation"
    ends = 1

    def __init__(self, experiment: Experiment, source: Tokeniser, target: Tokeniser, seen: Seen = Source.seen) -> None:
        self.experiment, self.source, self.target, self.seen = experiment, source, target, seen
        self.most = experiment.data.max_length or 1 << 20

    @classmethod
    def prepare(cls, experiment: Experiment, origin: Origin) -> tuple["Texts", PairedData]:
        data = paired(origin)
        learnt = data.parts[TRAIN]
        seen = Seen(characters(learnt.source_texts, data.source), characters(learnt.target_texts, data.target))
        return cls(experiment, data.source, data.target, seen), data

    @classmethod
    def from_files(cls, experiment: Experiment, files: Mapping[str, str]) -> "Texts":
        source = Tokeniser.from_json(files[SOURCE], SOURCE)
        target = source if experiment.data.shared_vocabulary else Tokeniser.from_json(files[TARGET], TARGET)
        return cls(experiment, source, target, Seen.from_files(files))

    @property
    def shared(self) -> bool:
        """Whether both languages have one vocabulary."""
        return self.source is self.target

    def files(self) -> dict[str, str]:
        told = {SOURCE: self.source.to_json(), **self.seen.files()}
        return told if self.shared else {**told, TARGET: self.target.to_json()}

    def to_test(self, origin: Origin, folder: Path) -> PairedData:
        return paired_to_test(origin, folder, self.source, self.target)

    def described(self) -> str:
        if self.shared:
            return f"{len(self.source):,} {self.source.kind} tokens for both"
        return f"{len(self.source):,} and {len(self.target):,} {self.source.kind} tokens"

    def reported(self, data: PairedData) -> str:
        if not data.odd:
            return ""
        what = f"{counted(data.odd, 'pair')} with over {self.experiment.data.max_ratio:g} times the tokens on one side"
        return f"; {what}, {data.dropped:,} of them dropped, the first at {data.odd_at}"

    def longest(self) -> int:
        return self.most + 1  # and the end

    def stems(self, part: AnyModel) -> tuple[Tokens, Tokens]:
        longest = self.longest()
        reads = encoder_of(part, longest) or part
        target = tokens(part, len(self.target) + 1, longest=longest)
        tied = target if self.shared and part.tied else None
        return tokens(reads, len(self.source) + 1, longest=longest, tied=tied), target

    def lengths(self, part: PairedPart) -> Integer[ndarray, " rows"]:
        return part.source.lengths() + 1

    def batch(self, part: PairedPart, rows: Integer[ndarray, " batch"]) -> Read:
        return Read(*padded([ended(part.source[row], self.source) for row in rows]))

    def distinct(self, part: PairedPart) -> Integer[ndarray, " sources"]:
        return np.arange(len(part))

    def first(self, part: PairedPart, many: int) -> Integer[ndarray, " shown"]:
        texts: dict[bytes, int] = {}  # a text may come several times, and is shown once
        for row in range(len(part)):
            texts.setdefault(bytes(part.source_texts[row]), row)
            if len(texts) == many:
                break
        return np.array(list(texts.values()))

    def references(self, part: PairedPart, row: int) -> list[str]:
        return [bytes(part.target_texts[row]).decode()]

    def shown(self, part: PairedPart, row: int) -> dict[str, Any]:
        return {"text": bytes(part.source_texts[row]).decode()}

    def unknown(self, given: str) -> list[str]:
        return unseen(given, self.source, self.seen.source)

    def about(self, part: PairedPart, row: int) -> dict[str, Any]:
        return self.tokens_of(part.source[row])

    def tokens_of(self, row: Integer[ndarray, " time"]) -> dict[str, Any]:
        """As a person reads them, the end included."""
        return {"source_tokens": [*self.source.tokens(row.tolist()), END_SIGN]}

    def read(self, given: Sequence[str]) -> tuple[Read, list[dict[str, Any]]]:
        rows = self.source.encode_batch(list(given))
        for number, (text, row) in enumerate(zip(given, rows, strict=True), start=1):
            self.check(text, row, number)
        told = [{"text": text, **self.tokens_of(row)} for text, row in zip(given, rows, strict=True)]
        return Read(*padded([ended(row, self.source) for row in rows])), told

    def check(self, text: str, row: Integer[ndarray, " time"], number: int) -> None:
        """A sentence for a text that says nothing to the model, or is longer than it can read."""
        if not len(row) or says_nothing(text, self.source, self.seen.source):
            what = f"{text[:40]!r} has no word that the model knows"
            raise TextError(number, what, "Give a text in the language that the run translates from")
        limit = self.limit()
        if limit is not None and len(row) > limit:
            do = f"Split it, or train with --data.max-length {len(row)}"
            raise TextError(number, f"{len(row):,} tokens, and the model's positions allow {limit:,}", do)

    def limit(self) -> int | None:
        """The most tokens of a text that the encoder can read; None for any number."""
        part = self.experiment.model
        limited = isinstance(encoder_of(part, self.longest()), Transformer | Mixer)
        return self.most if limited else None


def ended(row: Integer[ndarray, " time"], tokeniser: Tokeniser) -> Integer[ndarray, " time+1"]:
    """A text's tokens and the end, whose number comes after all of them."""
    return np.append(row, len(tokeniser)).astype(np.int64)
