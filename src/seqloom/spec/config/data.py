"""Where examples come from, and how they become tokens."""

from difflib import get_close_matches
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from seqloom.spec import names
from seqloom.spec.config.part import Part

LANGUAGES = (
    *("ar", "az", "be", "bn", "ca", "ce", "cs", "cy", "da", "de", "en", "eo", "es", "fa", "fi", "fr", "he", "hu", "id"),
    *("is", "it", "ja", "kn", "ko", "kz", "lt", "lv", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "te"),
    *("tet", "tg", "th", "tr", "uk", "vi"),
)
"""The codes of num2words that write every number of up to nine digits in words, in a script of the language; variants
of a country (en_IN, fr_BE, pt_BR) are left to the main one."""

FAMILIAR = ("cs", "da", "de", "en", "es", "fi", "fr", "it", "nl", "pl", "pt", "sv")
"""One script and many relatives, so that the task is neither trivial nor hopeless."""

ALL = "all"


def several(value: object) -> object:
    """One file may stand for a list of one."""
    return (value,) if isinstance(value, str) else value


def spoken(said: tuple[str, ...]) -> tuple[str, ...]:
    """The languages of codes, which may stand together with commas between them; in one order, however they are said.

    >>> spoken(("fr,en", "de")), len(spoken(("all",)))
    (('de', 'en', 'fr'), 44)
    """
    codes = [code.strip() for each in said for code in each.split(",")]
    for code in codes or [""]:
        if code not in (ALL, *LANGUAGES):
            raise ValueError(f"data.languages has {no_language(code)}; expected {ALL}, or some of {in_words()}")
    return tuple(code for code in LANGUAGES if code in codes or ALL in codes)


def one_spoken(code: str, info: ValidationInfo) -> str:
    """The code of one language."""
    if code not in LANGUAGES:
        raise ValueError(f"data.{info.field_name} is {no_language(code)}; expected one of {in_words()}")
    return code


def no_language(code: str) -> str:
    """What came, and the language that was likely meant.

    >>> no_language("en_GB")
    "'en_GB' (did you mean en?)"
    """
    main = code.lower().replace("-", "_").partition("_")[0]  # of en_GB, en
    nearest = get_close_matches(main, LANGUAGES, n=1)
    return f"{code!r} (did you mean {nearest[0]}?)" if nearest else repr(code)


def in_words() -> str:
    """All codes."""
    return ", ".join(LANGUAGES)


Files = Annotated[tuple[str, ...], BeforeValidator(several)]
Languages = Annotated[tuple[str, ...], BeforeValidator(several), AfterValidator(spoken)]
Language = Annotated[str, AfterValidator(one_spoken)]


class DataSection(Part):
    """Which files, or which embedded corpus, and how they are split: the keys of every task."""

    train: Files = Field((), description="Files to learn from; patterns such as 'parts/*.txt' are expanded.")
    valid: Files = Field(
        (), description="Files to choose the best model by; without them, a share of `train` is set aside."
    )
    test: Files = Field((), description="Files to measure the chosen model on, once, at the end.")
    corpus: names.Corpus | None = Field(
        None, description="A built-in corpus, instead of files (`seqloom list corpora`)."
    )
    length: int | None = Field(None, ge=1, le=100_000, description="How long the examples of the built-in corpus are.")
    examples: int | None = Field(
        None,
        ge=10,
        le=10_000_000,
        description="How many examples the built-in corpus has; for `python` in language, how many characters.",
    )
    seed: int = Field(
        1,
        ge=0,
        lt=2**63,
        description="Decides which examples are kept back to choose and to test by, and what an embedded corpus holds.",
    )
    format: Literal["auto", names.Format] = Field(
        "auto", description="The format of the files; `auto` goes by their names."
    )
    valid_share: float = Field(
        0.1,
        gt=0,
        lt=1,
        description="The share of `train` set aside to choose the best model by, where no `valid` is given. "
        "Unless given, 0.1 of files.",
    )
    test_share: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="The share of `train` set aside to test on, where no `test` is given. Unless given, none of files.",
    )


