"""Words with tags, a word a line and a blank line between sentences: CoNLL-U, and CoNLL of two columns or more."""

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from seqloom.core.config.data import TaggedColumn
from seqloom.core.plurals import counted
from seqloom.core.problem import DataError, KeyName, UserError
from seqloom.data.records import OR_SKIP, Location
from seqloom.data.text_io import OnBadLine, raise_error, read_lines

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
WORD = re.compile(r"[1-9][0-9]*")
NOT_A_WORD = re.compile(r"[0-9]+(-|\.)[0-9]+")  # 1-2 is two words written as one, 1.1 a word that is not written

Word = tuple[str, str]
Sentence = tuple[Location, tuple[tuple[str, ...], tuple[str, ...]]]
Read = Callable[
    [str, bool], Word | None
]  # a line, and whether a sentence has begun, to a word and its tag, if it has them


def read_conllu(paths: Sequence[Path], data: TaggedColumn, on_bad_line: OnBadLine = raise_error) -> Iterator[Sentence]:
    """Words and tags of the sentences of CoNLL-U files.

    `data.tag` names the column of the tags: upos by default, xpos, feats, deprel, lemma, or a number from 1.

    Comments, ranges (1-2) and empty nodes (1.1) are passed over. A tag `_`, CoNLL-U's nothing, is a tag like others. A
    row that can't be read goes to `bad`, and its whole sentence is left out.

    >>> path = getfixture("tmp_path") / "one.conllu"
    >>> _ = path.write_text("# text = Go on\\n1\\tGo\\tgo\\tVERB" + "\\t_" * 6 + "\\n2\\ton\\ton\\tADP" + "\\t_" * 6)
    >>> next(read_conllu([path], TaggedColumn()))[1]
    (('Go', 'on'), ('VERB', 'ADP'))
    """
    tag = _conllu_column(data.tag)

    def read(line: str, begun: bool) -> Word | None:
        if line.startswith("#"):
            return None
        fields = line.split("\t")
        if len(fields) != len(COLUMNS):
            tabs = "" if len(fields) > 1 else ", and no tab"
            columns = f"{counted(len(fields), 'column')}{tabs}"
            raise UserError(f"{columns}; CoNLL-U has 10, separated by tabs", code="conllu-columns")
        if WORD.fullmatch(fields[0]):
            return fields[1], fields[tag]
        if NOT_A_WORD.fullmatch(fields[0]):
            return None
        message = f"the id {fields[0][:20]!r} is neither a number, a range (1-2), nor an empty node (1.1)"
        raise UserError(message, code="conllu-id")

    for path in paths:
        yield from _sentences(path, read, data.max_characters, on_bad_line)


def read_conll(paths: Sequence[Path], data: TaggedColumn, on_bad_line: OnBadLine = raise_error) -> Iterator[Sentence]:
    """Words and tags of the sentences of CoNLL files: the word first, its tag last or in the column `data.tag`, from 1.

    The first row says whether tabs or spaces stand between columns, and how many there are. Rows of -DOCSTART- are
    passed over, and so are, before a sentence, lines that begin with # and have another number of columns: comments.

    >>> path = getfixture("tmp_path") / "one.conll"
    >>> _ = path.write_text("-DOCSTART- -X- O\\n\\nU.N. NNP I-ORG\\nofficial NN O\\n")
    >>> next(read_conll([path], TaggedColumn(tag="2")))[1]
    (('U.N.', 'official'), ('NNP', 'NN'))
    """
    for path in paths:
        yield from _sentences(path, conll_reader(data.tag), data.max_characters, on_bad_line)


