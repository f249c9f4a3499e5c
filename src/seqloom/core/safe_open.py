"""Read plain files only: reading a pipe may block, and a device may have no end."""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


class NotRegular(OSError):
    """The path is a folder, a pipe, a socket or a device."""


class TooLarge(OSError):
    """The file has more bytes than the reader accepts."""


def open_regular(path: Path) -> BufferedReader:
    """Open a plain file to read its bytes; nothing is read from anything else.

    >>> open_regular(Path("/dev/null"))
    Traceback (most recent call last):
    seqloom.core.safe_open.NotRegular: [Errno 22] not a plain file: '/dev/null'
    """
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise NotRegular(errno.EINVAL, "not a plain file", str(path))
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """The content of a plain file, which may come from a stranger."""
    with open_regular(path) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise TooLarge(errno.EFBIG, f"more than {max_bytes:,} bytes", str(path))
    return content


def system_reason(error: OSError) -> str:
    """The system's reason for an error, in lower case to stand in a sentence."""
    return (error.strerror or type(error).__name__).lower()
