"""Where examples come from, and how they become tokens."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from seqloom.spec import names
from seqloom.spec.config.part import Part


def several(value: object) -> object:
    """One file may stand for a list of one."""
    return (value,) if isinstance(value, str) else value


Files = Annotated[tuple[str, ...], BeforeValidator(several)]


class Data(Part):
    """Files in, tokens out."""

    train: Files = Field((), description="Files to learn from; globs such as 'parts/*.txt' are expanded.")
    valid: Files = Field(
        (), description="Files to choose the best model by; without them a part of `train` is kept back."
    )
    test: Files = Field((), description="Files to measure the chosen model on, once, at the end.")
    corpus: names.Corpus | None = Field(
        None, description="An embedded corpus, instead of files (`seqloom list corpora`)."
    )
    length: int | None = Field(None, ge=1, le=100_000, description="How long the embedded corpus's examples are.")
    examples: int | None = Field(
        None, ge=10, le=10_000_000, description="How many examples the embedded corpus makes; characters, for `python`."
    )
    format: Literal["auto", names.Format] = Field(
        "auto", description="How the files are written; `auto` goes by their names."
    )
    text: str | None = Field(
        None,
        coerce_numbers_to_str=True,
        description="classify: the column of the text: its name, or its number from 1. Guessed unless said.",
    )
    label: str | None = Field(
        None,
        coerce_numbers_to_str=True,
        description="classify: the column of the label: its name, or its number from 1. Guessed unless said.",
    )
    header: bool | None = Field(
        None, description="classify: whether the first row names the columns. Guessed unless said."
    )
    label_separator: str | None = Field(
        None,
        min_length=1,
        max_length=8,
        description="classify: what stands between several labels of one row, such as '|'.",
    )
    tag: str | None = Field(
        None,
        coerce_numbers_to_str=True,
        description="tag: the column of the tag in CoNLL files: upos, xpos, deprel, or its number from 1.",
    )
    on_bad_line: Literal["refuse", "skip"] = Field(
        "refuse", description="A line that can't be read: refuse the file, or skip the line and count it."
    )
    on_rare_label: Literal["refuse", "skip", "keep"] | None = Field(
        None, description="classify: a label seen once: refuse the data, skip its example, or keep it."
    )
    valid_share: float = Field(0.1, gt=0, lt=1, description="The part of `train` kept back where no `valid` is given.")
    test_share: float = Field(0.0, ge=0, lt=1, description="The part of `train` kept back where no `test` is given.")
    tokeniser: names.Tokeniser | None = Field(
        None,
        description="language, classify: what a token is. Unless said, characters for language; for classify words, or "
        "characters where most texts are a single word.",
    )
    vocabulary: int | None = Field(
        None, ge=8, le=1_000_000, description="The most tokens that are told apart (word, bpe)."
    )
    min_count: int = Field(
        1, ge=1, le=1_000_000, description="A word or character seen less often than this is unknown."
    )
    lowercase: bool = Field(False, description="Whether capitals are made small.")
    max_length: int | None = Field(
        None, ge=1, le=1_000_000, description="The most tokens of an example; the rest of a longer one is cut off."
    )
    max_characters: int = Field(
        1_000_000, ge=1, description="A longer text in one line is refused as a likely mistake."
    )
    sample: int | None = Field(
        None,
        ge=1000,
        description="language, classify: tokenisers learn from at most so many characters of the training part.",
    )
