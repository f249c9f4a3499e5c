"""A tokenizer of words."""

import re
from collections.abc import Iterable, Sequence
from typing import Self

from tokenizers import Regex, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as HFTokenizer

from seqloom.data.tokenizers.library import UNKNOWN, LibraryTokenizer, TokenizerParameters, ids_by_token, tokens_by_id
from seqloom.data.tokenizers.tokenizer import Ids

LETTER = r"[\p{L}\p{M}\p{N}_]"
PATTERNS = (
    r"\n",
    r"</?\p{L}[\p{L}\p{N}_-]{0,40}(?: ?/)?>",  # <unk>, </s>, <br />
    r"@\p{P}@",  # @-@, as Moses and WikiText join
    r"-[LRlr][RCSrcs][Bb]-",  # -LRB-, as the Penn Treebank writes a bracket
    r"\.\.\.+|--+|''|``",
    r"(?<!\S)['’](?i:s|m|d|t|ll|re|ve|em)(?!\S)",  # it 's
    r"(?:\p{L}\.){2,}",  # U.S., e.g.
    rf"{LETTER}+(?:(?:['’-]|(?<=\p{{N}})[.,:](?=\p{{N}})){LETTER}+)*",  # don't, well-known, 1,000.5
    r"\S",
)

# Spaces that decoding removes: before closing marks, around newlines, after opening brackets.
NO_SPACE = re.compile(r" (?=[,.;:!?%)\]}…]|n't\b|['’](?:s|m|d|t|ll|re|ve)\b)| ?(\n) ?|(?<=[(\[{]) ", re.IGNORECASE)


class Word(LibraryTokenizer):
    r"""Words, punctuation marks and newlines; words out of vocabulary share the id of <unk>.

    White space separates tokens. A mark is a token of its own unless it is inside a word (don't, well-known, 3.5,
    U.S.). Tokens of text that is already tokenized are kept: n't, 's, ..., --, ``, @-@, -LRB-, <unk>. In a script
    without spaces, the text between two marks is one word: use characters or bpe instead.

    >>> tokenizer = Word.train(["I don't know.", "I do n't know ."], vocabulary_size=100, min_count=1, lowercase=False)
    >>> tokenizer.tokens(tokenizer.encode("I don't know (yet)."))
    ['I', "don't", 'know', '<unk>', '<unk>', '<unk>', '.']
    >>> tokenizer.decode(tokenizer.encode("I do n't know ."))
    "I don't know."
    """

    kind = "word"
    unknown = 0
    lossless = False  # spaces are not kept

    @classmethod
    def build(cls, parameters: TokenizerParameters) -> HFTokenizer:
        library = HFTokenizer(models.WordLevel(ids_by_token(parameters.tokens), unk_token=UNKNOWN))
        library.pre_tokenizer = pre_tokenizers.Split(Regex("|".join(PATTERNS)), "removed", invert=True)
        return library

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary_size: int, min_count: int, lowercase: bool) -> Self:
        trainer = trainers.WordLevelTrainer(vocab_size=vocabulary_size, min_frequency=min_count, show_progress=False)
        library = cls.train_library(trainer, texts, lowercase)
        words = [word for word in tokens_by_id(library.get_vocab()) if word != UNKNOWN]
        return cls(TokenizerParameters((UNKNOWN, *words[: vocabulary_size - 1]), lowercase=lowercase))

    @classmethod
    def invalid_reason(cls, parameters: TokenizerParameters) -> str | None:
        return f"its token 0 is not {UNKNOWN}" if parameters.tokens[:1] != (UNKNOWN,) else None

    def decode(self, ids: Sequence[int] | Ids) -> str:
        return NO_SPACE.sub(r"\1", " ".join(self.tokens(ids)))

    def respace(self, text: str) -> str:
        words = [word for word, _ in self.library.pre_tokenizer.pre_tokenize_str(text)]
        return NO_SPACE.sub(r"\1", " ".join(words))
