"""Guesses about a table from its first rows: which column is text, which label, and whether row 1 names them."""

import re
from collections.abc import Collection, Iterable, Sequence

from seqloom.core.config.data import LANGUAGES

LANGUAGE_NAMES = {
    *({*LANGUAGES} - {"id", "no"}),  # which number rows more often than they name Indonesian and Norwegian
    *("bg", "el", "et", "hi", "hr", "zh"),
    *("arabic", "chinese", "czech", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hindi"),
    *("hungarian", "italian", "japanese", "korean", "norwegian", "polish", "portuguese", "romanian", "russian"),
    *("spanish", "swedish", "turkish", "ukrainian", "vietnamese"),
}
WORDS = {"be", "ce", "da", "el", "es", "et", "fa", "he", "hi", "is", "it", "ja", "te", "vi"}
"""Codes that are everyday words somewhere: a dictionary's first row may be it, es. Of en and de, that is too rare."""
SENTENCE = 4  # words at least, where a row is more than an entry of a dictionary

NAME = re.compile(r"[^\W\d][\w .()/-]{0,39}")  # how a column's name may look

Rows = Sequence[Sequence[str]]
Columns = Iterable[Sequence[str]]  # the values of each, looked at one column after another


def by_name(names: Sequence[str], known: Sequence[str], taken: Collection[int] = ()) -> int | None:
    """The column with a known name: exactly ('Text'), or else as a part ('review_text').

    >>> by_name(["id", "Review Text", "stars"], ["text", "review"])
    1
    """
    whole = [{name.strip().lower()} for name in names]
    parts = [set(re.split(r"[\W_]+", name.strip().lower())) for name in names]
    for words in (whole, parts):
        for one in known:
            for index, of_column in enumerate(words):
                if one in of_column and index not in taken:
                    return index
    return None


def label_column(columns: Columns, taken: Collection[int] = ()) -> int | None:
    """The column of the fewest distinct values, of those that repeat; a constant one only if there is no other."""
    choices = []
    for index, column in enumerate(columns):
        distinct = len(set(column))
        repeats = 2 * distinct <= len(column) or (len(column) < 10 and distinct < len(column))
        if repeats and index not in taken:
            choices.append((distinct == 1, distinct, index))
    return min(choices)[2] if choices else None


def text_column(columns: Columns, taken: Collection[int] = ()) -> int | None:
    """The column of the longest values."""
    lengths = [(sum(map(len, column)), -index) for index, column in enumerate(columns) if index not in taken]
    return -max(lengths)[1] if lengths else None


def has_header(rows: Rows, names: Sequence[Sequence[str]]) -> bool:
    """Whether row 1 names the columns.

    names: such columns have elsewhere, for each role

    Either it has one of these names, which is not a value further down; or, where the label's column has few
    values that repeat, row 1 has a word of its own there, and either no other of them is a word, or all of row 1 are,
    the text a short one.

    >>> has_header([["label", "text"], ["1", "a stirring film"]], [["text"], ["label"]])
    True
    >>> has_header([["1", "a fine film"], ["0", "apparently reassembled"], ["1", "a fine one"]], [["text"]])
    False
    """
    first, below = rows[0], rows[1:]
    if not below:
        return all(by_name(first, known) is not None for known in names)
    columns = list(zip(*below, strict=True))
    known = {name for some in names for name in some}
    if all(NAME.fullmatch(cell.strip()) or not cell.strip() for cell in first) and any(
        cell.strip().lower() in known and cell not in column for cell, column in zip(first, columns, strict=True)
    ):
        return True
    label = label_column(columns)
    if label is None or first[label] in columns[label] or not NAME.fullmatch(first[label].strip()):
        return False
    text = text_column(columns, {label})
    if not any(NAME.fullmatch(value.strip()) for value in set(columns[label])):
        return text is None or NAME.fullmatch(first[text].strip()) is not None
    if text is None or not all(NAME.fullmatch(cell.strip()) for cell in first):
        return False
    return 4 * len(first[text]) < sum(map(len, columns[text])) / len(below)


def is_language(name: str) -> bool:
    """Whether a column is called as a language is, or by its code.

    >>> is_language("de"), is_language("text (English)"), is_language("id")
    (True, True, False)
    """
    return by_name([name], sorted(LANGUAGE_NAMES)) is not None


def are_words(names: Sequence[str], below: Rows) -> bool:
    """Whether what could be codes of languages are everyday words, as in the first row of a dictionary."""
    if not WORDS.issuperset(name.strip().lower() for name in names):
        return False
    longest = sorted(max((len(cell.split()) for cell in row), default=0) for row in below)
    return not longest or longest[len(longest) // 2] < SENTENCE
