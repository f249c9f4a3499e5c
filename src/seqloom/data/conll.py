"""Words with tags, a word per line and a blank line between sentences: CoNLL-U, and CoNLL of two columns or more."""

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from itertools import chain
from pathlib import Path

from seqloom.core.config.data import TaggedColumn
from seqloom.core.problem import DataError, KeyName, UserError
from seqloom.core.wording import counted
from seqloom.data.records import OR_SKIP, Location
from seqloom.data.text_io import OnBadLine, raise_error, read_lines

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
WORD_ID = re.compile(r"[1-9][0-9]*")
OTHER_ID = re.compile(r"[0-9]+(-|\.)[0-9]+")  # a multiword token (1-2) or an empty node (1.1)

TaggedWord = tuple[str, str]
Sentence = tuple[Location, tuple[tuple[str, ...], tuple[str, ...]]]
LineParser = Callable[[str, bool], TaggedWord | None]
"""Parses a line, given whether it is inside a sentence, to a word and its tag, or to None if it has no word."""


def read_conllu(paths: Sequence[Path], data: TaggedColumn, on_bad_line: OnBadLine = raise_error) -> Iterator[Sentence]:
    """Words and tags of the sentences of CoNLL-U files.

    `data.tag` names the column of the tags: upos by default, xpos, feats, deprel, lemma, or a number from 1.

    Comments, multiword tokens (1-2) and empty nodes (1.1) are left out. The empty value `_` counts as a tag. An invalid
    row is passed to `on_bad_line`, and its sentence is left out.

    >>> path = getfixture("tmp_path") / "one.conllu"
    >>> _ = path.write_text("# text = Go on\\n1\\tGo\\tgo\\tVERB" + "\\t_" * 6 + "\\n2\\ton\\ton\\tADP" + "\\t_" * 6)
    >>> next(read_conllu([path], TaggedColumn()))[1]
    (('Go', 'on'), ('VERB', 'ADP'))
    """
    tag = conllu_column(data.tag)

    def parse(line: str, in_sentence: bool) -> TaggedWord | None:
        if line.startswith("#"):
            return None
        fields = line.split("\t")
        if len(fields) != len(COLUMNS):
            columns = f"{counted(len(fields), 'column')}{'' if len(fields) > 1 else ', and no tab'}"
            raise UserError(f"{columns}; CoNLL-U has 10, separated by tabs", code="conllu-columns")
        if WORD_ID.fullmatch(fields[0]):
            return fields[1], fields[tag]
        if OTHER_ID.fullmatch(fields[0]):
            return None
        message = f"the id {fields[0][:20]!r} is neither a number, a range (1-2), nor an empty node (1.1)"
        raise UserError(message, code="conllu-id")

    for path in paths:
        yield from read_sentences(path, parse, data.max_characters, on_bad_line)


def conllu_column(column: str | None) -> int:
    name = (column or "upos").lower()
    if name.isdecimal() and 3 <= int(name) <= len(COLUMNS):
        return int(name) - 1
    if name in COLUMNS[2:]:
        return COLUMNS.index(name)
    nearest = get_close_matches(name, COLUMNS[2:], n=1)
    suggestion = f"Did you mean {nearest[0]}? " if nearest else ""
    message = f"{KeyName('data.tag', column)}: no such column of tags in CoNLL-U"
    raise UserError(message, f"{suggestion}Known: {', '.join(COLUMNS[2:])}, or 3 to 10", code="tag-column")


def read_conll(paths: Sequence[Path], data: TaggedColumn, on_bad_line: OnBadLine = raise_error) -> Iterator[Sentence]:
    """Words and tags of the sentences of CoNLL files: the word first, its tag last or in the column `data.tag`, from 1.

    The first row decides whether tabs or spaces separate columns, and how many there are. Rows of -DOCSTART- are left
    out, and so are comments, which are lines before a sentence that begin with # and have another number of columns.

    >>> path = getfixture("tmp_path") / "one.conll"
    >>> _ = path.write_text("-DOCSTART- -X- O\\n\\nU.N. NNP I-ORG\\nofficial NN O\\n")
    >>> next(read_conll([path], TaggedColumn(tag="2")))[1]
    (('U.N.', 'official'), ('NNP', 'NN'))
    """
    for path in paths:
        yield from read_sentences(path, conll_parser(data.tag), data.max_characters, on_bad_line)


