"""Guesses about a table from its first rows: which column is text, which label, and whether row 1 names them."""

import re
from collections.abc import Collection, Iterable, Sequence

from seqloom.core.config.data import LANGUAGES

LANGUAGE_NAMES = {
    *({*LANGUAGES} - {"id", "no"}),  # such columns number rows more often than they are Indonesian or Norwegian
    *("bg", "el", "et", "hi", "hr", "zh"),
    *("arabic", "chinese", "czech", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hindi"),
    *("hungarian", "italian", "japanese", "korean", "norwegian", "polish", "portuguese", "romanian", "russian"),
    *("spanish", "swedish", "turkish", "ukrainian", "vietnamese"),
}
EVERYDAY_WORDS = {"be", "ce", "da", "el", "es", "et", "fa", "he", "hi", "is", "it", "ja", "te", "vi"}
"""Codes of languages that a dictionary's first row may have as words (it, es). For en and de, that is too rare."""
SENTENCE = 4  # words; a row with fewer may be an entry of a dictionary

NAME = re.compile(r"[^\W\d][\w .()/-]{0,39}")  # the form of a column's name

Rows = Sequence[Sequence[str]]
ColumnValues = Iterable[Sequence[str]]  # of each column; they may be generated one column after another


def find_named(names: Sequence[str], synonyms: Collection[str], taken: Collection[int] = ()) -> int | None:
    """The column whose name is one of the synonyms ('Text'), or else has one as a word ('review_text').

    >>> find_named(["id", "Review Text", "stars"], ["text", "review"])
    1
    """
    exact = [{name.strip().lower()} for name in names]
    words = [set(re.split(r"[\W_]+", name.strip().lower())) for name in names]
    matches = (
        index
        for candidates in (exact, words)
        for synonym in synonyms
        for index, candidate in enumerate(candidates)
        if synonym in candidate and index not in taken
    )
    return next(matches, None)


def label_column(columns: ColumnValues, taken: Collection[int] = ()) -> int | None:
    """The column of the fewest distinct values, of those that repeat; a constant one only if there is no other."""
    candidates = []
    for index, column in enumerate(columns):
        distinct = len(set(column))
        repeats = 2 * distinct <= len(column) or (len(column) < 10 and distinct < len(column))
        if repeats and index not in taken:
            candidates.append((distinct == 1, distinct, index))
    return min(candidates)[2] if candidates else None


def text_column(columns: ColumnValues, taken: Collection[int] = ()) -> int | None:
    """The column of the longest values."""
    lengths = [(sum(map(len, column)), -index) for index, column in enumerate(columns) if index not in taken]
    return -max(lengths)[1] if lengths else None


def has_header(rows: Rows, synonyms: Sequence[Sequence[str]]) -> bool:
    """Whether row 1 names the columns; `synonyms` are the usual names for each role.

    It does if it has one of these names, which is not a value further down. It also does if the label's column has few
    values that repeat and row 1 has a word of its own there, and either no label is a word, or all cells of row 1 are
    words and its text is a short one.

    >>> has_header([["label", "text"], ["1", "a stirring film"]], [["text"], ["label"]])
    True
    >>> has_header([["1", "a fine film"], ["0", "apparently reassembled"], ["1", "a fine one"]], [["text"]])
    False
    """
    first, below = [cell.strip() for cell in rows[0]], rows[1:]
    if not below:
        return all(find_named(first, names) is not None for names in synonyms)
    columns = list(zip(*below, strict=True))
    usual = {name for names in synonyms for name in names}
    if all(NAME.fullmatch(cell) or not cell for cell in first) and any(
        cell.strip().lower() in usual and cell not in column for cell, column in zip(rows[0], columns, strict=True)
    ):
        return True
    label = label_column(columns)
    if label is None or rows[0][label] in columns[label] or not NAME.fullmatch(first[label]):
        return False
    text = text_column(columns, {label})
    if not any(NAME.fullmatch(value.strip()) for value in set(columns[label])):
        return text is None or NAME.fullmatch(first[text]) is not None
    if text is None or not all(map(NAME.fullmatch, first)):
        return False
    return 4 * len(rows[0][text]) < sum(map(len, columns[text])) / len(below)


def is_language(name: str) -> bool:
    """Whether a column is named after a language, or by its code.

    >>> is_language("de"), is_language("text (English)"), is_language("id")
    (True, True, False)
    """
    return find_named([name], LANGUAGE_NAMES) is not None


def are_words(names: Sequence[str], below: Rows) -> bool:
    """Whether names that could be codes of languages are everyday words, as in the first row of a dictionary."""
    if not EVERYDAY_WORDS.issuperset(name.strip().lower() for name in names):
        return False
    longest = sorted(max((len(cell.split()) for cell in row), default=0) for row in below)
    return not longest or longest[len(longest) // 2] < SENTENCE
