"""Files that are not UTF-8 text, recognized by their first bytes, with advice on each."""

import codecs

from seqloom.core.problem import DataError

SAMPLE = 1 << 13  # bytes that are looked at
CONTROL = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1b") | {0x7F}
MAX_CONTROL = 0.02  # share of control characters; text in a one-byte encoding has next to none

ENCODINGS = (  # UTF-32's mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)

NAME_TEXT_FILE = "Name a text file"
EXPORT = "Write it as CSV or JSONL"
KINDS = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image", NAME_TEXT_FILE),
    (b"\xff\xd8\xff", "a JPEG image", NAME_TEXT_FILE),
    (b"GIF87a", "a GIF image", NAME_TEXT_FILE),
    (b"GIF89a", "a GIF image", NAME_TEXT_FILE),
    (b"%PDF-", "a PDF document", "Convert it, for example with `pdftotext`"),
    (b"SQLite format 3\0", "an SQLite database", "Export a table as CSV, for example with `sqlite3 -header -csv`"),
    (b"PAR1", "a Parquet table", f"{EXPORT}, for example with pandas"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Word or Excel file", "Save it as plain text or CSV"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", EXPORT),
    (b"\x93NUMPY", "a NumPy array", EXPORT),
    (b"\x7fELF", "a program", NAME_TEXT_FILE),
    (
        b"PK\x03\x04",
        "a zip archive, as documents and spreadsheets are",
        "Unpack it with `unzip`, or save the document as plain text or CSV",
    ),
    (b"BZh", "compressed with bzip2", "Unpack it with `bunzip2`, or compress it with gzip instead"),
    (b"\xfd7zXZ\0", "compressed with xz", "Unpack it with `unxz`, or compress it with gzip instead"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "Unpack it with `unzstd`, or compress it with gzip instead"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "Unpack it with `7z x`"),
    (b"Rar!\x1a\x07", "a RAR archive", "Unpack it with `unrar x`"),
    (b"\x1f\x8b", "compressed with gzip twice", "Unpack it once with `gunzip`"),
)
TAR_MAGIC = slice(257, 262), b"ustar"


def check_text(name: object, beginning: bytes) -> None:
    """Refuse a file whose first bytes (unpacked, if it is gzip) show that it is not UTF-8 text.

    >>> check_text("a.csv", "text,label".encode("utf-16"))
    Traceback (most recent call last):
    seqloom.core.problem.DataError: a.csv: the file is in UTF-16, not UTF-8. Convert it, for example with
    `iconv -f utf-16 -t utf-8`.
    """
    for mark, encoding in ENCODINGS:
        if beginning.startswith(mark):
            advice = f"Convert it, for example with `iconv -f {encoding.lower()} -t utf-8`"
            raise DataError(name, f"the file is in {encoding}, not UTF-8", advice, code="encoding")
    may_be_text = is_utf_8(beginning) and b"\0" not in beginning
    for magic, kind, advice in KINDS:  # a text may begin with a magic number that is readable, such as BZh
        if beginning.startswith(magic) and not (may_be_text and magic.isascii() and magic.decode().isprintable()):
            raise DataError(name, f"not text ({kind})", advice, code="known-binary")
    position, magic = TAR_MAGIC
    if beginning[position] == magic:
        raise DataError(name, "not text (a tar archive)", "Unpack it with `tar -xf`", code="known-binary")
    if looks_binary(beginning):
        raise DataError(name, "not text: it looks like a binary file", NAME_TEXT_FILE, code="unknown-binary")


def looks_binary(beginning: bytes) -> bool:
    """Whether the bytes are neither UTF-8 nor text in a one-byte encoding, which has hardly any control characters.

    >>> looks_binary("café".encode("latin1")), looks_binary(bytes(range(256)))
    (False, True)
    """
    sample = beginning[:SAMPLE]
    return not is_utf_8(sample) and sum(byte in CONTROL for byte in sample) > MAX_CONTROL * len(sample)


def is_utf_8(beginning: bytes) -> bool:
    """Whether the bytes are valid UTF-8, of which the last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning[:SAMPLE])
    except UnicodeDecodeError:
        return False
    return True
