"""Tokenizers by name, their training, and their files, which may come from strangers: only registered kinds load."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain

from seqloom.core import names
from seqloom.core.part import Part, register_function
from seqloom.core.problem import DataError, SeqloomError
from seqloom.core.registry import Registry
from seqloom.core.wording import short_repr
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
    if (part := tokenizer_class.part) is None:
        return tokenizer_class.train(texts, vocabulary_size, min_count, lowercase)
    beginning = next(texts, "")
    texts = chain([beginning], texts)
    trained = part.call(tokenizer_class.train, texts, vocabulary_size, min_count, lowercase)
    return check_trained(part, trained, beginning[:TRIAL])


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


def read_tokenizer(text: str, location: object) -> Tokenizer:
    """The tokenizer in a file; only what its kind learned is used."""
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
        raise damaged(location, f"a {kind.kind} tokenizer that is damaged: {reason}") from None


def damaged(location: object, message: str) -> DataError:
    advice = "Train again, or copy the file again from its original"
    return DataError(location, message, advice, code="damaged-tokenizer")


# User-defined tokenizers ---------------------------------------------------------------------------------------------


def read_user_defined(name: object, state: object, location: object) -> Tokenizer:
    kind = TOKENIZERS[name] if isinstance(name, str) and name in TOKENIZERS else None
    if kind is None or kind.part is None:
        message = f"a tokenizer of the kind {short_repr(name)}, which is not registered"
        raise DataError(location, message, "Register it, as when the run was made", code="tokenizer-missing")
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
        raise kind.part.misfit(f"made {short_repr(tokenizer)} from its state", "Return the tokenizer from `from_state`")
    return tokenizer


@register_function("tokenizer")
def register_tokenizer(part: Part) -> None:
    """A tokenizer, for `data.tokenizer`: a class derived from `seqloom.data.tokenizers.Tokenizer`.

    A run stores its name and its state, as JSON; to open the run, register it again.

    @seqloom.register.tokenizer("blanks")
    class Blanks(Tokenizer): ...
    """
    kind = part.as_class(Tokenizer, "seqloom.data.tokenizers.Tokenizer")
    if issubclass(kind, LibraryTokenizer):
        reason = "derives from a built-in one, whose file names its own kind"
        raise part.misfit(reason, "Derive it from Tokenizer, and use the built-in one inside")
    for method, parameters in (
        (kind.train, "texts, vocabulary_size, min_count, lowercase"), (kind.from_state, "state"),
        (kind.ids, "self, text"), (kind.decode, "self, ids"), (kind.tokens, "self, ids"), (kind.state, "self"),
    ):  # fmt: skip
        part.check_signature(method, parameters)
    if kind in TOKENIZERS.values() and kind.kind != part.name:
        raise part.misfit(f"is registered already, as {kind.kind!r}", "Derive another class from it")
    TOKENIZERS.register(part.name, kind, part.origin)
    kind.kind, kind.part = part.name, part


def check_trained(part: Part, tokenizer: object, text: str) -> Tokenizer:
    """A user-defined tokenizer that has been trained, if it does what a tokenizer does, tried on a text."""
    if not isinstance(tokenizer, TOKENIZERS[part.name]):
        raise part.misfit(f"returned {short_repr(tokenizer)} from `train`", "Return the tokenizer")
    with part.errors():
        size = len(tokenizer)
        if not size or not (tokenizer.unknown is None or 0 <= tokenizer.unknown < size):
            reason = f"has {size} ids, and {tokenizer.unknown} for what is unknown"
            raise part.misfit(reason, "Have at least one id")
        ids = tokenizer.encode(text)
        decoded: object = tokenizer.decode(ids.tolist())
        if not isinstance(decoded, str):
            raise part.misfit(f"decodes to {short_repr(decoded)}", "Return a text from `decode`")
        tokens: object = tokenizer.tokens(ids.tolist())
        if not isinstance(tokens, list) or len(tokens) != len(ids):
            reason = f"has {short_repr(tokens)} for {len(ids)} ids"
            raise part.misfit(reason, "Return a list with a text for each from `tokens`")
        try:
            restored = read_tokenizer(tokenizer.to_json(), "its file")
        except DataError as error:
            reason = f"is not read again: {error.template.message}"
            raise part.misfit(reason, "Match `state` and `from_state`") from None
        if len(restored) != size or restored.encode(text).tolist() != ids.tolist():
            raise part.misfit(
                "encodes a text differently once it was saved and read", "Keep all that it learned in `state`"
            )
    return tokenizer
