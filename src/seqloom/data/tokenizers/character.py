"""Each character a token."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as HFTokenizer

from seqloom.data.tokenizers.library import UNKNOWN, Learned, LibraryTokenizer, numbered
from seqloom.data.tokenizers.tokenizer import Ids

CODE_POINTS = 0x110000
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class Character(LibraryTokenizer):
    """Each Unicode character a token, the most frequent first; one id for all that were not learned.

    A table in numpy does the library's work, about a hundred times as fast.

    >>> tokenizer = Character.train(["banana"], vocabulary=100, min_count=1, lowercase=False)
    >>> tokenizer.encode("nab!").tolist()
    [2, 1, 3, 0]
    >>> tokenizer.decode([2, 1, 3, 0])
    'nab�'
    """

    kind = "character"
    unknown = 0

    def __init__(self, learned: Learned) -> None:
        super().__init__(learned)
        self._codes = codes(REPLACEMENT + "".join(learned.tokens[1:]))
        self._ids = np.zeros(CODE_POINTS, dtype=np.int32)
        self._ids[self._codes[1:]] = np.arange(1, len(learned.tokens), dtype=np.int32)

    @classmethod
    def shape(cls, learned: Learned) -> HFTokenizer:
        library = HFTokenizer(models.WordLevel(numbered(learned.tokens), unk_token=UNKNOWN))
        library.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        library.decoder = decoders.Sequence([decoders.Replace(UNKNOWN, REPLACEMENT), decoders.Fuse()])
        return library

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int, min_count: int, lowercase: bool) -> Self:
        bare = cls(Learned((UNKNOWN,), lowercase=lowercase))
        counts = np.zeros(CODE_POINTS, dtype=np.int64)
        for text in gathered(texts):
            counts += np.bincount(codes(bare.lowered(text)), minlength=CODE_POINTS)
        enough = np.flatnonzero(counts >= min_count)
        kept = enough[np.lexsort((enough, -counts[enough]))][: vocabulary - 1]
        return cls(Learned((UNKNOWN, *map(chr, kept)), lowercase=lowercase))

    @classmethod
    def flaw(cls, learned: Learned) -> str | None:
        if learned.tokens[:1] != (UNKNOWN,):
            return f"its token 0 is not {UNKNOWN}"
        if any(len(token) != 1 for token in learned.tokens[1:]):
            return "a token is not one character"
        return None

    def numbers(self, texts: Sequence[str]) -> list[Ids]:
        return [self._ids[codes(self.lowered(text))] for text in texts]

    def decode(self, ids: Sequence[int] | Ids) -> str:
        return self._codes[np.asarray(ids, dtype=np.int64)].tobytes().decode("utf-32-le")

    def tokens(self, ids: Sequence[int] | Ids) -> list[str]:
        return list(self.decode(ids))


def codes(text: str) -> NDArray[np.uint8] | NDArray[np.uint32]:
    """The code point of each character."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    return np.frombuffer(text.encode("utf-32-le"), dtype="<u4")


def gathered(texts: Iterable[str], size: int = 1 << 20) -> Iterator[str]:
    """Short texts joined and long ones cut, to about `size` characters: counting has a price a call."""
    waiting: list[str] = []
    length = 0
    for text in texts:
        for start in range(0, len(text), size):
            waiting.append(text[start : start + size])
            length += len(waiting[-1])
            if length >= size:
                yield "".join(waiting)
                waiting, length = [], 0
    yield "".join(waiting)
