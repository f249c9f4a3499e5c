"""Pieces of words, learned by merging what often stands together."""

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from seqloom.data.tokenisers.byte import ALPHABET, OfBytes
from seqloom.data.tokenisers.library import Learned, by_id, numbered, parts, pieces
from seqloom.data.tokenisers.tokeniser import Ids
from seqloom.spec.errors import UserError
from seqloom.spec.problem import KeyName

SMALLEST = len(ALPHABET) + 1


class BPE(OfBytes):
    """Byte pair encoding over bytes (Sennrich et al. 2016; Radford et al. 2019): nothing is unknown, nothing lost.

    It begins with the 256 bytes and merges the most frequent pair into a new token, again and again, within words and
    as long as a pair is seen twice.

    >>> tokeniser = BPE.train(["low lower lowest"] * 9, vocabulary=300, min_count=1, lowercase=False)
    >>> tokeniser.tokens(tokeniser.encode("lowest slow"))
    ['low', 'e', 'st', ' ', 's', 'low']
    """

    kind = "bpe"

    @classmethod
    def shape(cls, learned: Learned) -> Tokenizer:
        library = Tokenizer(models.BPE(numbered(learned.tokens), list(learned.merges)))
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        library.decoder = decoders.ByteLevel()
        return library

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int, min_count: int, lowercase: bool) -> Self:
        if vocabulary < SMALLEST:
            raise UserError(
                f"{KeyName('data.vocabulary')} is {vocabulary}, and bpe begins with 256 bytes",
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
