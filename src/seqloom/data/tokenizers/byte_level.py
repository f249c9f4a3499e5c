"""Each byte of UTF-8 a token."""

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from tokenizers import Tokenizer as HFTokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from seqloom.core.problem import KeyName, UserError
from seqloom.data.tokenizers.library import Learned, LibraryTokenizer, by_id, numbered, parts, pieces
from seqloom.data.tokenizers.tokenizer import Ids


def alphabet() -> tuple[str, ...]:
    """The character that stands for each byte in a vocabulary: its own where that is visible, else one from U+0100 on.

    That is GPT-2's alphabet (Radford et al. 2019), which the library speaks.
    """
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in visible else next(others)) for byte in range(256))


ALPHABET = alphabet()
BYTES = {character: bytes([byte]) for byte, character in enumerate(ALPHABET)}


class ByteLevelTokenizer(LibraryTokenizer):
    """Tokens that are runs of bytes, so that nothing is unknown and nothing lost."""

    def __init__(self, learned: Learned) -> None:
        super().__init__(learned)
        self._bytes = [b"".join(BYTES[character] for character in token) for token in learned.tokens]

    def decode(self, ids: Sequence[int] | Ids) -> str:
        return b"".join(self._bytes[one] for one in ids).decode(errors="replace")

    def tokens(self, ids: Sequence[int] | Ids) -> list[str]:
        """Part of a character is shown as its bytes: \\xe2."""
        return [self._bytes[one].decode(errors="backslashreplace") for one in ids]


class Byte(ByteLevelTokenizer):
    """Each byte of UTF-8 a token, and its own id: numpy does the library's work, about a hundred times as fast.

    >>> tokenizer = Byte.train([], vocabulary=256, min_count=1, lowercase=False)
    >>> tokenizer.encode("né").tolist()
    [110, 195, 169]
    >>> tokenizer.decode([110, 195, 169])
    'né'
    """

    kind = "byte"

    @classmethod
    def shape(cls, learned: Learned) -> HFTokenizer:
        library = HFTokenizer(models.BPE(numbered(learned.tokens), []))
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


SMALLEST = len(ALPHABET) + 1


class BPE(ByteLevelTokenizer):
    """Byte pair encoding over bytes (Sennrich et al. 2016; Radford et al. 2019): nothing is unknown, nothing lost.

    It begins with the 256 bytes and merges the most frequent pair into a new token, again and again, within words and
    as long as a pair is seen twice.

    >>> tokenizer = BPE.train(["low lower lowest"] * 9, vocabulary=300, min_count=1, lowercase=False)
    >>> tokenizer.tokens(tokenizer.encode("lowest slow"))
    ['low', 'e', 'st', ' ', 's', 'low']
    """

    kind = "bpe"

    @classmethod
    def shape(cls, learned: Learned) -> HFTokenizer:
        library = HFTokenizer(models.BPE(numbered(learned.tokens), list(learned.merges)))
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        library.decoder = decoders.ByteLevel()
        return library

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int, min_count: int, lowercase: bool) -> Self:
        if vocabulary < SMALLEST:
            raise UserError(
                f"{KeyName('data.vocabulary_size')} is {vocabulary}, and bpe begins with 256 bytes",
                f"Ask for {SMALLEST} or more, or for {KeyName('data.tokenizer', 'byte')}",
            )
        library = cls.shape(Learned(()))
        if lowercase:
            library.normalizer = normalizers.Lowercase()
        trainer = trainers.BpeTrainer(
            vocab_size=vocabulary,
            min_frequency=max(2, min_count),
            initial_alphabet=list(ALPHABET),
            show_progress=False,
        )
        library.train_from_iterator(pieces(texts), trainer)
        merges = tuple((left, right) for left, right in parts(library)["model"]["merges"])
        return cls(Learned(by_id(library.get_vocab()), merges, lowercase))

    @classmethod
    def flaw(cls, learned: Learned) -> str | None:
        known = set(learned.tokens)
        if not known.issuperset(ALPHABET):
            return "a byte is missing from its tokens"
        if not set("".join(learned.tokens)).issubset(ALPHABET):
            return "a token is not made of bytes"
        if any(not known.issuperset((left, right, left + right)) for left, right in learned.merges):
            return "a merge is not of its tokens"
        return None

    def numbers(self, texts: Sequence[str]) -> list[Ids]:
        return [np.array(seen.ids, dtype=np.int32) for seen in self.library.encode_batch_fast(list(texts))]
