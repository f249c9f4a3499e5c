"""CoNLL-U and CoNLL: sentences read back; a bad row is refused, or skipped with its sentence."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.config.data import TaggedColumn
from seqloom.core.problem import DataError, UserError
from seqloom.data.conll import read_conll, read_conllu
from seqloom.data.records import Location
from seqloom.data.text_io import OnBadLine, SkipBadLines, raise_error

REST = "\t_\t_\t_\t_\t_"
GOOD = f"1\tGo\tgo\tVERB\tVB{REST}\n"
words = st.text(st.characters(exclude_characters="\0\t\r\n\ufeff", exclude_categories=["Cs", "Zs"]), min_size=1).filter(
    lambda word: word.strip() and not word.startswith(("#", "-DOCSTART-"))
)
sentences = st.lists(st.lists(st.tuples(words, words), min_size=1, max_size=4), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conll") / "a.conllu"


def write(file: Path, text: str) -> Path:
    file.write_bytes(text.encode())
    return file


class Sentence(NamedTuple):
    """The words, the tags and the line of a sentence."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    line: int


def sentences_of(
    reader: Callable[..., Iterator[tuple[Location, tuple[tuple[str, ...], tuple[str, ...]]]]],
    file: Path,
    column: str | None = None,
    on_bad_line: OnBadLine = raise_error,
    max_characters: int = 1_000_000,
) -> list[Sentence]:
    section = TaggedColumn(tag=column, max_characters=max_characters)
    return [
        Sentence(*values, location.line)
        for location, values in reader([file], section, on_bad_line)
        if location.file == str(file)
    ]


def conllu(file: Path, column: str | None = None, on_bad_line: OnBadLine = raise_error) -> list[Sentence]:
    return sentences_of(read_conllu, file, column, on_bad_line)


def conll(
    file: Path, column: str | None = None, on_bad_line: OnBadLine = raise_error, max_characters: int = 1_000_000
) -> list[Sentence]:
    return sentences_of(read_conll, file, column, on_bad_line, max_characters)


@given(expected=sentences, blank=st.sampled_from(["\n", "\n\n", " \n"]), end=st.booleans())
def test_conllu_reads_back(file: Path, expected: list[list[tuple[str, str]]], blank: str, end: bool) -> None:
    blocks = [
        "# text = x\n" + "".join(f"{n}\t{word}\t_\t{tag}\t_{REST}\n" for n, (word, tag) in enumerate(pairs, 1))
        for pairs in expected
    ]
    text = blank.join(blocks)
    found_sentences = conllu(write(file, text if end else text.removesuffix("\n")))
    assert [list(zip(sentence.words, sentence.tags, strict=True)) for sentence in found_sentences] == expected
    assert [text.split("\n")[sentence.line - 1].split("\t")[1] for sentence in found_sentences] == [
        sentence.words[0] for sentence in found_sentences
    ]


@given(expected=sentences, separator=st.sampled_from(["\t", " ", "   "]), end=st.booleans())
def test_conll_reads_back(file: Path, expected: list[list[tuple[str, str]]], separator: str, end: bool) -> None:
    blocks = ["".join(f"{word}{separator}X{separator}{tag}\n" for word, tag in pairs) for pairs in expected]
    text = "\n".join(["-DOCSTART- -X- O\n", *blocks])
    write(file, text if end else text.removesuffix("\n"))
    assert [list(zip(sentence.words, sentence.tags, strict=True)) for sentence in conll(file)] == expected
    assert {tag for sentence in conll(file, "2") for tag in sentence.tags} == {"X"}


def test_ranges_and_empty_nodes_are_no_words(file: Path) -> None:
    rows = [f"1-2\tdon't\t_\t_\t_{REST}", f"1\tdo\tdo\tAUX\tVB{REST}", f"2\tn't\tnot\tPART\tRB{REST}"]
    rows.append(f"2.1\tgo\tgo\tVERB\tVB{REST}")
    [sentence] = conllu(write(file, "\n".join(rows)))
    assert sentence.words == ("do", "n't")
    assert sentence.line == 2


