"""An example of a user-defined tokenizer: words with the blanks before them."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import seqloom
from seqloom.data.tokenizers import Tokenizer


class Blanks(Tokenizer):
    """Words, each with the blanks before it."""

    unknown = 0
    lossless = False

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.numbers = {word: number for number, word in enumerate(words)}

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary_size: int, min_count: int, lowercase: bool) -> "Blanks":
        counts = Counter(word for text in texts for word in split(text))
        frequent = [word for word, count in counts.most_common(vocabulary_size - 1) if count >= min_count]
        return cls(["\N{REPLACEMENT CHARACTER}", *frequent])

    def ids(self, text: str) -> list[int]:
        return [self.numbers.get(word, 0) for word in split(text)]

    def decode(self, ids: Sequence[int]) -> str:  # type: ignore[override]
        return "".join(self.words[number] for number in ids)

    def tokens(self, ids: Sequence[int]) -> list[str]:  # type: ignore[override]
        return [self.words[number] for number in ids]

    def __len__(self) -> int:
        return len(self.words)

    def state(self) -> dict[str, Any]:
        return {"words": self.words}

    @classmethod
    def from_state(cls, state: Any) -> "Blanks":
        return cls([str(word) for word in state["words"]])


def split(text: str) -> list[str]:
    """Blanks with the word after them."""
    return re.findall(r"\s*\S+|\s+$", text)


class Letters(Blanks):
    """Single characters; only unknown ones are lost."""

    lossless = True

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary_size: int, min_count: int, lowercase: bool) -> "Letters":
        return cls(["\N{REPLACEMENT CHARACTER}", *sorted({letter for text in texts for letter in text})])

    def ids(self, text: str) -> list[int]:
        return [self.numbers.get(letter, 0) for letter in text]


def register() -> None:
    seqloom.register.tokenizer("blanks", Blanks)
    seqloom.register.tokenizer("letters", Letters)
