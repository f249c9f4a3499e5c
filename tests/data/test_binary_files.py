"""What is not text is called what it is; what is text in another encoding is told how to become UTF-8."""

import bz2
import gzip
import io
import lzma
import sqlite3
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.problem import DataError
from seqloom.data.binary_files import check_text
from seqloom.data.text_io import SkipBadLines, read_chunks, read_lines

TEXT = b"text,label\nfine,a\n" * 9


def png() -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


def zipped() -> bytes:
    with zipfile.ZipFile(into := io.BytesIO(), "w") as archive:
        archive.writestr("a.csv", TEXT)
    return into.getvalue()


def tarred() -> bytes:
    with tarfile.open(fileobj=(into := io.BytesIO()), mode="w") as archive:
        about = tarfile.TarInfo("a.csv")
        about.size = len(TEXT)
        archive.addfile(about, io.BytesIO(TEXT))
    return into.getvalue()


def database() -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table reviews (text, label)")
        raw = connection.serialize()
    connection.close()
    return raw


FILES = {
    "png": (png(), r"not text \(a PNG image\)\. Name a text file"),
    "zip": (zipped(), r"not text \(a zip archive, .*\)\. Unpack it with `unzip`"),
    "bzip2": (bz2.compress(TEXT), r"not text \(compressed with bzip2\)\. Unpack it with `bunzip2`"),
    "xz": (lzma.compress(TEXT), r"not text \(compressed with xz\)\. Unpack it with `unxz`"),
    "tar": (tarred(), r"not text \(a tar archive\)\. Unpack it with `tar -xf`"),
    "tar.gz": (gzip.compress(tarred()), r"not text \(a tar archive\)\. Unpack"),
    "gzip twice": (gzip.compress(gzip.compress(TEXT)), r"not text \(compressed with gzip twice\)\. "),
    "sqlite": (database(), r"not text \(an SQLite database\)\. Export a table as CSV"),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", r"not text \(a PDF document\)\. .*pdftotext"),
    "others": (bytes(range(256)) * 4, r"not text: it looks like a binary file\. Name a text file"),
}


@pytest.mark.parametrize("read", [read_lines, read_chunks])
@pytest.mark.parametrize("name", FILES)
def test_what_it_is_and_what_to_do(tmp_path: Path, name: str, read) -> None:
    raw, message = FILES[name]
    (file := tmp_path / "a.csv").write_bytes(raw)
    with pytest.raises(DataError, match=rf"^{file}: {message}"):
        list(read(file))


def test_no_line_of_it_is_taken_where_bad_lines_are_skipped(tmp_path: Path) -> None:
    (file := tmp_path / "a.csv").write_bytes(png())
    with pytest.raises(DataError, match="a PNG image"):
        list(read_lines(file, on_bad_line=SkipBadLines()))


def test_gzip_under_another_name_is_read(tmp_path: Path) -> None:
    (file := tmp_path / "a.csv").write_bytes(gzip.compress(TEXT))
    assert "".join(read_chunks(file)) == TEXT.decode()


@pytest.mark.parametrize("encoding", ["latin1", "cp1252", "iso8859-7", "koi8-r", "shift-jis", "gb18030"])
def test_text_in_another_encoding_keeps_its_advice(tmp_path: Path, encoding: str) -> None:
    said = {"latin1": "café au lait, dîner", "cp1252": "“café” – 5 €", "iso8859-7": "καλημέρα", "koi8-r": "доброе утро"}
    (file := tmp_path / "a.txt").write_bytes(b"one\n" + said.get(encoding, "日本語と漢字").encode(encoding))
    with pytest.raises(DataError, match=rf"^{file}:2: the byte 0x.. is not UTF-8\. Convert the file, .*iconv"):
        list(read_lines(file))


@pytest.mark.parametrize("word", ["GIF89a", "%PDF-", "PAR1", "BZh"])
def test_a_text_may_begin_with_any_word(word: str) -> None:
    check_text("a.txt", f"{word} is how such files begin\n".encode())


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")), st.integers(0, 20))
def test_utf_8_is_text_wherever_it_is_cut(text: str, at: int) -> None:
    check_text("a.txt", ("a" + text).encode()[: at + 1])
