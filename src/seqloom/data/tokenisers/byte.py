"""Each byte of UTF-8 a token."""

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from seqloom.data.tokenisers.library import Learned, LibraryTokeniser, numbered
from seqloom.data.tokenisers.tokeniser import Ids


def alphabet() -> tuple[str, ...]:
    """The character that stands for each byte in a vocabulary: its own where that is visible, else one from U+0100 on.

    That is GPT-2's alphabet (Radford et al. 2019), which the library speaks.
    """
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in visible else next(others)) for byte in range(256))


ALPHABET = alphabet()
BYTES = {character: bytes([byte]) for byte, character in enumerate(ALPHABET)}


class OfBytes(LibraryTokeniser):
    """Tokens that are runs of bytes, so that nothing is unknown and nothing lost."""

    def __init__(self, learned: Learned) -> None:
        super().__init__(learned)
        self._bytes = [b"".join(BYTES[character] for character in token) for token in learned.tokens]

    def decode(self, ids: Sequence[int] | Ids) -> str:
        return b"".join(self._bytes[one] for one in ids).decode(errors="replace")

    def tokens(self, ids: Sequence[int] | Ids) -> list[str]:
        """Part of a character is shown as its bytes: \\xe2."""
        return [self._bytes[one].decode(errors="backslashreplace") for one in ids]


class Byte(OfBytes):
    """Each byte of UTF-8 a token, and its own id: numpy does the library's work, about a hundred times as fast.

    >>> tokeniser = Byte.train([], vocabulary=256, min_count=1, lowercase=False)
    >>> tokeniser.encode("né").tolist()
    [110, 195, 169]
    >>> tokeniser.decode([110, 195, 169])
    'né'
    """

    kind = "byte"

    @classmethod
    def shape(cls, learned: Learned) -> Tokenizer:
        library = Tokenizer(models.BPE(numbered(learned.tokens), []))
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        library.decoder = decoders.ByteLevel()
        return library

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int, min_count: int, lowercase: bool) -> Self:
        """There is nothing to learn: the texts are not read."""
        return cls(Learned(ALPHABET, lowercase=lowercase))

    @classmethod
    def flaw(cls, learned: Learned) -> str | None:
        if learned.tokens != ALPHABET or learned.merges:
            return "its tokens are not the 256 bytes in order"
        return None

    def numbers(self, texts: Sequence[str]) -> list[Ids]:
        return [np.frombuffer(self.lowered(text).encode(), dtype=np.uint8).astype(np.int32) for text in texts]

    def decode(self, ids: Sequence[int] | Ids) -> str:
        return np.asarray(ids, dtype=np.uint8).tobytes().decode(errors="replace")
