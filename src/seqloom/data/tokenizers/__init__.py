"""Text to tokens and back: characters, bytes, words or byte pairs, learned from a bounded part of the text."""

from collections.abc import Iterable, Iterator
from itertools import chain

from seqloom.core.part_checks import call_part
from seqloom.data.tokenizers.registry import TOKENIZERS, check_trained
from seqloom.data.tokenizers.tokenizer import Ids, Saved, Tokenizer

TRIED = 1000  # characters of a training text, on which a user-defined tokenizer is tried

__all__ = ["TOKENIZERS", "Ids", "Saved", "Tokenizer", "train_tokenizer"]


def train_tokenizer(
    kind: str, texts: Iterable[str], *, vocabulary: int, min_count: int, lowercase: bool, sample: int
) -> Tokenizer:
    """A tokenizer that has seen the first `sample` characters of the texts; no more of them is read.

    >>> tokenizer = train_tokenizer(
    ...     "character", ["to be", "or not"], vocabulary=100, min_count=2, lowercase=False, sample=1000
    ... )
    >>> tokenizer.decode(tokenizer.encode("to be or not to be"))
    'to �� o� �ot to ��'
    """
    chosen, texts = TOKENIZERS[kind], first(texts, sample)
    if TOKENIZERS.names.origin(kind) is None:
        return chosen.train(texts, vocabulary, min_count, lowercase)
    beginning = next(texts, "")
    whole = chain([beginning], texts)
    made = call_part("tokenizer", kind, chosen, lambda: chosen.train(whole, vocabulary, min_count, lowercase))
    return check_trained(kind, made, beginning[:TRIED])


def first(texts: Iterable[str], characters: int) -> Iterator[str]:
    """The texts up to so many characters in all.

    >>> list(first(["abc", "def", "ghi"], 5))
    ['abc', 'de']
    """
    for text in texts:
        yield text[:characters]
        characters -= len(text)
        if characters <= 0:
            return
