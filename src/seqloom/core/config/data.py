"""The `data` section: where examples come from, and how they become tokens."""

from difflib import get_close_matches
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, ValidationInfo

from seqloom.core import names
from seqloom.core.config.section import AllBut, Section, key
from seqloom.core.problem import ConfigError, KeyName

LANGUAGES = (
    *("ar", "az", "be", "bn", "ca", "ce", "cs", "cy", "da", "de", "en", "eo", "es", "fa", "fi", "fr", "he", "hu", "id"),
    *("is", "it", "ja", "kn", "ko", "kz", "lt", "lv", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "te"),
    *("tet", "tg", "th", "tr", "uk", "vi"),
)
"""The languages in which num2words writes all numbers of up to nine digits, without variants (en_IN, pt_BR)."""

FAMILIAR = ("cs", "da", "de", "en", "es", "fi", "fr", "it", "nl", "pl", "pt", "sv")
"""Languages in Latin script, many of them related, so that classifying them is neither trivial nor impossible."""

ALL = "all"


def as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def expand_languages(values: tuple[str, ...]) -> tuple[str, ...]:
    """Language codes, which may be joined by commas, in the order of `LANGUAGES`.

    >>> expand_languages(("fr,en", "de")), len(expand_languages(("all",)))
    (('de', 'en', 'fr'), 44)
    """
    codes = [code.strip() for value in values for code in value.split(",")]
    for code in codes or [""]:
        if code not in (ALL, *LANGUAGES):
            expected = f"{ALL}, or some of {', '.join(LANGUAGES)}"
            message = f"{KeyName('data.languages')} has {suggest_language(code)}; expected {expected}"
            raise ConfigError(message, key="data.languages", code="unknown-language")
    return tuple(code for code in LANGUAGES if code in codes or ALL in codes)


def require_language(code: str, info: ValidationInfo) -> str:
    if code not in LANGUAGES:
        key, expected = f"data.{info.field_name}", f"one of {', '.join(LANGUAGES)}"
        message = f"{KeyName(key)} is {suggest_language(code)}; expected {expected}"
        raise ConfigError(message, key=key, code="unknown-language")
    return code


def suggest_language(code: str) -> str:
    """A wrong code, with the language that was likely meant.

    >>> suggest_language("en_GB")
    "'en_GB' (did you mean en?)"
    """
    language = code.lower().replace("-", "_").partition("_")[0]
    closest = get_close_matches(language, LANGUAGES, n=1)
    return f"{code!r} (did you mean {closest[0]}?)" if closest else repr(code)


Files = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
Languages = Annotated[tuple[str, ...], BeforeValidator(as_tuple), AfterValidator(expand_languages)]
Language = Annotated[str, AfterValidator(require_language)]

NO_FILES: tuple[object, ...] = ((),)
WITHOUT_FILES = {"data.train": NO_FILES}
WITH_LEARNED_TOKENS = {"data.tokenizer": AllBut(("byte",))}


class DataSection(Section):
    """The keys of every task: files or an embedded corpus, and how they are split."""

    train: Files = key((), "Training files; patterns such as 'parts/*.txt' are expanded.")
    valid: Files = key(
        (), "Validation files, used to select the best checkpoint; default: a share of the training files."
    )
    test: Files = key((), "Test files: the selected model is evaluated on them once, at the end.")
    corpus: str | None = key(None, "An embedded corpus to use instead of files (`seqloom list corpora`).")
    corpus_length: int | None = key(
        None, "The maximum length of an example in the embedded corpus.", ge=1, le=100_000, only_with=WITHOUT_FILES
    )
    examples: int | None = key(
        None, "The number of examples in the embedded corpus.", ge=10, le=10_000_000, only_with=WITHOUT_FILES
    )
    seed: int = key(1, "The random seed of the splits and of the embedded corpus.", ge=0, lt=2**63)
    format: str = key("auto", "The format of the files; `auto` detects it from their names.", of_file=True)
    valid_share: float = key(
        0.1,
        "The share of the training files used for validation if `valid` is not set; default for your files: 0.1.",
        gt=0,
        lt=1,
        only_with={"data.valid": NO_FILES},
    )
    test_share: float = key(
        0.0,
        "The share of the training files used for testing if `test` is not set; default for your files: 0.",
        ge=0,
        lt=1,
        only_with={"data.test": NO_FILES},
    )


class RowData(DataSection):
    """The keys of tasks whose examples are rows: texts, sentences, pairs."""

    on_bad_line: Literal["refuse", "skip"] = key(
        "refuse", "What to do with a line that can't be read: stop with an error, or skip and count it.", of_file=True
    )
    max_length: int | None = key(
        None, "The maximum number of tokens of an example; longer ones are truncated.", ge=1, le=1_000_000
    )
    max_characters: int = key(
        1_000_000, "The maximum number of characters of a text; a longer one is an error.", of_file=True, ge=1
    )


class VocabularyData(Section):
    """The keys of tasks that count words."""

    vocabulary_size: int | None = key(
        None, "The maximum size of the vocabulary.", ge=8, le=1_000_000, only_with=WITH_LEARNED_TOKENS
    )
    min_count: int = key(
        1,
        "Words or characters that occur less often than this are out of vocabulary.",
        ge=1,
        le=1_000_000,
        only_with=WITH_LEARNED_TOKENS,
    )
    lowercase: bool = key(False, "Whether to convert text to lowercase.")


class TokenizedData(VocabularyData):
    """The keys of tasks with a tokenizer."""

    tokenizer: names.Tokenizer | None = key(None, "The tokenizer.")
    sample: int | None = key(
        None,
        "The maximum number of characters of training data that the tokenizer learns from.",
        ge=1000,
        only_with=WITH_LEARNED_TOKENS,
    )


class TaggedColumn(RowData):
    """The keys of tasks that read CoNLL files."""

    tag: str | None = key(
        None,
        "The column of the tag in CoNLL files: upos, xpos, deprel, or its number, counted from 1.",
        of_file=True,
        coerce_numbers_to_str=True,
    )
