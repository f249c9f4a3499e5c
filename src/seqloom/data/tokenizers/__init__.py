"""Text to tokens and back: characters, bytes, words or byte pairs, learned from a bounded part of the text."""

from collections.abc import Iterable, Iterator
from itertools import chain

from seqloom.core.part_checks import call
from seqloom.data.tokenizers.registry import TOKENISERS, check_trained
from seqloom.data.tokenizers.tokenizer import Ids, Saved, Tokeniser

TRIED = 1000  # characters of a training text, on which a user-defined tokenizer is tried

__all__ = ["TOKENISERS", "Ids", "Saved", "Tokeniser", "train_tokeniser"]


def train_tokeniser(
    kind: str, texts: Iterable[str], *, vocabulary: int, min_count: int, lowercase: bool, sample: int
) -> Tokeniser:
    """A tokeniser that has seen the first `sample` characters of the texts; no more of them is read.

    >>> tokeniser = train_tokeniser(
    ...     "character", ["to be", "or not"], vocabulary=100, min_count=2, lowercase=False, sample=1000
    ... )
    >>> tokeniser.decode(tokeniser.encode("to be or not to be"))
    'to �� o� �ot to ��'
    """
    chosen, texts = TOKENISERS[kind], first(texts, sample)
    if TOKENISERS.names.origin(kind) is None:
        return chosen.train(texts, vocabulary, min_count, lowercase)
    beginning = next(texts, "")
    whole = chain([beginning], texts)
    made = call("tokenizer", kind, chosen, lambda: chosen.train(whole, vocabulary, min_count, lowercase))
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
