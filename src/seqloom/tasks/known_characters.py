"""Which characters a model has learnt from: bytes are never unknown, but a script never read means nothing to it."""

import codecs
import json
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from seqloom.core.problem import RunError
from seqloom.data.row_store import Ragged
from seqloom.data.tokenizers import Tokenizer
from seqloom.data.tokenizers.character import CODE_POINTS, codes
from seqloom.data.tokenizers.tokenizer import refuse_surrogates

SEEN = "characters.json"
MOST = 1 << 16  # characters that are kept of a side
AT_ONCE = 1 << 20  # bytes


class Seen(NamedTuple):
    """The characters of each side's training texts, in order; none where they are not known, are more than `MOST`, or
    are not needed, since the tokenizer has a token for what it has not learned."""

    source: str = ""
    target: str = ""

    def files(self) -> dict[str, str]:
        """For the vocabulary folder."""
        return {SEEN: json.dumps(self._asdict(), ensure_ascii=False)} if any(self) else {}

    @staticmethod
    def from_files(files: Mapping[str, str]) -> "Seen":
        """As they were saved; a run from before they were has none."""
        if SEEN not in files:
            return Seen()
        try:
            told = json.loads(files[SEEN])
            seen = Seen(told["source"], told["target"])
        except (ValueError, TypeError, LookupError, RecursionError):
            seen = None
        if seen is None or not all(isinstance(side, str) and len(side) <= MOST for side in seen):
            raise RunError(
                "not two lists of characters, so it is damaged", "Restore the file from a copy", location=SEEN
            )
        return seen


def characters(texts: Ragged, tokenizer: Tokenizer) -> str:
    """All that occur in texts in UTF-8, in lower case where the tokenizer makes it so."""
    if tokenizer.unknown is not None:
        return ""
    found = np.zeros(CODE_POINTS, dtype=bool)
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(texts.flat), AT_ONCE):
        found[codes(decoder.decode(bytes(texts.flat[start : start + AT_ONCE])))] = True
    distinct = "".join(sorted(set(tokenizer.normalize("".join(map(chr, np.flatnonzero(found)))))))
    return distinct if len(distinct) <= MOST else ""


def unseen(text: str, tokenizer: Tokenizer, seen: str) -> list[str]:
    """The characters or words of a text that were not learned from, each once.

    >>> from seqloom.data.tokenizers.byte_level import Byte
    >>> unseen("né né", Byte.train([], vocabulary=256, min_count=1, lowercase=False), seen="not a one")
    ['é']
    """
    if tokenizer.unknown is not None:
        return tokenizer.unknown_in(text)
    if not seen:
        return []
    refuse_surrogates(text)
    known, given = set(seen), dict.fromkeys("".join(text.split()))
    return [each for each in given if not known.issuperset(tokenizer.normalize(each))]


def says_nothing(text: str, tokenizer: Tokenizer, seen: str) -> bool:
    """Whether no part of a text was learned from, spaces aside."""
    if tokenizer.unknown is None:
        return len(unseen(text, tokenizer, seen)) == len(set("".join(text.split())))
    ids = tokenizer.encode(text)
    known = ids[ids != tokenizer.unknown].tolist()
    return not any(token.strip() for token in tokenizer.tokens(known))
