"""Text out of files, line by line or in pieces: plain or gzip, UTF-8, any line ending, in bounded memory."""

import codecs
import gzip
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BufferedReader
from itertools import chain
from pathlib import Path

from seqloom.core.plurals import counted, printable
from seqloom.core.problem import DataError, KeyName, UserError
from seqloom.data.binary_files import check_text
from seqloom.data.records import Location

BLOCK = 1 << 20  # bytes read at a time
GZIP = b"\x1f\x8b"
UTF_8_BOM = codecs.BOM_UTF8
NO_FILES = (
    (stat.S_ISFIFO, "is a pipe (which `<(...)` makes too)"),
    (stat.S_ISCHR, "is a device"),
    (stat.S_ISBLK, "is a device"),
    (stat.S_ISSOCK, "is a socket"),
)

LINE_LENGTH = "line-length"  # the code of a line that is too long

OnBadLine = Callable[[DataError], None]
"""A handler of a line that can't be read: it raises the error, or notes it and returns, which leaves the line out."""


def raise_error(error: UserError) -> None:
    """What to do with a bad line, the strict way: stop there."""
    raise error


class SkipBadLines:
    """What to do with a bad line, the lenient way: leave it out, but count it and keep the first sentences.

    >>> skipped = SkipBadLines()
    >>> skipped(DataError("train.tsv:7366", "3 fields, expected 2", "Remove the tab", code="field-count"))
    >>> skipped.count, str(skipped.errors[0])
    (1, 'train.tsv:7366: 3 fields, expected 2. Remove the tab.')
    """

    kept = 100

    def __init__(self) -> None:
        self.count = 0
        self.errors: list[DataError] = []

    def __call__(self, error: DataError) -> None:
        self.count += 1
        if len(self.errors) < self.kept:
            self.errors.append(error)


def skipped(on_bad_line: OnBadLine) -> int:
    """How many lines were left out."""
    return on_bad_line.count if isinstance(on_bad_line, SkipBadLines) else 0


class EmptyFile(DataError):
    """A file without a single character."""

    def __init__(self, path: object) -> None:
        super().__init__(path, "the file is empty", "Name one that has text in it", code="empty-file")


def read_lines(
    path: str | Path, max_characters: int = 1_000_000, on_bad_line: OnBadLine = raise_error
) -> Iterator[tuple[int, str]]:
    r"""Each line with its number from 1, without its ending (\n, \r\n or \r, and no other separator of Unicode's).

    Each of the three ends a line wherever it stands, also where the file's other lines end in another way.

    A line that is not UTF-8, holds a NUL or has more than `max_characters` goes to `bad`; of one that is too long, no
    more is read before that than shows it.

    >>> path = getfixture("tmp_path") / "two.txt"
    >>> _ = path.write_bytes(b"one\r\ntwo")
    >>> list(read_lines(path))
    [(1, 'one'), (2, 'two')]
    """
    path = Path(path)
    return _lines(path, _unpacked(path), max_characters, on_bad_line)


def stream_lines(stream: BufferedReader, name: str, max_characters: int = 1_000_000) -> Iterator[tuple[int, str]]:
    """The lines of what can't be opened by a path, such as standard input, as `read_lines` gives them; strictly.

    >>> from io import BytesIO
    >>> list(stream_lines(BufferedReader(BytesIO(b"one\\rtwo")), "standard input"))
    [(1, 'one'), (2, 'two')]
    """
    return _lines(name, _pieces(stream, name), max_characters, raise_error)


def _lines(
    location: object, pieces: Iterable[bytes], max_characters: int, on_bad_line: OnBadLine
) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(_raw_lines(_blocks(location, pieces), 4 * max_characters), 1):
        if len(raw) > 4 * max_characters:  # before decoding: it may be cut inside a character
            on_bad_line(_too_long(location, number, max_characters))
            continue
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            on_bad_line(_not_utf_8(location, number, error))
            continue
        if "\0" in line:
            on_bad_line(_binary(location, number))
        elif len(line) > max_characters:
            on_bad_line(_too_long(location, number, max_characters))
        else:
            yield number, line


def read_chunks(path: str | Path, characters: int = 1 << 20) -> Iterator[str]:
    r"""The whole text in pieces of `characters` (the last may be shorter), with \n for every line ending.

    A line may have any length, and what can't be read is always refused.

    >>> path = getfixture("tmp_path") / "two.txt"
    >>> _ = path.write_bytes(b"one\r\ntwo")
    >>> list(read_chunks(path, characters=4))
    ['one\n', 'two']
    """
    path = Path(path)
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, rest = 1, ""
    for block in chain(_blocks(path, _unpacked(path)), (b"",)):
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise _not_utf_8(path, line + error.object.count(b"\n", 0, error.start), error) from None
        if "\0" in text:
            raise _binary(path, line + text.count("\n", 0, text.index("\0")))
        line += block.count(b"\n")
        rest += text
        whole = len(rest) - len(rest) % characters
        for start in range(0, whole, characters):
            yield rest[start : start + characters]
        rest = rest[whole:]
    if rest:
        yield rest


