"""The interface of tokenizers: text to ids and back, and a file with all that was learned."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.core.part import Part
from seqloom.core.problem import ArgumentError, UserError
from seqloom.core.wording import short_repr

Ids = NDArray[np.int32]
State = dict[str, Any]
"""A JSON object."""


class Tokenizer(ABC):
    """Text to ids and back. A user-defined tokenizer implements the abstract methods, and sets `unknown`, `lowercase`
    and `lossless` if the defaults are wrong for it. Registration sets `kind` and `part`.

    kind: the name under which it is registered
    part: the user-defined part that it is, for error messages; None for a built-in tokenizer
    unknown: the id of everything that was not learned; None if nothing is unknown
    lowercase: whether it converts capitals
    lossless: whether the ids determine the text, so that bits per character can be computed; an unknown token then
        stands for one character
    """

    kind: ClassVar[str] = ""
    part: ClassVar[Part | None] = None
    unknown: int | None = None
    lowercase: bool = False
    lossless: bool = False

    @classmethod
    @abstractmethod
    def train(cls, texts: Iterable[str], vocabulary_size: int, min_count: int, lowercase: bool) -> Self:
        """Learn at most `vocabulary_size` tokens, each of which occurs at least `min_count` times in the texts."""

    @abstractmethod
    def ids(self, text: str) -> Sequence[int] | Ids:
        """The ids of one text."""

    @abstractmethod
    def decode(self, ids: Sequence[int] | Ids) -> str:
        """The text of these ids. What an id adds may depend only on the id before it."""

    @abstractmethod
    def tokens(self, ids: Sequence[int] | Ids) -> list[str]:
        """The readable form of each id; white space is not escaped."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of ids."""

    @abstractmethod
    def state(self) -> State:
        """All that was learned."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: State) -> Self:
        """The tokenizer of a `state`; an error for any other object, since a run may come from a stranger."""

    def encode(self, text: str) -> Ids:
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        for text in texts:
            refuse_surrogates(text)
        return [self._checked_ids(text) for text in texts]

    def _checked_ids(self, text: str) -> Ids:
        part = self.part
        ids = self.ids(text) if part is None else part.call(self.ids, text)
        array = np.asarray(ids)
        is_valid = array.ndim == 1 and (array.dtype.kind in "iu" or not len(array))
        if not is_valid or (len(array) and not 0 <= array.min() <= array.max() < len(self)):
            if part is None:
                raise ArgumentError(type(self).__name__, "ids", short_repr(ids), f"ids from 0 to {len(self) - 1}")
            raise part.misfit(f"gave {short_repr(ids)}, not ids from 0 to {len(self) - 1}", "Give a list of those")
        return array.astype(np.int32)

    def respace(self, text: str) -> str:
        """The text with the spaces that `decode` would write if every word were known."""
        return text

    def unknown_in(self, text: str) -> list[str]:
        """The distinct characters or words of a text that were not learned."""
        if self.unknown is None:
            return []
        return [word for word in dict.fromkeys(text.split()) if self.unknown in self.encode(word)]

    def normalize(self, text: str) -> str:
        """The text as it is encoded: in lower case, if `lowercase`."""
        return text.lower() if self.lowercase else text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} tokens)"

    def to_json(self) -> str:
        """The content of its file."""
        return json.dumps({"tokenizer": self.kind, "state": self.state()}, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str, location: object = "tokenizer.json") -> "Tokenizer":
        """The tokenizer of any kind that `to_json` wrote; a `DataError` with this location for any other text."""
        from seqloom.data.tokenizers.registry import read_tokenizer  # imports this module

        return read_tokenizer(text, location)


def refuse_surrogates(text: str) -> None:
    """Refuse half of a surrogate pair: no UTF-8 file has one, but a command-line argument can."""
    try:
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError as error:
        character = f"U+{ord(text[error.start]):X}"
        message = f"character {error.start + 1} of the text, {character}, is half of a surrogate pair"
        raise UserError(message, "Remove it, or give the text as UTF-8") from None
