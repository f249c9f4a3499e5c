"""Lines and chunks read back with any line endings, also from gzip; a file that can't be read is refused."""

import gzip
import os
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.problem import DataError
from seqloom.data import text_io as module
from seqloom.data.text_io import EmptyFile, SkipBadLines, read_chunks, read_lines, read_text

# Not "\ufeff": as a first character it is a BOM.
some_lines = st.lists(
    st.text(st.characters(exclude_characters="\r\n\0\ufeff", exclude_categories=["Cs"]), max_size=12), min_size=1
)
endings = st.sampled_from(["\n", "\r\n", "\r"])
blocks = st.integers(8, 40)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines") / "text.txt"


def write(file: Path, text: str, bom: bool = False, packed: bool = False) -> Path:
    raw = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    file.write_bytes(gzip.compress(raw, mtime=0) if packed else raw)
    return file


def error_message(reading: Iterator[object]) -> str:
    with pytest.raises(DataError) as error:
        list(reading)
    assert "\n" not in str(error.value)
    return str(error.value)


@given(lines=some_lines, data=st.data(), bom=st.booleans(), packed=st.booleans(), block=blocks)
def test_lines_read_back(
    file: Path, lines: list[str], data: st.DataObject, bom: bool, packed: bool, block: int
) -> None:
    text = "".join(line + data.draw(endings) for line in lines) + data.draw(st.sampled_from(["", "end"]))
    expected = re.split("\r\n|\r|\n", text)
    if expected[-1] == "":
        expected.pop()
    with patch.object(module, "BLOCK_SIZE", block):
        assert list(read_lines(write(file, text, bom, packed))) == list(enumerate(expected, 1))


@given(
    text=st.text(st.characters(exclude_characters="\0\ufeff", exclude_categories=["Cs"]), min_size=1),
    bom=st.booleans(),
    packed=st.booleans(),
    characters=st.integers(1, 9),
    block=blocks,
)
def test_chunks_read_back(file: Path, text: str, bom: bool, packed: bool, characters: int, block: int) -> None:
    write(file, text, bom, packed)
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    with patch.object(module, "BLOCK_SIZE", block):
        chunks = list(read_chunks(file, characters))
    assert "".join(chunks) == plain
    assert all(len(chunk) == characters for chunk in chunks[:-1])
    assert [line for _, line in read_lines(file)] == plain.removesuffix("\n").split("\n")


def test_only_line_endings_end_lines(file: Path) -> None:
    line = "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g"
    assert [text for _, text in read_lines(write(file, line + "\nh"))] == [line, "h"]


def test_gzip_is_recognized_by_its_bytes(tmp_path: Path) -> None:
    assert list(read_lines(write(tmp_path / "a.txt", "x", packed=True))) == [(1, "x")]
    assert list(read_lines(write(tmp_path / "b.gz", "x"))) == [(1, "x")]
    (tmp_path / "c.gz").write_bytes(gzip.compress(b"x\n", mtime=0) + gzip.compress(b"y\n", mtime=0))
    assert list(read_lines(tmp_path / "c.gz")) == [(1, "x"), (2, "y")]


@pytest.mark.parametrize("read", [read_lines, read_chunks])
@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", ": the file is empty. "),
        (b"\xef\xbb\xbf", ": the file is empty. "),
        (gzip.compress(b"", mtime=0), ": the file is empty. "),
        (gzip.compress(b"some text" * 99, mtime=0)[:-12], ": the gzip data is corrupt or truncated. "),
        (gzip.compress(b"some text" * 99, mtime=0)[:-8] + b"\xff" * 8, ": the gzip data is corrupt or truncated. "),
        (gzip.compress(b"some text", mtime=0) + b"garbage", ": the gzip data is corrupt or truncated. "),
        (b"one\r\ncaf\xe9 au lait\n", ":2: the byte 0xE9 is not UTF-8. Convert the file, for example with `iconv"),
        (b"one\r\rtwo\ncaf\xc3", ":4: the byte 0xC3 is not UTF-8. "),
        (b"\xef\xbb", ":1: the byte 0xEF is not UTF-8. "),
        (b"\xed\xa0\x80", ":1: the byte 0xED is not UTF-8. "),
        ("text".encode("utf-16"), ": the file is in UTF-16, not UTF-8. "),
        ("text".encode("utf-32"), ": the file is in UTF-32, not UTF-8. "),
        (b"PK\x03\x04 and so on", ": not text (a zip archive"),
        (b"one\ntw\0o", ":2: a NUL byte: this looks like a binary file. "),
    ],
)
@pytest.mark.parametrize("block", [8, 1 << 20])
def test_bad_bytes_are_refused(file: Path, read, raw: bytes, message: str, block: int) -> None:
    file.write_bytes(raw)
    with patch.object(module, "BLOCK_SIZE", block):
        assert error_message(read(file)).startswith(f"{file}{message}")


