"""Tokenizers by name, their training, and their files, which may come from strangers: only registered kinds load."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain

from seqloom.core import names
from seqloom.core.part_checks import call_part, misfit, require_class, require_signature
from seqloom.core.part_origin import Origin
from seqloom.core.problem import DataError, PartError, SeqloomError
from seqloom.core.registry import Registry, short_repr
from seqloom.data.tokenizers.byte_level import BPE, Byte
from seqloom.data.tokenizers.character import Character
from seqloom.data.tokenizers.library import LibraryTokenizer
from seqloom.data.tokenizers.tokenizer import Tokenizer
from seqloom.data.tokenizers.word import Word

BUILTIN: tuple[type[LibraryTokenizer], ...] = (Character, Byte, Word, BPE)
TOKENIZERS: Registry[type[Tokenizer]] = Registry(names.TOKENIZERS, {kind.kind: kind for kind in BUILTIN})

MAX_BYTES = 64 * 2**20  # of a file
TRIAL = 1000  # characters of a training text, on which a user-defined tokenizer is tried


def train_tokenizer(
    kind: str, texts: Iterable[str], *, vocabulary_size: int, min_count: int, lowercase: bool, sample: int
) -> Tokenizer:
    """A tokenizer trained on the first `sample` characters of the texts; no more of them is read.

    >>> tokenizer = train_tokenizer(
    ...     "character", ["to be", "or not"], vocabulary_size=100, min_count=2, lowercase=False, sample=1000
    ... )
    >>> tokenizer.decode(tokenizer.encode("to be or not to be"))
    'to �� o� �ot to ��'
    """
    tokenizer_class, texts = TOKENIZERS[kind], first_characters(texts, sample)
    if TOKENIZERS.names.origin(kind) is None:
        return tokenizer_class.train(texts, vocabulary_size, min_count, lowercase)
    beginning = next(texts, "")
    texts = chain([beginning], texts)
    trained = call_part(
        "tokenizer", kind, tokenizer_class, lambda: tokenizer_class.train(texts, vocabulary_size, min_count, lowercase)
    )
    return check_trained(kind, trained, beginning[:TRIAL])


def first_characters(texts: Iterable[str], characters: int) -> Iterator[str]:
    """The texts up to so many characters in all.

    >>> list(first_characters(["abc", "def", "ghi"], 5))
    ['abc', 'de']
    """
    for text in texts:
        yield text[:characters]
        characters -= len(text)
        if characters <= 0:
            return


def read(text: str, location: object) -> Tokenizer:
    """The tokenizer in a file; nothing is used but what its kind parameters."""
    if len(text) > MAX_BYTES:
        raise damaged(location, f"a tokenizer of more than {MAX_BYTES // 2**20} MiB")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise damaged(location, "a tokenizer that is not JSON") from None
    if isinstance(content, dict) and "tokenizer" in content:
        return read_user_defined(content["tokenizer"], content.get("state"), location)
    kind = next((kind for kind in BUILTIN if isinstance(content, dict) and kind.matches(content)), None)
    if kind is None:
        raise damaged(location, "not a tokenizer of a kind that this version of seqloom makes")
    try:
        return kind.from_state(content)
    except ValueError as reason:
        raise damaged(location, f"a {kind.kind} tokenizer with a flaw: {reason}") from None


def damaged(location: object, message: str) -> DataError:
    advice = "Train again, or copy the file anew from where it was made"
    return DataError(location, message, advice, code="damaged-tokenizer")


# User-defined tokenizers ---------------------------------------------------------------------------------------------


def read_user_defined(name: object, state: object, location: object) -> Tokenizer:
    origin = TOKENIZERS.names.origin(name) if isinstance(name, str) else None
    if origin is None:
        message = f"a tokenizer of the kind {short_repr(name)}, which is not registered"
        raise DataError(location, message, "Register it, as when the run was made", code="tokenizer-missing")
    kind = TOKENIZERS[str(name)]
    if not isinstance(state, dict):
        raise damaged(location, f"a {name} tokenizer without a state")
    try:
        tokenizer = kind.from_state(state)
    except SeqloomError:
        raise
    except Exception as error:
        message = f"a {name} tokenizer that can't be read ({type(error).__name__}: {error})"
        raise damaged(location, message.replace(".)", ")")) from None
    if not isinstance(tokenizer, kind):
        reason = f"made {short_repr(tokenizer)} from its state"
        raise misfit("tokenizer", kind.kind, kind, reason, "Return the tokenizer from `from_state`")
    return tokenizer


def register(name: str, part: object) -> None:
    kind = require_class("tokenizer", name, part, Tokenizer, "Derive a class from seqloom.data.tokenizers.Tokenizer")
    if issubclass(kind, LibraryTokenizer):
        reason = "derives from a built-in one, whose file names its own kind"
        raise misfit("tokenizer", name, kind, reason, "Derive it from Tokenizer, and use the built-in one inside")
    require_signature("tokenizer", name, kind, kind.train, ("texts", "vocabulary_size", "min_count", "lowercase"))
    require_signature("tokenizer", name, kind, kind.from_state, ("state",))
    for method, parameter in ((kind.ids, "text"), (kind.decode, "ids"), (kind.tokens, "ids"), (kind.state, None)):
        require_signature("tokenizer", name, kind, method, ("self",) if parameter is None else ("self", parameter))
    if kind in TOKENIZERS.values() and kind.kind != name:
        reason = f"is registered already, as {kind.kind!r}"
        raise misfit("tokenizer", name, kind, reason, "Derive another class from it")
    TOKENIZERS.register(name, kind, Origin.registered(kind))
    kind.kind = name


def check_trained(name: str, made: object, text: str) -> Tokenizer:
    """A user-defined tokenizer that has been trained, if it does what a tokenizer does, tried on a text."""
    kind = TOKENIZERS[name]

    def unfit(reason: str, advice: str) -> PartError:
        return misfit("tokenizer", name, kind, reason, advice)

    if not isinstance(made, kind):
        raise unfit(f"returned {short_repr(made)} from `train`", "Return the tokenizer")
    size = call_part("tokenizer", name, kind, lambda: len(made))
    if not size or not (made.unknown is None or 0 <= made.unknown < size):
        raise unfit(f"has {size} ids, and {made.unknown} for what is unknown", "Have one id at least")
    ids = made.encode(text)
    back: object = call_part("tokenizer", name, kind, lambda: made.decode(ids.tolist()))
    if not isinstance(back, str):
        raise unfit(f"decodes to {short_repr(back)}", "Return a text from `decode`")
    tokens: object = call_part("tokenizer", name, kind, lambda: made.tokens(ids.tolist()))
    if not isinstance(tokens, list) or len(tokens) != len(ids):
        raise unfit(f"has {short_repr(tokens)} for {len(ids)} ids", "Return a list with a text for each from `tokens`")
    file = call_part("tokenizer", name, kind, made.to_json)
    try:
        again = read(file, "its file")
    except DataError as error:
        raise unfit(f"is not read again: {error.template.message}", "Match `state` and `from_state`") from None
    if len(again) != size or again.encode(text).tolist() != ids.tolist():
        raise unfit("encodes a text differently once it was saved and read", "Keep all that it learned in `state`")
    return made
