"""Plain files alone: a pipe would keep its reader waiting for ever, a device may never end."""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


class NotRegular(OSError):
    """A folder, a pipe, a socket or a device where a plain file should be."""


def open_regular(path: Path) -> BufferedReader:
    """A plain file, open to be read in bytes; of anything else a `NotRegular` at once, and nothing is read of it.

    >>> open_regular(Path("/dev/null"))
    Traceback (most recent call last):
    seqloom.core.safe_open.NotRegular: [Errno 22] not a plain file: '/dev/null'
    """
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise NotRegular(errno.EINVAL, "not a plain file", str(path))
        return os.fdopen(number, "rb")
    except BaseException:
        os.close(number)
        raise