class RowData(DataSection):
    """Keys of tasks whose examples are rows: texts, sentences, pairs."""

    on_bad_line: Literal["refuse", "skip"] = Field(
        "refuse", description="Whether a line that can't be read stops everything, or is skipped and counted."
    )
    max_length: int | None = Field(
        None, ge=1, le=1_000_000, description="The most tokens of an example; the rest of a longer one is cut off."
    )
    max_characters: int = Field(
        1_000_000, ge=1, description="A text with more characters than this is refused as a likely mistake."
    )


class TableData(RowData):
    """Keys of tasks that read tables."""

    header: bool | None = Field(
        None, description="classify, translate, caption: whether the first row names the columns. Guessed unless given."
    )


class VocabularyData(Part):
    """Keys of tasks that count words."""

    vocabulary: int | None = Field(
        None, ge=8, le=1_000_000, description="The largest number of different tokens that are distinguished."
    )
    min_count: int = Field(
        1, ge=1, le=1_000_000, description="Words or characters seen less often than this are treated as unknown."
    )
    lowercase: bool = Field(False, description="Whether capital letters are made small.")


class TokenizedData(VocabularyData):
    """Keys of tasks with a tokenizer."""

    tokeniser: names.Tokeniser | None = Field(
        None,
        description="language, classify, translate, caption: what a token is. Unless given: characters for language, "
        "pieces of words (bpe) for translate, words for caption and for classify, there characters where most texts "
        "are a single word.",
    )
    sample: int | None = Field(
        None,
        ge=1000,
        description="The tokeniser learns from at most this many characters of the training data.",
    )


class Data(TableData, TokenizedData):
    """Files in, tokens out."""

    languages: Languages = Field(
        FAMILIAR,
        description="classify: the languages of the corpus `numbers`, by their codes in num2words: en,fr,de; or all.",
    )
    source_language: Language = Field(
        "en", description="translate: the language that the corpus `numbers` is translated from, by its code."
    )
    target_language: Language = Field(
        "fr", description="translate: the language that the corpus `numbers` is translated into, by its code."
    )
    text: str | None = Field(
        None,
        coerce_numbers_to_str=True,
        description="classify: the column of the text, by its name or its number from 1. Guessed unless given.",
    )
    label: str | None = Field(
        None,
        coerce_numbers_to_str=True,
        description="classify: the column of the label, by its name or its number from 1. Guessed unless given.",
    )
    label_separator: str | None = Field(
        None,
        min_length=1,
        max_length=8,
        description="classify: what separates the labels of a row that has several, such as '|'.",
    )
    source: str | None = Field(
        None,
        coerce_numbers_to_str=True,
        description="translate: the column of the text to translate; caption: of the image's path. Unless given, the "
        "first.",
    )
    target: str | None = Field(
        None,
        coerce_numbers_to_str=True,
        description="translate: the column of the translation; caption: of the caption. Unless given, the second.",
    )
    tag: str | None = Field(
        None,
        coerce_numbers_to_str=True,
        description="tag: the column of the tag in CoNLL files: upos, xpos, deprel, or its number from 1.",
    )
    on_rare_label: Literal["refuse", "skip", "keep"] | None = Field(
        None, description="classify: whether a label with a single example stops everything, or is skipped or kept."
    )
    max_ratio: float = Field(
        9.0,
        ge=1,
        description="translate: a pair is reported in which one side has over this many times the tokens of the other.",
    )
    on_ratio: Literal["keep", "drop"] = Field(
        "keep", description="translate: whether such a pair is kept or dropped in training; valid and test keep it."
    )
    on_bad_image: Literal["refuse", "skip"] = Field(
        "refuse",
        description="caption: whether an image that can't be read stops everything, or is skipped and counted.",
    )
    image_size: int | None = Field(
        None, ge=8, le=1024, description="caption: images are cut to a square and resized to this many pixels a side."
    )
    shared_vocabulary: bool | None = Field(
        None, description="translate: whether both languages have one vocabulary, learned from both together."
    )
