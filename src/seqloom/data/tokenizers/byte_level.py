"""Tokenizers of UTF-8 bytes: one token per byte, and byte pair encoding."""

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from tokenizers import Tokenizer as HFTokenizer
from tokenizers import decoders, models, pre_tokenizers, trainers

from seqloom.core.problem import KeyName, UserError
from seqloom.data.tokenizers.library import (
    LibraryTokenizer,
    TokenizerParameters,
    ids_by_token,
    library_state,
    tokens_by_id,
)
from seqloom.data.tokenizers.tokenizer import Ids


def gpt2_alphabet() -> tuple[str, ...]:
    """GPT-2's character for each byte: its own if visible, otherwise one from U+0100 on (Radford et al. 2019)."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in visible else next(others)) for byte in range(256))


ALPHABET = gpt2_alphabet()
BYTES = {character: bytes([byte]) for byte, character in enumerate(ALPHABET)}
MIN_SIZE = len(ALPHABET) + 1  # of a vocabulary of bpe


class ByteLevelTokenizer(LibraryTokenizer):
    """Tokens are sequences of bytes: no text is out of vocabulary, and decoding is lossless."""

    use_regex = False  # whether the library splits the text into words first

    def __init__(self, parameters: TokenizerParameters) -> None:
        super().__init__(parameters)
        self._bytes = [b"".join(BYTES[character] for character in token) for token in parameters.tokens]

    @classmethod
    def build(cls, parameters: TokenizerParameters) -> HFTokenizer:
        library = HFTokenizer(models.BPE(ids_by_token(parameters.tokens), list(parameters.merges)))
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=cls.use_regex)
        library.decoder = decoders.ByteLevel()
        return library

    def decode(self, ids: Sequence[int] | Ids) -> str:
        return b"".join(self._bytes[id] for id in ids).decode(errors="replace")

    def tokens(self, ids: Sequence[int] | Ids) -> list[str]:
        """An incomplete character is shown as its bytes: \\xe2."""
        return [self._bytes[id].decode(errors="backslashreplace") for id in ids]


class Byte(ByteLevelTokenizer):
    """Each byte is a token, with the byte as its id; numpy encodes about a hundred times as fast as the library.

    >>> tokenizer = Byte.train([], vocabulary_size=256, min_count=1, lowercase=False)
    >>> tokenizer.encode("né").tolist()
    [110, 195, 169]
    >>> tokenizer.decode([110, 195, 169])
    'né'
    """

    kind = "byte"

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary_size: int, min_count: int, lowercase: bool) -> Self:
        """The texts are not read: there is nothing to learn."""
        return cls(TokenizerParameters(ALPHABET, lowercase=lowercase))

    @classmethod
    def invalid_reason(cls, parameters: TokenizerParameters) -> str | None:
        is_valid = parameters.tokens == ALPHABET and not parameters.merges
        return None if is_valid else "its tokens are not the 256 bytes in order"

    def encode_valid(self, texts: Sequence[str]) -> list[Ids]:
        return [np.frombuffer(self.normalize(text).encode(), dtype=np.uint8).astype(np.int32) for text in texts]

    def decode(self, ids: Sequence[int] | Ids) -> str:
        return np.asarray(ids, dtype=np.uint8).tobytes().decode(errors="replace")


class BPE(ByteLevelTokenizer):
    """Byte pair encoding over bytes (Sennrich et al. 2016; Radford et al. 2019).

    Training starts from the 256 bytes and repeatedly merges the most frequent pair within words into a new token, as
    long as a pair occurs twice.

    >>> tokenizer = BPE.train(["low lower lowest"] * 9, vocabulary_size=300, min_count=1, lowercase=False)
    >>> tokenizer.tokens(tokenizer.encode("lowest slow"))
    ['low', 'e', 'st', ' ', 's', 'low']
    """

    kind = "bpe"
    use_regex = True

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary_size: int, min_count: int, lowercase: bool) -> Self:
        if vocabulary_size < MIN_SIZE:
            message = f"{KeyName('data.vocabulary_size')} is {vocabulary_size}, and bpe begins with 256 bytes"
            raise UserError(message, f"Use {MIN_SIZE} or more, or {KeyName('data.tokenizer', 'byte')}")
        trainer = trainers.BpeTrainer(
            vocab_size=vocabulary_size,
            min_frequency=max(2, min_count),
            initial_alphabet=list(ALPHABET),
            show_progress=False,
        )
        library = cls.train_library(trainer, texts, lowercase)
        merges = tuple((left, right) for left, right in library_state(library)["model"]["merges"])
        return cls(TokenizerParameters(tokens_by_id(library.get_vocab()), merges, lowercase))

    @classmethod
    def invalid_reason(cls, parameters: TokenizerParameters) -> str | None:
        tokens = set(parameters.tokens)
        if not tokens.issuperset(ALPHABET):
            return "a byte is missing from its tokens"
        if not set("".join(parameters.tokens)).issubset(ALPHABET):
            return "a token is not made of bytes"
        if any(not tokens.issuperset((left, right, left + right)) for left, right in parameters.merges):
            return "a merge is not of its tokens"
        return None