def read_words(paths: Sequence[Path], data: TaggedColumn, on_bad_line: OnBadLine = raise_error) -> Iterator[Sentence]:
    """The words of CoNLL files as in `read_conll`, with or without columns of tags; the tags are the last column."""
    for path in paths:
        yield from read_sentences(path, conll_parser(None, least=1), data.max_characters, on_bad_line)


def conll_parser(column: str | None, least: int = 2) -> LineParser:
    """A parser of rows with this column of tags, default the last one, and at least this many columns."""
    if column is not None and not (column.isdecimal() and int(column) >= 2):
        message = f"{KeyName('data.tag', column)}: in CoNLL files (not CoNLL-U) a tag's column is a number, 2 or more"
        raise UserError(message, code="tag-column")
    tag = int(column) - 1 if column else -1
    separator: str | None = None
    width = 0

    def split(line: str, separator: str) -> list[str]:
        # Spaces may be repeated. Other white space does not separate columns, since a word may contain it.
        return line.split("\t") if separator == "\t" else [field for field in line.split(" ") if field]

    def parse(line: str, in_sentence: bool) -> TaggedWord | None:
        nonlocal separator, width
        if line.startswith("-DOCSTART-"):
            return None
        if separator is None:
            if line.startswith("# "):
                return None
            candidate = "\t" if "\t" in line else " "
            width = len(split(line, candidate))
            if width < least:
                message = "only one column; expected a word and its tag, separated by a tab or spaces"
                raise UserError(message, code="conll-one-column")
            if tag >= width:
                message = f"{width} columns, and {KeyName('data.tag')} asks for column {column}"
                raise UserError(message, code="conll-tag-column")
            separator = candidate
        fields = split(line, separator)
        if len(fields) == width:
            return fields[0], fields[tag]
        if line.startswith("#") and not in_sentence:
            return None
        message = f"{counted(len(fields), 'column')}, expected {width} as in the first row"
        raise UserError(message, code="conll-columns", values={"columns": len(fields), "expected": width})

    return parse


def read_sentences(path: Path, parse: LineParser, max_characters: int, on_bad_line: OnBadLine) -> Iterator[Sentence]:
    """The sentences of a file; a sentence with a bad line is left out."""
    words: list[TaggedWord] = []
    first = size = previous = 0
    is_bad, empty = False, True
    for number, line in chain(read_lines(path, max_characters, on_bad_line), [(0, "")]):
        if number and number != previous + 1:  # `read_lines` has reported a bad line
            is_bad = True
        previous = number
        if not line.strip(" \t"):
            if words and not is_bad:
                empty = False
                yield Location(str(path), first), (tuple(word for word, _ in words), tuple(tag for _, tag in words))
            words, first, size, is_bad = [], 0, 0, False
        elif not is_bad:
            try:
                word = parse_word(line, parse, bool(words))
            except UserError as error:
                advice = f"Correct the row, {OR_SKIP} (which skips its sentence)"
                on_bad_line(
                    DataError(Location(str(path), number), error.template.message, advice, code=error.template.code)
                )
                is_bad = True
                continue
            if word is None:
                continue
            first = first or number
            words.append(word)
            size += 1 + len(word[0])
            if size > max_characters:
                message = f"a sentence of more than {counted(max_characters, 'character')} begins here"
                advice = f"Put a blank line between sentences, or pass a larger {KeyName('data.max_characters')}"
                on_bad_line(DataError(Location(str(path), first), message, advice, code="sentence-length"))
                words, is_bad = [], True
    if empty:
        advice = "Name a file with one word and its tag per line"
        raise DataError(path, "there is no sentence that can be read", advice, code="no-sentences")


def parse_word(line: str, parse: LineParser, in_sentence: bool) -> TaggedWord | None:
    word = parse(line, in_sentence)
    for text, name in zip(word or (), ("word", "tag"), strict=False):
        if not text.strip():
            raise UserError(f"the {name} is empty", code=f"empty-{name}")
    return word
