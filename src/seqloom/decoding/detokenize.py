"""Tokens to text while they are being written, at a cost a token that does not grow with the text."""

from codecs import getincrementaldecoder
from typing import Protocol

from seqloom.data.tokenizers import Tokeniser
from seqloom.data.tokenizers.byte_level import BYTES, OfBytes


class Reading(Protocol):
    """What reads a text out, token by token: all that it has said is always the beginning of the whole text."""

    def say(self, token: int) -> str:
        """What one more token adds; nothing while a character is incomplete."""


def reading(tokeniser: Tokeniser) -> Reading:
    """One for the tokens of this tokeniser.

    >>> from seqloom.data.tokenizers.byte_level import Byte
    >>> tokeniser = Byte.train([], vocabulary=256, min_count=1, lowercase=False)
    >>> told = reading(tokeniser)
    >>> [told.say(token) for token in tokeniser.encode("né!").tolist()]
    ['n', '', 'é', '!']
    """
    return ReadingBytes(tokeniser) if isinstance(tokeniser, OfBytes) else ReadingTokens(tokeniser)


class ReadingBytes:
    """A character is said when the last of its bytes has come, so the last one of a text may never be."""

    def __init__(self, tokeniser: OfBytes) -> None:
        self.spelt = tokeniser.learned.tokens
        self.decoder = getincrementaldecoder("utf-8")("replace")

    def say(self, token: int) -> str:
        return self.decoder.decode(b"".join(BYTES[character] for character in self.spelt[token]))


class ReadingTokens:
    """How a token is written depends on the one before it, and on no other: whether there is a space between them."""

    def __init__(self, tokeniser: Tokeniser) -> None:
        self.tokeniser = tokeniser
        self.before: list[int] = []

    def say(self, token: int) -> str:
        both = self.tokeniser.decode([*self.before, token])
        told = both[len(self.tokeniser.decode(self.before)) :]
        self.before = [token]
        return told
