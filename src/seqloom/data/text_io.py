"""Read text files line by line or in chunks: plain or gzip, UTF-8, any line ending, in bounded memory."""

import codecs
import gzip
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BufferedReader
from itertools import chain
from pathlib import Path

from seqloom.core.problem import DataError, KeyName, UserError
from seqloom.core.wording import counted, printable
from seqloom.data.binary_files import check_text
from seqloom.data.records import Location

BLOCK_SIZE = 1 << 20  # bytes read at a time
GZIP_MAGIC = b"\x1f\x8b"
SPECIAL_FILES = (
    (stat.S_ISFIFO, "is a pipe (which `<(...)` makes too)"),
    (stat.S_ISCHR, "is a device"),
    (stat.S_ISBLK, "is a device"),
    (stat.S_ISSOCK, "is a socket"),
)
LINE_TOO_LONG = "line-length"  # the code of a line that is too long
MAX_CHARACTERS = 1_000_000  # of a line

OnBadLine = Callable[[DataError], None]
"""A handler of a line that can't be read. If it returns instead of raising, the line is left out."""
Lines = Iterator[tuple[int, str]]
"""Lines with their numbers, from 1."""


def raise_error(error: UserError) -> None:
    """A handler of bad lines and other problems that raises them."""
    raise error


class SkipBadLines:
    """A handler of bad lines that counts them and keeps the first errors.

    >>> skipped = SkipBadLines()
    >>> skipped(DataError("train.tsv:7366", "3 fields, expected 2", "Remove the tab", code="field-count"))
    >>> skipped.count, str(skipped.errors[0])
    (1, 'train.tsv:7366: 3 fields, expected 2. Remove the tab.')
    """

    max_errors = 100

    def __init__(self) -> None:
        self.count = 0
        self.errors: list[DataError] = []

    def __call__(self, error: DataError) -> None:
        self.count += 1
        if len(self.errors) < self.max_errors:
            self.errors.append(error)


def count_skipped(on_bad_line: OnBadLine) -> int:
    return on_bad_line.count if isinstance(on_bad_line, SkipBadLines) else 0


class EmptyFile(DataError):
    def __init__(self, path: object) -> None:
        super().__init__(path, "the file is empty", "Name a file with text in it", code="empty-file")


def read_lines(path: str | Path, max_characters: int = MAX_CHARACTERS, on_bad_line: OnBadLine = raise_error) -> Lines:
    r"""Lines without their endings, and their numbers from 1. Only \n, \r\n and \r end a line.

    A line that is not UTF-8, holds a NUL or has more than `max_characters` is passed to `on_bad_line`. The rest of a
    line that is too long is skipped, not stored.

    >>> path = getfixture("tmp_path") / "two.txt"
    >>> _ = path.write_bytes(b"one\r\ntwo")
    >>> list(read_lines(path))
    [(1, 'one'), (2, 'two')]
    """
    path = Path(path)
    return _decode_lines(path, _read_blocks(path), max_characters, on_bad_line)


def stream_lines(stream: BufferedReader, name: str, max_characters: int = MAX_CHARACTERS) -> Lines:
    """The lines of a stream that has no path, such as standard input; a bad line is an error.

    >>> from io import BytesIO
    >>> list(stream_lines(BufferedReader(BytesIO(b"one\\rtwo")), "standard input"))
    [(1, 'one'), (2, 'two')]
    """
    return _decode_lines(name, _unpack(stream, name), max_characters, raise_error)


def _decode_lines(name: object, blocks: Iterable[bytes], max_characters: int, on_bad_line: OnBadLine) -> Lines:
    for number, raw in enumerate(_split_lines(_normalize_newlines(name, blocks), 4 * max_characters), 1):
        if len(raw) > 4 * max_characters:  # checked before decoding, since the line may be cut inside a character
            on_bad_line(_too_long(name, number, max_characters))
            continue
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            on_bad_line(_not_utf_8(name, number, error))
            continue
        if "\0" in line:
            on_bad_line(_nul_byte(name, number))
        elif len(line) > max_characters:
            on_bad_line(_too_long(name, number, max_characters))
        else:
            yield number, line


def read_chunks(path: str | Path, characters: int = 1 << 20) -> Iterator[str]:
    r"""The text in chunks of `characters` (the last may be shorter), with \n for every line ending.

    A line may have any length; invalid text is an error.

    >>> path = getfixture("tmp_path") / "two.txt"
    >>> _ = path.write_bytes(b"one\r\ntwo")
    >>> list(read_chunks(path, characters=4))
    ['one\n', 'two']
    """
    path = Path(path)
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, rest = 1, ""
    for block in chain(_normalize_newlines(path, _read_blocks(path)), (b"",)):
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise _not_utf_8(path, line + error.object.count(b"\n", 0, error.start), error) from None
        if "\0" in text:
            raise _nul_byte(path, line + text.count("\n", 0, text.index("\0")))
        line += block.count(b"\n")
        rest += text
        complete = len(rest) - len(rest) % characters
        for start in range(0, complete, characters):
            yield rest[start : start + characters]
        rest = rest[complete:]
    if rest:
        yield rest


