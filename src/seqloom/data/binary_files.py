"""Files that are not text, known by how they begin: what they are, and what to do with them."""

import codecs

from seqloom.core.problem import DataError

LOOKED_AT = 1 << 13  # bytes
CONTROL = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1b") | {0x7F}
MANY = 0.02  # of control characters: text in an encoding of one byte a character has next to none

ENCODINGS = (  # UTF-32's mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)

NAME_ANOTHER = "Name a text file"
KINDS = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image", NAME_ANOTHER),
    (b"\xff\xd8\xff", "a JPEG image", NAME_ANOTHER),
    (b"GIF87a", "a GIF image", NAME_ANOTHER),
    (b"GIF89a", "a GIF image", NAME_ANOTHER),
    (b"%PDF-", "a PDF document", "Convert it, for example with `pdftotext`"),
    (b"SQLite format 3\0", "an SQLite database", "Export a table as CSV, for example with `sqlite3 -header -csv`"),
    (b"PAR1", "a Parquet table", "Write it as CSV or JSONL, for example with pandas"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Word or Excel file", "Save it as plain text or CSV"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "Write it as CSV or JSONL"),
    (b"\x93NUMPY", "a NumPy array", "Write it as CSV or JSONL"),
    (b"\x7fELF", "a program", NAME_ANOTHER),
    (
        b"PK\x03\x04",
        "a zip archive, or a document or spreadsheet, which are such",
        "Unpack it with `unzip`, or save the document as plain text or CSV",
    ),
    (b"BZh", "packed with bzip2", "Unpack it with `bunzip2`, or pack it with gzip instead"),
    (b"\xfd7zXZ\0", "packed with xz", "Unpack it with `unxz`, or pack it with gzip instead"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd", "Unpack it with `unzstd`, or pack it with gzip instead"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "Unpack it with `7z x`"),
    (b"Rar!\x1a\x07", "a RAR archive", "Unpack it with `unrar x`"),
    (b"\x1f\x8b", "packed with gzip twice", "Unpack it once with `gunzip`"),
)
TAR = slice(257, 262), b"ustar"


def check_text(location: object, beginning: bytes) -> None:
    """A sentence if a file that begins so (unpacked, if it was gzip) is known not to be UTF-8 text.

    >>> check_text("a.csv", "text,label".encode("utf-16"))
    Traceback (most recent call last):
    seqloom.core.problem.DataError: a.csv: the file is in UTF-16, not UTF-8. Convert it, for example with
    `iconv -f utf-16 -t utf-8`.
    """
    for mark, name in ENCODINGS:
        if beginning.startswith(mark):
            advice = f"Convert it, for example with `iconv -f {name.lower()} -t utf-8`"
            raise DataError(location, f"the file is in {name}, not UTF-8", advice, code="encoding")
    fine = is_utf_8(beginning) and b"\0" not in beginning  # words that some files begin with may begin a text too
    for magic, kind, advice in KINDS:
        if beginning.startswith(magic) and not (magic.isascii() and magic.decode().isprintable() and fine):
            raise DataError(location, f"not text ({kind})", advice, code="known-binary")
    where, magic = TAR
    if beginning[where] == magic:
        raise DataError(location, "not text (a tar archive)", "Unpack it with `tar -xf`", code="known-binary")
    if looks_binary(beginning):
        raise DataError(location, "not text: it looks like a binary file", NAME_ANOTHER, code="unknown-binary")


def looks_binary(beginning: bytes) -> bool:
    """Whether these bytes are text in no common encoding: neither UTF-8, nor with hardly any control characters.

    >>> looks_binary("café".encode("latin1")), looks_binary(bytes(range(256)))
    (False, True)
    """
    seen = beginning[:LOOKED_AT]
    return not is_utf_8(seen) and sum(byte in CONTROL for byte in seen) > MANY * len(seen)


def is_utf_8(beginning: bytes) -> bool:
    """Whether it may be, as far as it goes; the last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning[:LOOKED_AT])
    except UnicodeDecodeError:
        return False
    return True
