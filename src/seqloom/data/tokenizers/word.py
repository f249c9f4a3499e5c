"""Words, and marks by themselves."""

import re
from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as HFTokenizer

from seqloom.data.tokenizers.library import UNKNOWN, Learned, LibraryTokenizer, by_id, numbered, pieces
from seqloom.data.tokenizers.tokenizer import Ids

LETTER = r"[\p{L}\p{M}\p{N}_]"
PATTERN = "|".join(
    [
        r"\n",
        r"</?\p{L}[\p{L}\p{N}_-]{0,40}(?: ?/)?>",  # <unk>, </s>, <br />
        r"@\p{P}@",  # @-@, as Moses and WikiText join
        r"-[LRlr][RCSrcs][Bb]-",  # -LRB-, as the Penn Treebank writes a bracket
        r"\.\.\.+|--+|''|``",
        r"(?<!\S)['’](?i:s|m|d|t|ll|re|ve|em)(?!\S)",  # it 's
        r"(?:\p{L}\.){2,}",  # U.S., e.g.
        rf"{LETTER}+(?:(?:['’-]|(?<=\p{{N}})[.,:](?=\p{{N}})){LETTER}+)*",  # don't, well-known, 1,000.5
        r"\S",
    ]
)

CLOSES_UP = re.compile(r" (?=[,.;:!?%)\]}…]|n't\b|['’](?:s|m|d|t|ll|re|ve)\b)| ?(\n) ?|(?<=[(\[{]) ", re.IGNORECASE)


class Word(LibraryTokenizer):
    r"""Words and single marks, the most frequent first; a line's end is a token; one id for all that were not learned.

    White space separates, and then a mark is a token of its own unless it stands inside a word (don't, well-known, 3.5,
    U.S.). What is one token in text that others have split already stays one: n't, 's, ..., --, ``, @-@, -LRB-, <unk>.
    A script without spaces becomes one word from mark to mark: use characters or bpe there.

    >>> tokenizer = Word.train(["I don't know.", "I do n't know ."], vocabulary=100, min_count=1, lowercase=False)
    >>> tokenizer.tokens(tokenizer.encode("I don't know (yet)."))
    ['I', "don't", 'know', '<unk>', '<unk>', '<unk>', '.']
    >>> tokenizer.decode(tokenizer.encode("I do n't know ."))
    "I don't know."
    """

    kind = "word"
    unknown = 0
    lossless = False  # spaces are not kept

    @classmethod
    def shape(cls, learned: Learned) -> HFTokenizer:
        library = HFTokenizer(models.WordLevel(numbered(learned.tokens), unk_token=UNKNOWN))
        library.pre_tokenizer = pre_tokenizers.Split(Regex(PATTERN), "removed", invert=True)
        return library

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int, min_count: int, lowercase: bool) -> Self:
        library = cls.shape(Learned(()))
        if lowercase:
            library.normalizer = normalizers.Lowercase()
        trainer = trainers.WordLevelTrainer(vocab_size=vocabulary, min_frequency=min_count, show_progress=False)
        library.train_from_iterator(pieces(texts), trainer)
        words = [word for word in by_id(library.get_vocab()) if word != UNKNOWN]
        return cls(Learned((UNKNOWN, *words[: vocabulary - 1]), lowercase=lowercase))

    @classmethod
    def flaw(cls, learned: Learned) -> str | None:
        if learned.tokens[:1] != (UNKNOWN,):
            return f"its token 0 is not {UNKNOWN}"
        return None

    def numbers(self, texts: Sequence[str]) -> list[Ids]:
        return [np.array(seen.ids, dtype=np.int32) for seen in self.library.encode_batch_fast(list(texts))]

    def decode(self, ids: Sequence[int] | Ids) -> str:
        return CLOSES_UP.sub(r"\1", " ".join(self.tokens(ids)))

    def written(self, text: str) -> str:
        words = [word for word, _ in self.library.pre_tokenizer.pre_tokenize_str(text)]
        return CLOSES_UP.sub(r"\1", " ".join(words))