def read_text(paths: Sequence[str | Path], characters: int = 1 << 20) -> Iterator[str]:
    r"""The text of all files in chunks of at most `characters`; each file but the last ends with a newline.

    Some files may be empty (a glob over source code matches such files), but not all.

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "a.txt").write_text("one"), (folder / "b.txt").write_text("two\n")
    >>> "".join(read_text([folder / "a.txt", folder / "b.txt"]))
    'one\ntwo\n'
    """
    last, empty = "", None
    for path in paths:
        try:
            for number, chunk in enumerate(read_chunks(path, characters)):
                if number == 0 and last not in ("", "\n"):
                    yield "\n"
                yield chunk
                last = chunk[-1]
        except EmptyFile as error:
            empty = error
    if empty and not last:
        raise empty


# Bytes ---------------------------------------------------------------------------------------------------------------


def _read_blocks(path: Path) -> Iterator[bytes]:
    try:
        refuse_pipe(path)
        if path.is_dir():
            raise directory_error(path)
        with path.open("rb") as file:
            yield from _unpack(file, path)
    except OSError as error:
        raise cannot_read(path, error) from None


def _unpack(stream: BufferedReader, name: object) -> Iterator[bytes]:
    """The bytes of a stream, decompressed if gzipped. A block is yielded as soon as it arrives, for typed input."""
    try:
        source = gzip.GzipFile(fileobj=stream) if stream.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC) else stream
        while block := source.read1(BLOCK_SIZE):
            yield block
    except (EOFError, zlib.error, gzip.BadGzipFile):
        message, advice = "the gzip data is corrupt or truncated", "Download the file again, or compress it again"
        raise DataError(name, message, advice, code="broken-gzip") from None


def _normalize_newlines(name: object, blocks: Iterable[bytes]) -> Iterator[bytes]:
    r"""The bytes without a BOM, with \n for every line ending."""
    held, empty = b"", True  # a \r at the end of a block is held back, since a \n may follow
    for number, block in enumerate(blocks):
        if number == 0:
            check_text(name, block)
            block = block.removeprefix(codecs.BOM_UTF8)
        block = held + block
        held = b"\r" if block.endswith(b"\r") else b""
        block = block.removesuffix(held)
        if b"\r" in block:  # in UTF-8 no other character has this byte
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        empty = empty and not block and not held
        if block:
            yield block
    if held:
        yield b"\n"
    if empty:
        raise EmptyFile(name)


def _split_lines(blocks: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    """Lines as bytes. A line longer than `max_bytes` is yielded as soon as that is known, and its rest is dropped."""
    line, is_cut = bytearray(), False  # the line that continues in the next block; whether it was cut and yielded
    for block in blocks:
        first, *others = block.split(b"\n")
        if not is_cut:
            line += first
        if others:
            if not is_cut:
                yield bytes(line)
            yield from others[:-1]
            line, is_cut = bytearray(others[-1]), False
        if len(line) > max_bytes:
            yield bytes(line)
            line, is_cut = bytearray(), True
    if line:
        yield bytes(line)


# Errors --------------------------------------------------------------------------------------------------------------


def refuse_pipe(path: Path) -> None:
    """Refuse a path that is neither a file nor a folder before it is opened, since opening a pipe may block."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        kind = next((kind for is_kind, kind in SPECIAL_FILES if is_kind(mode)), "is not a regular file")
        advice = "Write the data to a file first, and name that"
        raise DataError(path, f"{kind}, but data is read more than once", advice, code="not-a-file")


def directory_error(path: Path, pattern: str = "*.txt") -> DataError:
    return DataError(path, "is a directory", f"Name its files, for example '{path / pattern}'", code="directory")


def cannot_read(path: Path, error: OSError) -> DataError:
    """The error for a file or folder that can't be opened."""
    name = printable(path)
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return DataError(name, "there is no such file", "Check the name and the folder", code="no-such-file")
        case PermissionError():
            advice = f"Make it readable, for example with `chmod u+r {name}`"
            return DataError(name, "no permission to read it", advice, code="no-permission")
        case _:
            message = f"it can't be read ({error.strerror or error})"
            return DataError(name, message, "Check the disk, or copy it elsewhere", code="unreadable-file")


def _not_utf_8(name: object, line: int, error: UnicodeDecodeError) -> DataError:
    message = f"the byte 0x{error.object[error.start]:02X} is not UTF-8"
    advice = "Convert the file, for example with `iconv -f latin1 -t utf-8`"
    return DataError(Location(str(name), line), message, advice, code="not-utf-8")


def _nul_byte(name: object, line: int) -> DataError:
    advice = "Name a text file (one in UTF-16 can be converted with `iconv -f utf-16 -t utf-8`)"
    return DataError(Location(str(name), line), "a NUL byte: this looks like a binary file", advice, code="nul-byte")


def _too_long(name: object, line: int, max_characters: int) -> DataError:
    message = f"a line of more than {counted(max_characters, 'character')}"
    advice = f"Split it, or pass a larger {KeyName('data.max_characters')}"
    return DataError(Location(str(name), line), message, advice, code=LINE_TOO_LONG)
