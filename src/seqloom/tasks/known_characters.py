"""The characters of the training texts: a byte tokenizer encodes others too, but no model can use them."""

import codecs
import json
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from seqloom.core.problem import RunError
from seqloom.data.row_store import Ragged
from seqloom.data.tokenizers import Tokenizer
from seqloom.data.tokenizers.character import CODE_POINTS, code_points
from seqloom.data.tokenizers.tokenizer import refuse_surrogates

CHARACTERS_FILE = "characters.json"
MAX_CHARACTERS = 1 << 16  # that are kept of a side
CHUNK = 1 << 20  # bytes


class KnownCharacters(NamedTuple):
    """The characters of each side's training texts, sorted.

    Empty if they are more than `MAX_CHARACTERS`, if they were not recorded, or if the tokenizer has an unknown token.
    """

    source: str = ""
    target: str = ""

    def files(self) -> dict[str, str]:
        return {CHARACTERS_FILE: json.dumps(self._asdict(), ensure_ascii=False)} if any(self) else {}

    @staticmethod
    def from_files(files: Mapping[str, str]) -> "KnownCharacters":
        """From the vocabulary folder; empty for an older run without the file."""
        if CHARACTERS_FILE not in files:
            return KnownCharacters()
        try:
            saved = json.loads(files[CHARACTERS_FILE])
            sides = KnownCharacters(saved["source"], saved["target"])
        except (ValueError, TypeError, LookupError, RecursionError):
            sides = None
        if sides is None or not all(isinstance(side, str) and len(side) <= MAX_CHARACTERS for side in sides):
            message = "not two lists of characters, so it is damaged"
            raise RunError(message, "Restore the file from a copy", location=CHARACTERS_FILE)
        return sides


def find_characters(texts: Ragged, tokenizer: Tokenizer) -> str:
    """The distinct characters of texts in UTF-8, in lower case if the tokenizer lowercases."""
    if tokenizer.unknown is not None:
        return ""
    present = np.zeros(CODE_POINTS, dtype=bool)
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(texts.flat), CHUNK):
        present[code_points(decoder.decode(bytes(texts.flat[start : start + CHUNK])))] = True
    distinct = "".join(sorted(set(tokenizer.normalize("".join(map(chr, np.flatnonzero(present)))))))
    return distinct if len(distinct) <= MAX_CHARACTERS else ""


def find_unknown(text: str, tokenizer: Tokenizer, known: str) -> list[str]:
    """The characters or words of a text that are not in the training texts, each once.

    >>> from seqloom.data.tokenizers.byte_level import Byte
    >>> find_unknown("né né", Byte.train([], vocabulary_size=256, min_count=1, lowercase=False), known="not a one")
    ['é']
    """
    if tokenizer.unknown is not None:
        return tokenizer.unknown_in(text)
    if not known:
        return []
    refuse_surrogates(text)
    characters = dict.fromkeys("".join(text.split()))
    return [character for character in characters if not set(known).issuperset(tokenizer.normalize(character))]


def is_all_unknown(text: str, tokenizer: Tokenizer, known: str) -> bool:
    """Whether nothing of a text is in the training texts, spaces aside."""
    if tokenizer.unknown is None:
        return len(find_unknown(text, tokenizer, known)) == len(set("".join(text.split())))
    ids = tokenizer.encode(text)
    return not any(token.strip() for token in tokenizer.tokens(ids[ids != tokenizer.unknown].tolist()))
