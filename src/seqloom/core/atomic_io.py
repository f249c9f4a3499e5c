"""Atomic file writes. A file or folder is written under a temporary name, synced to the disk, then renamed.

After a crash, a kill or a full disk, the path holds the complete old content or the complete new content.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from secrets import token_hex

from seqloom.core.problem import RunError, SeqloomError
from seqloom.core.safe_open import system_reason

TEMPORARY = ".making-"  # prefix of the names of incomplete files and folders
LOCK, NEW_LOCK = "lock", "locking"  # name of the lock file of a temporary folder; its name before it is locked
ABANDONED_AFTER = 7 * 24 * 3600  # seconds; used only if a temporary folder has no usable lock


class WriteError(SeqloomError, OSError):
    """The system refused a write: the disk is full, read-only or gone."""


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into a `WriteError` that names the path."""
    try:
        yield
    except WriteError:
        raise
    except OSError as error:
        message, advice = f"could not be written ({system_reason(error)})", "Make room or choose another folder"
        raise WriteError(message, advice, location=path) from error


# Files ----------------------------------------------------------------------------------------------------------------


def write(path: Path, content: bytes | str) -> None:
    """Write a file, or replace its content."""
    temporary = path.with_name(f"{TEMPORARY}{path.name}")
    with write_errors(path):
        temporary.unlink(missing_ok=True)
        with open_fd(temporary, os.O_CREAT | os.O_EXCL) as fd:
            write_all(fd, content.encode() if isinstance(content, str) else content)
            os.fsync(fd)
        replace(temporary, path)


def append(path: Path, line: str) -> None:
    """Add a line to a file. A crash may leave part of the line: readers ignore a last line without a newline."""
    with write_errors(path), open_fd(path, os.O_CREAT | os.O_APPEND) as fd:
        write_all(fd, line.encode() + b"\n")


def truncate(path: Path, size: int) -> int:
    """Cut a file to at most `size` bytes and return its new size; a missing file is created empty."""
    with write_errors(path), open_fd(path, os.O_CREAT) as fd:
        new_size = min(size, os.fstat(fd).st_size)
        os.ftruncate(fd, new_size)
        return new_size


@contextmanager
def open_fd(path: Path, flags: int) -> Iterator[int]:
    """A file descriptor to write to. Links are refused: a run folder may come from a stranger."""
    fd = os.open(path, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | flags, 0o644)
    try:
        yield fd
    finally:
        os.close(fd)


def write_all(fd: int, content: bytes) -> None:
    """Call `os.write`, which may write only the beginning, until all is written."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]


def replace(temporary: Path, path: Path) -> None:
    """Rename, and sync the parent, so that `path` stays the new file or folder even after a crash."""
    temporary.replace(path)
    fsync(path.parent)


def fsync(path: Path) -> None:
    """Wait until a file, or the list of files in a folder, is on the disk."""
    with write_errors(path):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


# Folders --------------------------------------------------------------------------------------------------------------


@contextmanager
def create_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to fill, which is renamed to `path` when the block ends without an error.

    If another process creates `path` first, that folder is kept.
    """
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        for leftover in path.parent.glob(f"{TEMPORARY}*-{escape(path.name)}"):
            with suppress(OSError):  # another process removed it, or it is another user's
                if is_abandoned(leftover):
                    remove(leftover)  # renames it first: if its process is alive after all, that process fails
        with temporary_folder(path) as folder:
            yield folder
            for entry in sorted([folder, *folder.rglob("*")]):
                fsync(entry)
            try:
                replace(folder, path)
            except OSError:
                if not path.is_dir() or not folder.is_dir():  # otherwise another process created `path` first
                    raise


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """An empty folder on the file system of `path`, within a locked folder of its own.

    The lock is a file outside the folder to fill, since network file systems do not share locks of folders. It is
    renamed to LOCK after it is locked, so if a process can lock a file LOCK, the process that made it has ended.
    """
    parent = path.with_name(f"{TEMPORARY}{token_hex(8)}-{path.name}")
    parent.mkdir()
    try:
        with open_fd(parent / NEW_LOCK, os.O_CREAT | os.O_EXCL) as fd:
            lock(fd)
            (parent / NEW_LOCK).replace(parent / LOCK)
            folder = parent / path.name
            folder.mkdir()
            yield folder
            shutil.rmtree(folder, ignore_errors=True)  # it still exists if another process created `path` first
            (parent / LOCK).unlink()  # before it is unlocked, or another process would see it as abandoned
        parent.rmdir()
    except BaseException:
        shutil.rmtree(parent, ignore_errors=True)
        raise


def is_abandoned(folder: Path) -> bool:
    """Whether the process that filled a temporary folder has ended, by its lock or, if that is unusable, by its age."""
    with suppress(FileNotFoundError), open_fd(folder / LOCK, 0) as fd:
        try:
            if lock(fd):
                return True
        except BlockingIOError:
            return False
    return time.time() - folder.stat().st_mtime > ABANDONED_AFTER


def lock(fd: int) -> bool:
    """Lock a file until it is closed or the process ends; False if the file system has no locks.

    Raises BlockingIOError if another process holds the lock.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from training in this folder."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        try:
            lock(fd)
        except BlockingIOError:
            raise RunError(f"{folder} is being trained by another process", "Wait until it ends, or stop it") from None
        yield
    finally:
        os.close(fd)


def make_folder(path: Path) -> None:
    """Make a folder and its parents, if they are missing."""
    with write_errors(path):
        path.mkdir(parents=True, exist_ok=True)


def remove(path: Path) -> None:
    """Remove a file or a folder. A folder is renamed first, so that `path` never holds half of it."""
    with write_errors(path):
        if path.is_dir():
            temporary = path.with_name(f"{TEMPORARY}{path.name}")
            replace(path, temporary)
            shutil.rmtree(temporary)
        else:
            path.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files that killed processes left in a folder to which only this process writes now."""
    with write_errors(folder):
        for leftover in folder.glob(f"{TEMPORARY}*"):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink(missing_ok=True)
