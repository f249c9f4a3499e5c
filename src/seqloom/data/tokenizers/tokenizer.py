"""What every tokenizer does: text to ids and back, and a file that says how."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.core.part_checks import call_part, misfit
from seqloom.core.problem import UserError
from seqloom.core.registry import short_repr

Ids = NDArray[np.int32]
Saved = dict[str, Any]
"""An object of JSON."""


class Tokenizer(ABC):
    """Text to ids and back. A user-defined tokenizer writes the abstract methods, and says these:

    kind: the name under which it is registered, which registration sets
    unknown: the id of everything that was not learned; None where there is no such thing
    lowercase: whether it makes capitals small
    lossless: whether the ids hold all of a text, so that bits per character are of that text; a token for what is
        unknown then stands for one character
    """

    kind: ClassVar[str] = ""
    unknown: int | None = None
    lowercase: bool = False
    lossless: bool = False

    @classmethod
    @abstractmethod
    def train(cls, texts: Iterable[str], vocabulary: int, min_count: int, lowercase: bool) -> Self:
        """Learn from all of the texts: at most so many tokens, each seen so often at least."""

    @abstractmethod
    def ids(self, text: str) -> Sequence[int] | Ids:
        """The ids of one text."""

    @abstractmethod
    def decode(self, ids: Sequence[int] | Ids) -> str:
        """The text of these ids. What an id adds to it depends on no other than the one before."""

    @abstractmethod
    def tokens(self, ids: Sequence[int] | Ids) -> list[str]:
        """Each id as a person would read it; white space stands for itself."""

    @abstractmethod
    def __len__(self) -> int:
        """How many ids there are."""

    @abstractmethod
    def state(self) -> Saved:
        """All that was learned, as JSON can say it."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Saved) -> Self:
        """The reverse; an error for what `state` did not write, since a run may come from a stranger."""

    def encode(self, text: str) -> Ids:
        """The ids of one text."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of many texts, in the same order."""
        for text in texts:
            refuse_surrogates(text)
        return [self._checked(text) for text in texts]

    def _checked(self, text: str) -> Ids:
        """The ids of a text as an array, if they are ids."""
        ids = call_part("tokenizer", self.kind, type(self), lambda: self.ids(text))
        array = np.asarray(ids)
        whole = array.ndim == 1 and (array.dtype.kind in "iu" or not len(array))
        if not whole or (len(array) and not 0 <= array.min() <= array.max() < len(self)):
            reason = f"gave {short_repr(ids)}, not ids from 0 to {len(self) - 1}"
            raise misfit("tokenizer", self.kind, type(self), reason, "Give a list of those")
        return array.astype(np.int32)

    def written(self, text: str) -> str:
        """A text with the spaces that `decode` would give it, if every word of it were known."""
        return text

    def unseen(self, text: str) -> list[str]:
        """The characters or words of a text that were not learned, each once."""
        if self.unknown is None:
            return []
        return [word for word in dict.fromkeys(text.split()) if self.unknown in self.encode(word)]

    def lowered(self, text: str) -> str:
        """A text as it is read."""
        return text.lower() if self.lowercase else text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} tokens)"

    def to_json(self) -> str:
        """Its file: its kind and what it learned."""
        return json.dumps({"tokenizer": self.kind, "state": self.state()}, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str, location: object = "tokenizer.json") -> "Tokenizer":
        """What `to_json` wrote, of any kind; a `DataError` that begins with `location` for anything else."""
        from seqloom.data.tokenizers.registry import read  # which knows every kind, and so imports this file

        return read(text, location)


def refuse_surrogates(text: str) -> None:
    """A UserError for half of a surrogate pair: no UTF-8 file has one, but an argument of a command may."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            what = f"character {error.start + 1} of the text, U+{ord(text[error.start]):X}, is half of a surrogate pair"
            raise UserError(what, "Remove it, or give the text as UTF-8") from None
