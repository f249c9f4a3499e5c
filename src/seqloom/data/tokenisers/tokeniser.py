"""What every tokeniser does: text to numbers and back, and a file that says how."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, normalizers

from seqloom.spec.errors import UserError

UNKNOWN = "<unk>"
Ids = NDArray[np.int32]


class Learned(NamedTuple):
    """All that differs between two tokenisers of one kind."""

    tokens: tuple[str, ...]
    """By id."""
    merges: tuple[tuple[str, str], ...] = ()
    """Which two tokens become one, in the order of learning (bpe)."""
    lowercase: bool = False


class Tokeniser(ABC):
    """Text to ids and back.

    A kind writes `shape` (how the `tokenizers` library says it), `train`, `flaw`, and the way to and from ids.
    """

    kind: ClassVar[str]
    unknown: int | None = None
    """The id of everything that was not learned; None where there is no such thing."""

    def __init__(self, learned: Learned) -> None:
        self.learned = learned
        self.library = self.shape(learned)
        if learned.lowercase:
            self.library.normalizer = normalizers.Lowercase()

    @classmethod
    @abstractmethod
    def shape(cls, learned: Learned) -> Tokenizer:
        """The same tokeniser in the library's parts, lower case aside."""

    @classmethod
    @abstractmethod
    def train(cls, texts: Iterable[str], vocabulary: int, min_count: int, lowercase: bool) -> Self:
        """Learn from all of the texts."""

    @classmethod
    @abstractmethod
    def flaw(cls, learned: Learned) -> str | None:
        """What makes this no tokeniser of the kind, if something does: files come from elsewhere."""

    @abstractmethod
    def numbers(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of texts that are known to be free of lone surrogates."""

    @abstractmethod
    def decode(self, ids: Sequence[int] | Ids) -> str:
        """The text of these ids."""

    def written(self, text: str) -> str:
        """A text with the spaces that `decode` would give it, if every word of it were known."""
        return text

    def unseen(self, text: str) -> list[str]:
        """The characters or words of a text that were not learned, each once."""
        if self.unknown is None:
            return []
        refuse_surrogates(text)
        looked_at = text if self.kind == "word" else "".join(dict.fromkeys(text))
        seen = self.library.encode(looked_at)
        places = (place for token, place in zip(seen.ids, seen.offsets, strict=True) if token == self.unknown)
        return list(dict.fromkeys(looked_at[start:end] for start, end in places))

    def lowered(self, text: str) -> str:
        """What the library makes of capitals: each by itself, where Python looks at its neighbours (Σ, ς)."""
        if not self.learned.lowercase:
            return text
        return text.lower() if text.isascii() else normalizers.Lowercase().normalize_str(text)

    def tokens(self, ids: Sequence[int] | Ids) -> list[str]:
        """Each id as a person would read it; white space stands for itself."""
        return [self.learned.tokens[one] for one in ids]

    def encode(self, text: str) -> Ids:
        """The ids of one text."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of many texts, in the same order."""
        for text in texts:
            refuse_surrogates(text)
        return self.numbers(texts)

    def __len__(self) -> int:
        """How many ids there are."""
        return len(self.learned.tokens)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} tokens)"

    def to_json(self) -> str:
        """The file of the `tokenizers` library: `tokenizers.Tokenizer.from_str` reads it too."""
        return self.library.to_str()

    @classmethod
    def from_json(cls, text: str, place: object = "tokeniser.json") -> "Tokeniser":
        """What `to_json` wrote, of any kind; a `DataError` that begins with `place` for anything else."""
        from seqloom.data.tokenisers.reading import read  # which knows every kind, and so imports this file

        return read(text, place)


def refuse_surrogates(text: str) -> None:
    """A UserError for half of a surrogate pair: no UTF-8 file has one, but an argument of a command may."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            what = f"character {error.start + 1} of the text, U+{ord(text[error.start]):X}, is half of a surrogate pair"
            raise UserError(f"{what}. Remove it, or give the text as UTF-8.") from None


def by_id(vocabulary: Mapping[str, int]) -> tuple[str, ...]:
    """The tokens of a vocabulary whose ids are 0..n-1, in that order."""
    return tuple(sorted(vocabulary, key=vocabulary.__getitem__))


def numbered(tokens: Iterable[str]) -> dict[str, int]:
    """Each token's id, as the library wants it."""
    return {token: number for number, token in enumerate(tokens)}


def pieces(texts: Iterable[str], size: int = 1 << 16) -> Iterator[str]:
    """The same text, cut at white space: the library holds 256 items at a time, whatever their length.

    >>> list(pieces(["a bc def", "g"], size=4))
    ['a ', 'bc ', 'def', 'g']
    """
    for text in texts:
        start = 0
        while len(text) - start > size:
            reach = start + size
            end = text.rfind("\n", start, reach) + 1 or text.rfind(" ", start, reach) + 1 or reach
            yield text[start:end]
            start = end
        yield text[start:]


def parts(tokeniser: Tokenizer) -> dict[str, Any]:
    """The library's JSON, as Python."""
    told: dict[str, Any] = json.loads(tokeniser.to_str())
    return told