def conll_reader(column: str | None) -> Read:
    """What reads the rows of one file, which all have as many columns as its first."""
    if column is not None and not (column.isdecimal() and int(column) >= 2):
        message = f"{KeyName('data.tag', column)}: in CoNLL files (not CoNLL-U) a tag's column is a number, 2 or more"
        raise UserError(message, code="tag-column")
    tag = int(column) - 1 if column else -1
    split: Callable[[str], list[str]] | None = None
    width = 0

    def read(line: str, begun: bool) -> Word | None:
        nonlocal split, width
        if line.startswith("-DOCSTART-"):
            return None
        if split is None:
            if line.startswith("# "):
                return None
            at = _at_tabs if "\t" in line else _at_spaces
            width = len(at(line))
            if width < 2:
                message = "only one column; expected a word and its tag, separated by a tab or spaces"
                raise UserError(message, code="conll-one-column")
            if tag >= width:
                message = f"{width} columns, and {KeyName('data.tag')} asks for column {column}"
                raise UserError(message, code="conll-tag-column")
            split = at
        fields = split(line)
        if len(fields) == width:
            return fields[0], fields[tag]
        if line.startswith("#") and not begun:
            return None
        message = f"{counted(len(fields), 'column')}, expected {width} as in the first row"
        raise UserError(message, code="conll-columns", values={"columns": len(fields), "expected": width})

    return read


def _sentences(path: Path, read: Read, max_characters: int, on_bad_line: OnBadLine) -> Iterator[Sentence]:
    """Sentences out of lines: what is common to both forms."""
    sentence = Begun(path, max_characters, on_bad_line)
    found = False
    before = 0
    for number, line in read_lines(path, max_characters, on_bad_line):
        if number != before + 1:  # a line was bad, and has been reported: its sentence can't be whole
            sentence.broken = True
        before = number
        if line.strip(" \t"):
            sentence.add(number, line, read)
            continue
        if whole := sentence.end():
            found = True
            yield whole
    if whole := sentence.end():
        found = True
        yield whole
    if not found:
        advice = "Name a file with one word and its tag per line"
        raise DataError(path, "there is no sentence that can be read", advice, code="no-sentences")


class Begun:
    """The sentence that is being read; once a row of it is bad, the rest is passed over."""

    def __init__(self, path: Path, max_characters: int, on_bad_line: OnBadLine) -> None:
        self.path, self.max_characters, self.on_bad_line = path, max_characters, on_bad_line
        self.words: list[Word] = []
        self.first = self.size = 0
        self.broken = False

    def add(self, number: int, line: str, read: Read) -> None:
        if self.broken:
            return
        try:
            word = read(line, bool(self.words))
            if word is not None:
                self._check(word)
        except UserError as error:
            problem = error.template
            advice = f"Correct the row, {OR_SKIP} (which skips its sentence)"
            self._break(DataError(Location(str(self.path), number), problem.message, advice, code=problem.code))
            return
        if word is None:
            return
        self.first = self.first or number
        self.words.append(word)
        self.size += 1 + len(word[0])
        if self.size > self.max_characters:
            message = f"a sentence of more than {counted(self.max_characters, 'character')} begins here"
            advice = f"Put a blank line between sentences, or pass a larger {KeyName('data.max_characters')}"
            self._break(DataError(Location(str(self.path), self.first), message, advice, code="sentence-length"))

    def _check(self, word: Word) -> None:
        for part, name in zip(word, ("word", "tag"), strict=True):
            if not part.strip():
                raise UserError(f"the {name} is empty", code=f"empty-{name}")

    def _break(self, error: DataError) -> None:
        self.broken = True
        self.words.clear()
        self.on_bad_line(error)

    def end(self) -> Sentence | None:
        words, first, broken = self.words, self.first, self.broken
        self.words, self.first, self.size, self.broken = [], 0, 0, False
        if broken or not words:
            return None
        values = tuple(word for word, _ in words), tuple(tag for _, tag in words)
        return Location(str(self.path), first), values


def _conllu_column(column: str | None) -> int:
    name = (column or "upos").lower()
    if name.isdecimal() and 3 <= int(name) <= len(COLUMNS):
        return int(name) - 1
    if name in COLUMNS[2:]:
        return COLUMNS.index(name)
    nearest = get_close_matches(name, COLUMNS[2:], n=1)
    guess = f"Did you mean {nearest[0]}? " if nearest else ""
    message = f"{KeyName('data.tag', column)}: no such column of tags in CoNLL-U"
    raise UserError(message, f"{guess}Known: {', '.join(COLUMNS[2:])}, or 3 to 10", code="tag-column")


def _at_tabs(line: str) -> list[str]:
    return line.split("\t")


def _at_spaces(line: str) -> list[str]:
    return [field for field in line.split(" ") if field]  # not at other white space, which a word may hold
