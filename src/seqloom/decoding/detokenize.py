"""Tokens to text while they are being written, at a cost a token that does not grow with the text."""

from codecs import getincrementaldecoder
from typing import Protocol

from seqloom.data.tokenizers import Tokenizer
from seqloom.data.tokenizers.byte_level import BYTES, ByteLevelTokenizer


class Reading(Protocol):
    """What reads a text out, token by token: all that it has said is always the beginning of the whole text."""

    def say(self, token: int) -> str:
        """What one more token adds; nothing while a character is incomplete."""


def reading(tokenizer: Tokenizer) -> Reading:
    """One for the tokens of this tokenizer.

    >>> from seqloom.data.tokenizers.byte_level import Byte
    >>> tokenizer = Byte.train([], vocabulary=256, min_count=1, lowercase=False)
    >>> told = reading(tokenizer)
    >>> [told.say(token) for token in tokenizer.encode("né!").tolist()]
    ['n', '', 'é', '!']
    """
    return ReadingBytes(tokenizer) if isinstance(tokenizer, ByteLevelTokenizer) else ReadingTokens(tokenizer)


class ReadingBytes:
    """A character is said when the last of its bytes has come, so the last one of a text may never be."""

    def __init__(self, tokenizer: ByteLevelTokenizer) -> None:
        self.spelt = tokenizer.learned.tokens
        self.decoder = getincrementaldecoder("utf-8")("replace")

    def say(self, token: int) -> str:
        return self.decoder.decode(b"".join(BYTES[character] for character in self.spelt[token]))


class ReadingTokens:
    """How a token is written depends on the one before it, and on no other: whether there is a space between them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.before: list[int] = []

    def say(self, token: int) -> str:
        both = self.tokenizer.decode([*self.before, token])
        told = both[len(self.tokenizer.decode(self.before)) :]
        self.before = [token]
        return told
