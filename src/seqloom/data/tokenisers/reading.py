"""A tokeniser's file, read as what a stranger wrote: only our own kinds come out, built anew from tokens and merges."""

import json
from typing import Any

from seqloom.data.tokenisers.bpe import BPE
from seqloom.data.tokenisers.byte import Byte
from seqloom.data.tokenisers.character import Character
from seqloom.data.tokenisers.tokeniser import Learned, Tokeniser, by_id, parts
from seqloom.data.tokenisers.word import Word
from seqloom.spec.errors import DataError
from seqloom.spec.registry import Registry

TOKENISERS: Registry[type[Tokeniser]] = Registry(
    "tokenizer", {kind.kind: kind for kind in (Character, Byte, Word, BPE)}
)

LARGEST = 64 * 2**20
EMPTY = Learned(())
LOWERCASE = {"type": "Lowercase"}


def read(text: str, place: object) -> Tokeniser:
    """The tokeniser that `to_json` wrote; nothing of the file but tokens, merges and lower case is used."""

    def refuse(what: str) -> DataError:
        return DataError(place, what, "Train again, or copy the file anew from where it was made")

    if len(text) > LARGEST:
        raise refuse(f"a tokeniser of more than {LARGEST // 2**20} MiB")
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        raise refuse("a tokeniser that is not JSON") from None
    kind = kind_of(told)
    if kind is None:
        raise refuse("not a tokeniser of a kind that this version of seqloom makes")
    learned = learned_from(told)
    if learned is None:
        raise refuse(f"a {kind.kind} tokeniser whose tokens are not numbered 0 to n-1")
    flaw = kind.flaw(learned)
    if flaw is not None:
        raise refuse(f"a {kind.kind} tokeniser with a flaw: {flaw}")
    return kind(learned)


def kind_of(told: object) -> type[Tokeniser] | None:
    """The kind whose parts these are, all of them."""
    if not isinstance(told, dict) or told.get("added_tokens") or told.get("normalizer") not in (None, LOWERCASE):
        return None
    for kind in TOKENISERS.values():
        ours = parts(kind.shape(EMPTY))
        if all(agree(told.get(name), ours[name]) for name in ("pre_tokenizer", "decoder", "post_processor", "model")):
            return kind
    return None


def agree(theirs: object, ours: object) -> bool:
    """Whether two parts mean the same, what was learned aside; a setting unknown to one version is no difference."""
    if not isinstance(theirs, dict) or not isinstance(ours, dict):
        return theirs == ours
    common = (theirs.keys() & ours.keys()) - {"vocab", "merges"}
    return "type" in common and all(theirs[name] == ours[name] for name in common)


def learned_from(told: dict[str, Any]) -> Learned | None:
    """What the file learned, if it has the right types, ids that are dense, and nothing but Unicode."""
    vocabulary, merges = told["model"].get("vocab"), told["model"].get("merges", [])
    if not isinstance(vocabulary, dict) or not isinstance(merges, list):
        return None
    if any(type(number) is not int for number in vocabulary.values()):
        return None
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        return None
    for merge in merges:
        if not isinstance(merge, list) or len(merge) != 2 or not all(isinstance(side, str) for side in merge):
            return None
    try:
        "".join(vocabulary).encode()
    except UnicodeEncodeError:
        return None
    lowercase = told.get("normalizer") == LOWERCASE
    return Learned(by_id(vocabulary), tuple((left, right) for left, right in merges), lowercase)
