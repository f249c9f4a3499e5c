"""Writes that are whole or absent: to a temporary name, fsync, rename. All that a run keeps goes through here."""

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from secrets import token_hex

from seqloom.core.problem import RunError, SeqloomError

MARK = ".making-"  # what is not whole begins with this
LOCK, LOCKING = "lock", "locking"  # of a folder in the making: held while someone works there; not held yet
OLD = 7 * 24 * 3600  # seconds; nobody works in it any more, where no lock says so


class WriteError(SeqloomError, OSError):
    """The disk did not take what was written: full, gone, forbidden."""


def write(path: Path, content: bytes | str) -> None:
    """The file has all of the content, or what it had before; on the disk, not only in its cache."""
    making = path.with_name(f"{MARK}{path.name}")
    with sentence(path):
        making.unlink(missing_ok=True)
        with opened(making, os.O_CREAT | os.O_EXCL) as number:
            put(number, content.encode() if isinstance(content, str) else content)
            sync(number)
        rename(making, path)


@contextmanager
def opened(path: Path, how: int) -> Iterator[int]:
    """A file to write, by its number; never one that a link leads to, since folders come from strangers too."""
    number = os.open(path, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | how, 0o644)
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
    """A folder with all that `fill` puts into it, or no folder. If someone else was faster, theirs stays."""
    with new_folder(path) as making:
        fill(making)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which takes its place once the block has ended well; if another was faster, theirs stays."""
    with sentence(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(f"{MARK}*-{escape(path.name)}"):
            with suppress(OSError):  # another took it away, or it is someone else's
                if is_abandoned(left):
                    remove(left)  # by a rename first: a maker that lives after all fails, and commits no half
        with workplace(path) as making:
            yield making
            for inside in sorted([making, *making.rglob("*")]):
                sync_path(inside)
            take_place(making, path)


@contextmanager
def workplace(path: Path) -> Iterator[Path]:
    """An empty folder to make another in, near its place: in a folder that no one else has, beside a lock.

    The lock is a file, since network file systems share no locks of folders; and apart from what is made, which has
    nothing in it but its own. It gets its name once it is held, so whoever can have it has found a leftover.
    """
    around = path.with_name(f"{MARK}{token_hex(8)}-{path.name}")
    around.mkdir()
    try:
        with opened(around / LOCKING, os.O_CREAT | os.O_EXCL) as number:
            lock(number)
            (around / LOCKING).replace(around / LOCK)
            making = around / path.name
            making.mkdir()
            yield making
            shutil.rmtree(making, ignore_errors=True)  # if someone else was faster
            (around / LOCK).unlink()  # while it is held: no one takes the rest for a leftover
        around.rmdir()
    except BaseException:
        shutil.rmtree(around, ignore_errors=True)
        raise


def is_abandoned(around: Path) -> bool:
    """Whether no one works in this folder any more: its lock can be had or, where that says nothing, it is old."""
    with suppress(FileNotFoundError), opened(around / LOCK, 0) as number:
        try:
            if lock(number):
                return True
        except BlockingIOError:
            return False
    return time.time() - around.stat().st_mtime > OLD


def lock(number: int) -> bool:
    """Hold an open file until it is closed, by a crash too; BlockingIOError if another does, False if none can."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False  # a file system without locks
    return True


def take_place(making: Path, path: Path) -> None:
    """Rename a folder, unless one is there: then that one was whole first."""
    try:
        rename(making, path)
    except OSError:
        if not path.is_dir() or not making.is_dir():
            raise


def append(path: Path, line: str) -> None:
    """One more line at the end of a file. A line that was cut off by a crash is for the reader to leave out."""
    with sentence(path), opened(path, os.O_CREAT | os.O_APPEND) as number:
        put(number, line.encode() + b"\n")


def cut(path: Path, size: int) -> int:
    """A file of at most this size, what lies beyond cut off; its size then."""
    with sentence(path), opened(path, os.O_CREAT) as number:
        kept = min(size, os.fstat(number).st_size)
        os.ftruncate(number, kept)
        return kept


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Within: no other process works in this folder; one that tries is told so. A crash lets go of it."""
    number = os.open(folder, os.O_RDONLY)
    try:
        try:
            lock(number)
        except BlockingIOError:
            raise RunError(f"{folder} is being trained by another process", "Wait for it, or stop it") from None
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
        raise WriteError(
            f"could not be written ({why})", "Make room or choose another folder", location=path
        ) from wrong