@pytest.mark.parametrize("read", [read_lines, read_chunks])
def test_a_missing_file_a_folder_and_a_pipe_are_refused(tmp_path: Path, read) -> None:
    assert (
        error_message(read(tmp_path / "none"))
        == f"{tmp_path}/none: there is no such file. Check the name and the folder."
    )
    assert (
        error_message(read(tmp_path)) == f"{tmp_path}: is a directory. Name its files, for example '{tmp_path}/*.txt'."
    )
    os.mkfifo(tmp_path / "pipe")
    message = "is a pipe (which `<(...)` makes too), but data is read more than once. Write the data to a file"
    assert error_message(read(tmp_path / "pipe")).startswith(f"{tmp_path}/pipe: {message}")
    assert "it can't be read (File name too long)" in error_message(read(tmp_path / ("x" * 300)))
    file = write(tmp_path / "shut.txt", "x")
    with patch.object(Path, "open", side_effect=PermissionError(13, "Permission denied")):
        assert ": no permission to read it. Make it readable" in error_message(read(file))


def test_a_long_line_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "long.gz"
    with gzip.open(file, "wb", compresslevel=1) as stream:
        stream.write(b"short\n")
        for _ in range(64):
            stream.write(b"x" * (1 << 20))
    tracemalloc.start()
    assert error_message(read_lines(file)) == (
        f"{file}:2: a line of more than 1,000,000 characters. Split it, or pass a larger data.max_characters."
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 << 20
    assert sum(map(len, read_chunks(file))) == 6 + (64 << 20)


@given(width=st.integers(1, 30), max_characters=st.integers(1, 30), letter=st.sampled_from("xé€🎈"), block=blocks)
def test_characters_are_counted_not_bytes(file: Path, width: int, max_characters: int, letter: str, block: int) -> None:
    skipped = SkipBadLines()
    with patch.object(module, "BLOCK_SIZE", block):
        lines = list(read_lines(write(file, f"a\n{letter * width}\nb\n"), max_characters, skipped))
    assert lines == [(1, "a"), *([(2, letter * width)] if width <= max_characters else []), (3, "b")]
    assert skipped.count == (width > max_characters)


def test_bad_lines_can_be_skipped_and_are_counted(file: Path) -> None:
    file.write_bytes(b"one\n\xff\n\0\n" + b"x" * 50 + b"\nfive\n" + b"\xff\n" * 200)
    skipped = SkipBadLines()
    assert list(read_lines(file, 10, skipped)) == [(1, "one"), (5, "five")]
    assert (skipped.count, len(skipped.errors)) == (203, 100)
    numbers = [re.search(r":(\d+): ", str(error))[1] for error in skipped.errors[:4]]
    assert numbers == ["2", "3", "4", "6"]


def test_lines_are_read_lazily(file: Path) -> None:
    write(file, "a\n" * (1 << 21))
    with patch.object(module, "BLOCK_SIZE", 64):
        tracemalloc.start()
        assert next(read_lines(file)) == (1, "a")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        tracemalloc.stop()


# Several files as one text --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["a", "b"], "a\nb"),
        (["a\n", "b\r"], "a\nb\n"),
        (["", "a", "", "b", ""], "a\nb"),
        (["abcde\n", "f"], "abcde\nf"),
    ],
)
@pytest.mark.parametrize("characters", [1, 2, 100])
def test_files_are_joined_by_a_newline(tmp_path: Path, texts: list[str], expected: str, characters: int) -> None:
    paths = [tmp_path / str(number) for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode())
    chunks = list(read_text(paths, characters))
    assert "".join(chunks) == expected
    assert all(1 <= len(chunk) <= characters for chunk in chunks)


def test_only_empty_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "b").touch()
    with pytest.raises(EmptyFile, match="b: the file is empty"):
        list(read_text([tmp_path / "a", tmp_path / "b"]))
