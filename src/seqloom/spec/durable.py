"""Writes that are whole or absent: to a temporary name, fsync, rename. All that a run keeps goes through here."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path

from seqloom.spec.errors import RunError, SeqloomError

MARK = ".making-"  # what is not whole begins with this


class WriteError(SeqloomError, OSError):
    """The disk did not take what was written: full, gone, forbidden."""


def write(path: Path, content: bytes | str) -> None:
    """The file has all of the content, or what it had before; on the disk, not only in its cache."""
    making = path.with_name(f"{MARK}{path.name}")
    with sentence(path):
        making.unlink(missing_ok=True)
        with opened(making, os.O_EXCL) as number:
            put(number, content.encode() if isinstance(content, str) else content)
            sync(number)
        rename(making, path)


@contextmanager
def opened(path: Path, how: int) -> Iterator[int]:
    """A file to write, by its number; never one that a link leads to, since folders come from strangers too."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | how, 0o644)
    try:
        yield number
    finally:
        os.close(number)


def put(number: int, content: bytes) -> None:
    """All of it, though a write may take less."""
    left = memoryview(content)
    while left:
        left = left[os.write(number, left) :]


def folder(path: Path, fill: Callable[[Path], None]) -> None:
    """A folder with all that `fill` puts into it, or no folder. If another process was faster, its folder stays."""
    making = path.with_name(f"{MARK}{os.getpid()}-{path.name}")
    with sentence(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(f"{MARK}*-{escape(path.name)}"):
            if not alive(left):
                shutil.rmtree(left, ignore_errors=True)
        making.mkdir()
        try:
            fill(making)
            for inside in sorted([making, *making.rglob("*")]):
                sync_path(inside)
            take_place(making, path)
        finally:
            shutil.rmtree(making, ignore_errors=True)


def take_place(making: Path, path: Path) -> None:
    """Rename a folder, unless one is there: then that one was whole first."""
    try:
        rename(making, path)
    except OSError:
        if not path.is_dir() or not making.is_dir():
            raise


def append(path: Path, line: str) -> None:
    """One more line at the end of a file. A line that was cut off by a crash is for the reader to leave out."""
    with sentence(path), opened(path, os.O_APPEND) as number:
        put(number, line.encode() + b"\n")


def cut(path: Path, size: int) -> int:
    """A file of at most this size, what lies beyond cut off; its size then."""
    with sentence(path), opened(path, 0) as number:
        kept = min(size, os.fstat(number).st_size)
        os.ftruncate(number, kept)
        return kept


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Within: no other process works in this folder; one that tries is told so. A crash lets go of it."""
    number = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"{folder} is being trained by another process. Wait for it, or stop it.") from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(number)


def remove(path: Path) -> None:
    """A folder or a file that is no longer needed; a folder is renamed first, so no half is taken for the whole."""
    with sentence(path):
        if path.is_dir():
            making = path.with_name(f"{MARK}{path.name}")
            rename(path, making)
            shutil.rmtree(making)
        else:
            path.unlink(missing_ok=True)


def make(path: Path) -> None:
    """An empty folder, if there is none."""
    with sentence(path):
        path.mkdir(parents=True, exist_ok=True)


def sweep(path: Path) -> None:
    """Take away what earlier, killed writes left unfinished in a folder that only this process writes into."""
    with sentence(path):
        for left in path.glob(f"{MARK}*"):
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink(missing_ok=True)


def alive(making: Path) -> bool:
    """Whether the process that began this folder is still there; its number stands in the name."""
    number = making.name.removeprefix(MARK).partition("-")[0]
    if not number.isdigit() or int(number) == os.getpid():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it is there, and someone else's
    return True


def rename(making: Path, path: Path) -> None:
    """The moment at which it is there."""
    making.replace(path)
    sync_path(path.parent)


def sync_path(path: Path) -> None:
    """A file or folder, on the disk."""
    with sentence(path):
        number = os.open(path, os.O_RDONLY)
        try:
            sync(number)
        finally:
            os.close(number)


def sync(number: int) -> None:
    """An open file, on the disk."""
    os.fsync(number)


@contextmanager
def sentence(path: Path) -> Iterator[None]:
    """What the system says of a failed write, as one sentence."""
    try:
        yield
    except WriteError:
        raise
    except OSError as wrong:
        why = (wrong.strerror or type(wrong).__name__).lower()
        raise WriteError(f"{path}: could not be written ({why}). Make room or choose another folder.") from wrong