@pytest.mark.parametrize(
    ("column", "tag"), [(None, "VERB"), ("upos", "VERB"), ("XPOS", "VB"), ("lemma", "go"), ("5", "VB"), ("feats", "_")]
)
def test_tags_come_from_any_column_of_conllu(file: Path, column: str | None, tag: str) -> None:
    assert [sentence.tags for sentence in conllu(write(file, GOOD), column)] == [(tag,)]


def test_a_word_may_hold_spaces_between_tabs(file: Path) -> None:
    assert [sentence.words for sentence in conll(write(file, "New York\tLOC\n"))] == [("New York",)]


def test_a_hash_may_be_a_comment_or_a_word(file: Path) -> None:
    found_sentences = conll(write(file, "# id = 7\nGo VB\n# SYM\n\n# id = 8\n# SYM\nGo VB\n"))
    assert [sentence.words for sentence in found_sentences] == [("Go", "#"), ("#", "Go")]


@pytest.mark.parametrize("column", ["upso", "1", "11", "id", "form"])
def test_a_column_that_does_not_exist_is_refused(file: Path, column: str) -> None:
    with pytest.raises(UserError, match=f"data.tag {column}: no such column of tags in CoNLL-U. .*Known: lemma, upos"):
        conllu(file, column)
    with pytest.raises(UserError, match="Did you mean upos"):
        conllu(file, "upso")


@pytest.mark.parametrize("column", ["upos", "1", "0"])
def test_a_column_of_conll_is_a_number(file: Path, column: str) -> None:
    with pytest.raises(UserError, match=f"data.tag {column}: in CoNLL files .* is a number, 2 or more"):
        conll(file, column)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("2\ton\ton", "3 columns; CoNLL-U has 10, separated by tabs. Correct the row, or pass data.on_bad_line skip"),
        ("2 on on ADP IN _ _ _ _ _", "1 column, and no tab; CoNLL-U has 10"),
        (f"2\t\ton\tADP\tIN{REST}", "the word is empty. "),
        (f"2\ton\ton\t\tIN{REST}", "the tag is empty. "),
        (f"x\ton\ton\tADP\tIN{REST}", "the id 'x' is neither a number, a range (1-2), nor an empty node (1.1). "),
    ],
)
def test_a_bad_row_of_conllu_is_refused_or_skipped_with_its_sentence(file: Path, row: str, message: str) -> None:
    write(file, f"{GOOD}\n{GOOD}{row}\n3\tbroken\n\n{GOOD}")
    with pytest.raises(DataError) as error:
        conllu(file)
    assert str(error.value).startswith(f"{file}:4: {message}")
    skipped = SkipBadLines()
    assert [sentence.line for sentence in conllu(file, on_bad_line=skipped)] == [1, 7]
    assert skipped.count == 1


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("Go VB\non\n", None, ":2: 1 column, expected 2 as in the first row. "),
        ("Go VB\non IN X\n", None, ":2: 3 columns, expected 2 as in the first row. "),
        ("Go\tVB\non\t\n", None, ":2: the tag is empty. "),
        ("Go\tVB\n\tIN\n", None, ":2: the word is empty. "),
        ("Go\non\n", None, ":1: only one column; expected a word and its tag"),
        ("Go VB\n", "3", ":1: 2 columns, and data.tag asks for column 3. "),
        ("a B\n" + "word B\n" * 30, None, ":1: a sentence of more than 100 characters begins here. Put a blank line"),
        ("\n \n", None, ": there is no sentence that can be read. "),
        ("-DOCSTART- O\n\n", None, ": there is no sentence that can be read. "),
    ],
)
def test_a_bad_row_of_conll_is_refused(file: Path, text: str, column: str | None, message: str) -> None:
    with pytest.raises(DataError) as error:
        conll(write(file, text), column, max_characters=100)
    assert str(error.value).startswith(f"{file}{message}")


def test_a_bad_byte_is_skipped_with_its_sentence(file: Path) -> None:
    file.write_bytes(b"a X\n\nb X\n\xff X\nc X\n\n\xff X\nd X\n\ne X\n")
    skipped = SkipBadLines()
    assert [sentence.words for sentence in conll(file, on_bad_line=skipped)] == [("a",), ("e",)]
    assert skipped.count == 2
