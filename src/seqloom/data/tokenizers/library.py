"""Tokenizers that the `tokenizers` library can express, saved in its file format."""

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from tokenizers import Tokenizer as HFTokenizer
from tokenizers import normalizers, trainers

from seqloom.data.tokenizers.tokenizer import Ids, State, Tokenizer, refuse_surrogates

UNKNOWN = "<unk>"
COMPONENTS = ("pre_tokenizer", "decoder", "post_processor", "model")
LOWERCASE = {"type": "Lowercase"}


class Learned(NamedTuple):
    """All that differs between two tokenizers of one kind.

    tokens: by id
    merges: which two tokens become one, in the order of learning (bpe)
    """

    tokens: tuple[str, ...] = ()
    merges: tuple[tuple[str, str], ...] = ()
    lowercase: bool = False


class LibraryTokenizer(Tokenizer):
    """A kind writes `build` (its equivalent in the library), `train`, `flaw` and `decode`."""

    lossless = True

    def __init__(self, learned: Learned) -> None:
        self.learned, self.lowercase = learned, learned.lowercase
        self.lossless = self.lossless and not learned.lowercase
        self.library = self.build(learned)
        if learned.lowercase:
            self.library.normalizer = normalizers.Lowercase()

    @classmethod
    @abstractmethod
    def build(cls, learned: Learned) -> HFTokenizer:
        """The same tokenizer in the library's components, without lower case."""

    @classmethod
    @abstractmethod
    def flaw(cls, learned: Learned) -> str | None:
        """Why this is no tokenizer of the kind, if it is none: files may come from strangers."""

    @classmethod
    def train_library(cls, trainer: trainers.Trainer, texts: Iterable[str], lowercase: bool) -> HFTokenizer:
        library = cls.build(Learned())
        if lowercase:
            library.normalizer = normalizers.Lowercase()
        library.train_from_iterator(split_at_spaces(texts), trainer)
        return library

    def encode_valid(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of texts without lone surrogates."""
        return [np.array(encoding.ids, dtype=np.int32) for encoding in self.library.encode_batch_fast(list(texts))]

    def ids(self, text: str) -> Ids:
        return self.encode_valid([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        for text in texts:
            refuse_surrogates(text)
        return self.encode_valid(texts)

    def unknown_in(self, text: str) -> list[str]:
        if self.unknown is None:
            return []
        refuse_surrogates(text)
        text = text if self.kind == "word" else "".join(dict.fromkeys(text))
        encoding = self.library.encode(text)
        spans = (span for token, span in zip(encoding.ids, encoding.offsets, strict=True) if token == self.unknown)
        return list(dict.fromkeys(text[start:end] for start, end in spans))

    def normalize(self, text: str) -> str:
        """As the library does: each capital by itself, where Python looks at its neighbors (Σ, ς)."""
        if not self.lowercase:
            return text
        return text.lower() if text.isascii() else normalizers.Lowercase().normalize_str(text)

    def tokens(self, ids: Sequence[int] | Ids) -> list[str]:
        return [self.learned.tokens[id] for id in ids]

    def __len__(self) -> int:
        return len(self.learned.tokens)

    def to_json(self) -> str:
        """The library's file, which `tokenizers.Tokenizer.from_str` reads too."""
        return self.library.to_str()

    def state(self) -> State:
        return library_state(self.library)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Uses nothing but tokens, merges and lower case."""
        learned = parse_learned(state)
        flaw = "its tokens are not numbered 0 to n-1" if learned is None else cls.flaw(learned)
        if learned is None or flaw is not None:
            raise ValueError(flaw)
        return cls(learned)

    @classmethod
    def matches(cls, state: State) -> bool:
        """Whether all components of a file of the library are those of this kind."""
        if state.get("added_tokens") or state.get("normalizer") not in (None, LOWERCASE):
            return False
        own = library_state(cls.build(Learned()))
        return all(same_settings(state.get(name), own[name]) for name in COMPONENTS)


def library_state(library: HFTokenizer) -> State:
    state: State = json.loads(library.to_str())
    return state


def same_settings(one: object, other: object) -> bool:
    """Whether two components agree, apart from what was learned and from settings that only one version has."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return one == other
    common = (one.keys() & other.keys()) - {"vocab", "merges"}
    return "type" in common and all(one[name] == other[name] for name in common)


def parse_learned(state: State) -> Learned | None:
    """What a file holds, if it has the right types, consecutive ids, and valid Unicode."""
    vocabulary, merges = state["model"].get("vocab"), state["model"].get("merges", [])
    if not isinstance(vocabulary, dict) or not isinstance(merges, list):
        return None
    if any(type(id) is not int for id in vocabulary.values()):
        return None
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        return None
    for merge in merges:
        if not isinstance(merge, list) or len(merge) != 2 or not all(isinstance(token, str) for token in merge):
            return None
    try:
        "".join(vocabulary).encode()
    except UnicodeEncodeError:
        return None
    lowercase = state.get("normalizer") == LOWERCASE
    return Learned(tokens_by_id(vocabulary), tuple((left, right) for left, right in merges), lowercase)


def tokens_by_id(vocabulary: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(sorted(vocabulary, key=vocabulary.__getitem__))


def ids_by_token(tokens: Iterable[str]) -> dict[str, int]:
    return {token: id for id, token in enumerate(tokens)}


def split_at_spaces(texts: Iterable[str], size: int = 1 << 16) -> Iterator[str]:
    """The same text in pieces of at most `size`: the library holds 256 pieces at a time, whatever their length.

    >>> list(split_at_spaces(["a bc def", "g"], size=4))
    ['a ', 'bc ', 'def', 'g']
    """
    for text in texts:
        start = 0
        while len(text) - start > size:
            stop = start + size
            end = text.rfind("\n", start, stop) + 1 or text.rfind(" ", start, stop) + 1 or stop
            yield text[start:end]
            start = end
        yield text[start:]
