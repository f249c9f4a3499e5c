"""Tokenizers built on the `tokenizers` library, saved in its file format."""

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


class TokenizerParameters(NamedTuple):
    """What a tokenizer learned in training.

    tokens: in the order of their ids
    merges: the pairs of tokens that are merged, in the order in which they were learned (bpe)
    """

    tokens: tuple[str, ...] = ()
    merges: tuple[tuple[str, str], ...] = ()
    lowercase: bool = False


class LibraryTokenizer(Tokenizer):
    """A subclass implements `build` (its equivalent in the library), `train`, `invalid_reason` and `decode`."""

    lossless = True

    def __init__(self, parameters: TokenizerParameters) -> None:
        self.parameters, self.lowercase = parameters, parameters.lowercase
        self.lossless = self.lossless and not parameters.lowercase
        self.library = self.build(parameters)
        if parameters.lowercase:
            self.library.normalizer = normalizers.Lowercase()

    @classmethod
    @abstractmethod
    def build(cls, parameters: TokenizerParameters) -> HFTokenizer:
        """The same tokenizer made of the library's components, without the conversion to lower case."""

    @classmethod
    @abstractmethod
    def invalid_reason(cls, parameters: TokenizerParameters) -> str | None:
        """Why these parameters are not valid for this kind, or None: a file may come from a stranger."""

    @classmethod
    def train_library(cls, trainer: trainers.Trainer, texts: Iterable[str], lowercase: bool) -> HFTokenizer:
        library = cls.build(TokenizerParameters())
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
        """The text as it is encoded. The library lowers each capital by itself; Python writes a final Σ as ς."""
        if not self.lowercase:
            return text
        return text.lower() if text.isascii() else normalizers.Lowercase().normalize_str(text)

    def tokens(self, ids: Sequence[int] | Ids) -> list[str]:
        return [self.parameters.tokens[id] for id in ids]

    def __len__(self) -> int:
        return len(self.parameters.tokens)

    def to_json(self) -> str:
        """The library's file, which `tokenizers.Tokenizer.from_str` reads too."""
        return self.library.to_str()

    def state(self) -> State:
        return library_state(self.library)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Uses only the tokens, the merges and `lowercase`."""
        parameters = parse_parameters(state)
        if parameters is None:
            raise ValueError("its tokens are not numbered 0 to n-1")
        if (reason := cls.invalid_reason(parameters)) is not None:
            raise ValueError(reason)
        return cls(parameters)

    @classmethod
    def matches(cls, state: State) -> bool:
        """Whether the state of a library tokenizer has the components of this kind."""
        if state.get("added_tokens") or state.get("normalizer") not in (None, LOWERCASE):
            return False
        expected = library_state(cls.build(TokenizerParameters()))
        return all(same_settings(state.get(name), expected[name]) for name in COMPONENTS)


def library_state(library: HFTokenizer) -> State:
    state: State = json.loads(library.to_str())
    return state


def same_settings(first: object, second: object) -> bool:
    """Whether two components agree, apart from what was learned and from settings that only one version has."""
    if not isinstance(first, dict) or not isinstance(second, dict):
        return first == second
    common = (first.keys() & second.keys()) - {"vocab", "merges"}
    return "type" in common and all(first[name] == second[name] for name in common)


def parse_parameters(state: State) -> TokenizerParameters | None:
    """The parameters in a file; None if a type is wrong, ids are not consecutive or a token is not valid Unicode."""
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
    return TokenizerParameters(tokens_by_id(vocabulary), tuple((left, right) for left, right in merges), lowercase)


def tokens_by_id(vocabulary: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(sorted(vocabulary, key=vocabulary.__getitem__))


def ids_by_token(tokens: Iterable[str]) -> dict[str, int]:
    return {token: id for id, token in enumerate(tokens)}


def split_at_spaces(texts: Iterable[str], size: int = 1 << 16) -> Iterator[str]:
    """The same texts in chunks of at most `size` characters: the library holds 256 at a time, whatever their length.

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
