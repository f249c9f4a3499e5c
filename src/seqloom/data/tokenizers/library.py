"""Tokenizers that the `tokenizers` library can say: its parts, its file format."""

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Self

from tokenizers import Tokenizer as HFTokenizer
from tokenizers import normalizers

from seqloom.data.tokenizers.tokenizer import Ids, Saved, Tokenizer, refuse_surrogates

UNKNOWN = "<unk>"
PARTS = ("pre_tokenizer", "decoder", "post_processor", "model")
LOWERCASE = {"type": "Lowercase"}


class Learned(NamedTuple):
    """All that differs between two tokenizers of one kind."""

    tokens: tuple[str, ...]
    """By id."""
    merges: tuple[tuple[str, str], ...] = ()
    """Which two tokens become one, in the order of learning (bpe)."""
    lowercase: bool = False


EMPTY = Learned(())


class LibraryTokenizer(Tokenizer):
    """A kind writes `shape` (how the library says it), `train`, `flaw`, and the way to and from ids."""

    lossless = True

    def __init__(self, learned: Learned) -> None:
        self.learned, self.lowercase = learned, learned.lowercase
        self.lossless = self.lossless and not learned.lowercase
        self.library = self.shape(learned)
        if learned.lowercase:
            self.library.normalizer = normalizers.Lowercase()

    @classmethod
    @abstractmethod
    def shape(cls, learned: Learned) -> HFTokenizer:
        """The same tokenizer in the library's parts, lower case aside."""

    @classmethod
    @abstractmethod
    def flaw(cls, learned: Learned) -> str | None:
        """What makes this no tokenizer of the kind, if something does: files come from elsewhere."""

    @abstractmethod
    def numbers(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of texts that are known to be free of lone surrogates."""

    def ids(self, text: str) -> Ids:
        return self.numbers([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        for text in texts:
            refuse_surrogates(text)
        return self.numbers(texts)

    def unseen(self, text: str) -> list[str]:
        if self.unknown is None:
            return []
        refuse_surrogates(text)
        looked_at = text if self.kind == "word" else "".join(dict.fromkeys(text))
        seen = self.library.encode(looked_at)
        locations = (location for token, location in zip(seen.ids, seen.offsets, strict=True) if token == self.unknown)
        return list(dict.fromkeys(looked_at[start:end] for start, end in locations))

    def lowered(self, text: str) -> str:
        """What the library makes of capitals: each by itself, where Python looks at its neighbours (Σ, ς)."""
        if not self.lowercase:
            return text
        return text.lower() if text.isascii() else normalizers.Lowercase().normalize_str(text)

    def tokens(self, ids: Sequence[int] | Ids) -> list[str]:
        return [self.learned.tokens[one] for one in ids]

    def __len__(self) -> int:
        return len(self.learned.tokens)

    def to_json(self) -> str:
        """The file of the library: `tokenizers.Tokenizer.from_str` reads it too."""
        return self.library.to_str()

    def state(self) -> Saved:
        return parts(self.library)

    @classmethod
    def from_state(cls, state: Saved) -> Self:
        """Nothing but tokens, merges and lower case is used."""
        learned = learned_from(state)
        if learned is None:
            raise ValueError("its tokens are not numbered 0 to n-1")
        flaw = cls.flaw(learned)
        if flaw is not None:
            raise ValueError(flaw)
        return cls(learned)

    @classmethod
    def is_said_by(cls, state: Saved) -> bool:
        """Whether a file of the library is of this kind, in all of its parts."""
        if state.get("added_tokens") or state.get("normalizer") not in (None, LOWERCASE):
            return False
        ours = parts(cls.shape(EMPTY))
        return all(agree(state.get(name), ours[name]) for name in PARTS)


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


def parts(tokenizer: HFTokenizer) -> Saved:
    """The library's JSON, as Python."""
    told: Saved = json.loads(tokenizer.to_str())
    return told


def agree(theirs: object, ours: object) -> bool:
    """Whether two parts mean the same, what was learned aside; a setting unknown to one version is no difference."""
    if not isinstance(theirs, dict) or not isinstance(ours, dict):
        return theirs == ours
    common = (theirs.keys() & ours.keys()) - {"vocab", "merges"}
    return "type" in common and all(theirs[name] == ours[name] for name in common)


def learned_from(told: Saved) -> Learned | None:
    """What the file learned, if it has the right types, ids that are dense, and nothing but Unicode."""
    vocabulary, merges = told["model"].get("vocab"), told["model"].get("merges", [])
    if not isinstance(vocabulary, dict) or not isinstance(merges, list):
        return None
    if any(type(number) is not int for number in vocabulary.values()):
        return None
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        return None
    for merge in merges:
        if not isinstance(merge, list) or len(merge) != 2 or not all(isinstance(side, str) for side in merge):
            return None
    try:
        "".join(vocabulary).encode()
    except UnicodeEncodeError:
        return None
    lowercase = told.get("normalizer") == LOWERCASE
    return Learned(by_id(vocabulary), tuple((left, right) for left, right in merges), lowercase)
