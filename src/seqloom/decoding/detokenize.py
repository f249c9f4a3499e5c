"""Incremental detokenization: the text of each new token, at a cost independent of the text's length."""

from codecs import getincrementaldecoder
from typing import Protocol

from seqloom.data.tokenizers import Tokenizer
from seqloom.data.tokenizers.byte_level import BYTES, ByteLevelTokenizer


class Detokenizer(Protocol):
    def add(self, token: int) -> str:
        """The text that one more token adds; nothing while a character is incomplete."""


def detokenizer(tokenizer: Tokenizer) -> Detokenizer:
    """The incremental detokenizer for this tokenizer.

    >>> from seqloom.data.tokenizers.byte_level import Byte
    >>> tokenizer = Byte.train([], vocabulary_size=256, min_count=1, lowercase=False)
    >>> stream = detokenizer(tokenizer)
    >>> [stream.add(token) for token in tokenizer.encode("né!").tolist()]
    ['n', '', 'é', '!']
    """
    return ByteDetokenizer(tokenizer) if isinstance(tokenizer, ByteLevelTokenizer) else PairDetokenizer(tokenizer)


class ByteDetokenizer:
    """A character is complete with its last byte, so the last character of a text may stay incomplete."""

    def __init__(self, tokenizer: ByteLevelTokenizer) -> None:
        self.tokens = tokenizer.parameters.tokens
        self.decoder = getincrementaldecoder("utf-8")("replace")

    def add(self, token: int) -> str:
        return self.decoder.decode(b"".join(BYTES[character] for character in self.tokens[token]))


class PairDetokenizer:
    """A token's text depends only on the token before it, which decides whether there is a space between them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.previous: list[int] = []

    def add(self, token: int) -> str:
        pair = self.tokenizer.decode([*self.previous, token])
        text = pair[len(self.tokenizer.decode(self.previous)) :]
        self.previous = [token]
        return text