def _raw_lines(blocks: Iterable[bytes], most: int) -> Iterator[bytes]:
    """Lines as bytes. Of one longer than `most`, a beginning longer than `most`, as soon as it is there."""
    begun, cut = bytearray(), False  # the line that goes on in the next block; whether its beginning has been given
    for block in blocks:
        first, *others = block.split(b"\n")
        if not cut:
            begun += first
        if others:
            if not cut:
                yield bytes(begun)
            yield from others[:-1]
            begun, cut = bytearray(others[-1]), False
        if len(begun) > most:
            yield bytes(begun)
            begun, cut = bytearray(), True
    if begun:
        yield bytes(begun)


def _blocks(location: object, pieces: Iterable[bytes]) -> Iterator[bytes]:
    r"""The unpacked bytes without a BOM, with \n for every line ending."""
    held, empty = b"", True  # a \r at the end of a block waits for the \n that may follow
    for number, block in enumerate(pieces):
        if number == 0:
            check_text(location, block)
            block = block.removeprefix(UTF_8_BOM)
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
        raise EmptyFile(location)


def _unpacked(path: Path) -> Iterator[bytes]:
    """The file's bytes, out of gzip if its first bytes say so, a block at a time."""
    try:
        refuse_pipe(path)
        _refuse_folder(path)
        with path.open("rb") as file:
            yield from _pieces(file, path)
    except OSError as error:
        raise cannot_read(path, error) from None


def _pieces(stream: BufferedReader, location: object) -> Iterator[bytes]:
    """What a stream holds, likewise; each piece as soon as it has come, since someone may be typing."""
    try:
        source = gzip.GzipFile(fileobj=stream) if stream.peek(len(GZIP)).startswith(GZIP) else stream
        while piece := source.read1(BLOCK):
            yield piece
    except (EOFError, zlib.error, gzip.BadGzipFile):
        message, advice = "the gzip data is broken or cut short", "Fetch the file or pack it again"
        raise DataError(location, message, advice, code="broken-gzip") from None


def refuse_pipe(path: Path) -> None:
    """A sentence for what is neither a file nor a folder; before it is opened, as a pipe may keep one waiting."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return
    what = next((name for kind, name in NO_FILES if kind(mode)), "is not a regular file")
    advice = "Write the data to a file first, and name that"
    raise DataError(path, f"{what}, and data are read more than once", advice, code="not-a-file")


def _refuse_folder(path: Path) -> None:
    if path.is_dir():
        raise is_directory(path)


def is_directory(path: Path, pattern: str = "*.txt") -> DataError:
    """The error of a folder where files are meant."""
    return DataError(path, "is a directory", f"Name its files, for example '{path / pattern}'", code="directory")


def cannot_read(path: Path, error: OSError) -> DataError:
    """The sentence for a file or folder that the system would not open."""
    name = printable(path)
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return DataError(name, "there is no such file", "Check the name and the folder", code="no-such-file")
        case PermissionError():
            advice = f"Allow it, for example with `chmod u+r {name}`"
            return DataError(name, "no permission to read it", advice, code="no-permission")
        case _:
            message = f"it can't be read ({error.strerror or error})"
            return DataError(name, message, "Check the disk, or copy it elsewhere", code="unreadable-file")


def _not_utf_8(location: object, number: int, error: UnicodeDecodeError) -> DataError:
    byte = error.object[error.start]
    advice = "Convert the file, for example with `iconv -f latin1 -t utf-8`"
    return DataError(Location(str(location), number), f"the byte 0x{byte:02X} is not UTF-8", advice, code="not-utf-8")


def _binary(location: object, number: int) -> DataError:
    advice = "Name a text file (one in UTF-16 can be converted with `iconv -f utf-16 -t utf-8`)"
    return DataError(
        Location(str(location), number), "a NUL byte: this looks like a binary file", advice, code="nul-byte"
    )


def _too_long(location: object, number: int, most: int) -> DataError:
    message = f"a line of more than {counted(most, 'character')}"
    advice = f"Break it up, or pass a larger {KeyName('data.max_characters')}"
    return DataError(Location(str(location), number), message, advice, code=LINE_LENGTH)


def read_text(paths: Sequence[str | Path], characters: int = 1 << 20) -> Iterator[str]:
    r"""The text of all files in pieces of at most `characters`, with a newline between files where there was none.

    Of several files some may be empty (a glob over source code finds such), but not all.

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
