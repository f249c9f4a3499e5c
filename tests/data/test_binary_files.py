"""A binary file is refused by its kind; for text in another encoding the error says how to convert it."""

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


def zip_archive() -> bytes:
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
        archive.writestr("a.csv", TEXT)
    return buffer.getvalue()


def tar_archive() -> bytes:
    with tarfile.open(fileobj=(buffer := io.BytesIO()), mode="w") as archive:
        member = tarfile.TarInfo("a.csv")
        member.size = len(TEXT)
        archive.addfile(member, io.BytesIO(TEXT))
    return buffer.getvalue()


def database() -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table reviews (text, label)")
        raw = connection.serialize()
    connection.close()
    return raw


FILES = {
    "png": (png(), r"not text \(a PNG image\)\. Name a text file"),
    "zip": (zip_archive(), r"not text \(a zip archive, .*\)\. Unpack it with `unzip`"),
    "bzip2": (bz2.compress(TEXT), r"not text \(compressed with bzip2\)\. Unpack it with `bunzip2`"),
    "xz": (lzma.compress(TEXT), r"not text \(compressed with xz\)\. Unpack it with `unxz`"),
    "tar": (tar_archive(), r"not text \(a tar archive\)\. Unpack it with `tar -xf`"),
    "tar.gz": (gzip.compress(tar_archive()), r"not text \(a tar archive\)\. Unpack"),
    "gzip twice": (gzip.compress(gzip.compress(TEXT)), r"not text \(compressed with gzip twice\)\. "),
    "sqlite": (database(), r"not text \(an SQLite database\)\. Export a table as CSV"),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", r"not text \(a PDF document\)\. .*pdftotext"),
    "others": (bytes(range(256)) * 4, r"not text: it looks like a binary file\. Name a text file"),
}


@pytest.mark.parametrize("read", [read_lines, read_chunks])
@pytest.mark.parametrize("name", FILES)
def test_a_binary_file_is_refused_with_its_kind(tmp_path: Path, name: str, read) -> None:
    raw, message = FILES[name]
    (file := tmp_path / "a.csv").write_bytes(raw)
    with pytest.raises(DataError, match=rf"^{file}: {message}"):
        list(read(file))


def test_a_binary_file_is_refused_where_bad_lines_are_skipped(tmp_path: Path) -> None:
    (file := tmp_path / "a.csv").write_bytes(png())
    with pytest.raises(DataError, match="a PNG image"):
        list(read_lines(file, on_bad_line=SkipBadLines()))


def test_gzip_with_any_suffix_is_read(tmp_path: Path) -> None:
    (file := tmp_path / "a.csv").write_bytes(gzip.compress(TEXT))
    assert "".join(read_chunks(file)) == TEXT.decode()


@pytest.mark.parametrize("encoding", ["latin1", "cp1252", "iso8859-7", "koi8-r", "shift-jis", "gb18030"])
def test_text_in_another_encoding_is_not_taken_for_a_binary_file(tmp_path: Path, encoding: str) -> None:
    text = {"latin1": "café au lait, dîner", "cp1252": "“café” – 5 €", "iso8859-7": "καλημέρα", "koi8-r": "доброе утро"}
    (file := tmp_path / "a.txt").write_bytes(b"one\n" + text.get(encoding, "日本語と漢字").encode(encoding))
    with pytest.raises(DataError, match=rf"^{file}:2: the byte 0x.. is not UTF-8\. Convert the file, .*iconv"):
        list(read_lines(file))


@pytest.mark.parametrize("word", ["GIF89a", "%PDF-", "PAR1", "BZh"])
def test_a_text_may_begin_like_a_binary_file(word: str) -> None:
    check_text("a.txt", f"{word} is how such files begin\n".encode())


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")), st.integers(0, 20))
def test_utf_8_is_text_wherever_it_is_cut(text: str, at: int) -> None:
    check_text("a.txt", ("a" + text).encode()[: at + 1])
