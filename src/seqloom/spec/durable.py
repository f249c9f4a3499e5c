"""Writes that are whole or absent: to a temporary name, fsync, rename. All that a run keeps goes through here."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from seqloom.spec.errors import SeqloomError

MARK = ".making-"  # what is not whole begins with this


class WriteError(SeqloomError, OSError):
    """The disk did not take what was written: full, gone, forbidden."""


def write(path: Path, content: bytes | str) -> None:
    """The file has all of the content, or what it had before; on the disk, not only in its cache."""
    making = path.with_name(f"{MARK}{path.name}")
    with sentence(path):
        with making.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            sync(file.fileno())
        rename(making, path)


def folder(path: Path, fill: Callable[[Path], None]) -> None:
    """A folder with all that `fill` puts into it, or no folder. If another process was faster, its folder stays."""
    making = path.with_name(f"{MARK}{os.getpid()}-{path.name}")
    with sentence(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir()
        try:
            fill(making)
            for inside in sorted([making, *making.rglob("*")]):
                sync_path(inside)
            if not path.exists():
                rename(making, path)
        finally:
            shutil.rmtree(making, ignore_errors=True)


def append(path: Path, line: str) -> None:
    """One more line at the end of a file. A line that was cut off by a crash is for the reader to leave out."""
    with sentence(path), path.open("ab") as file:
        file.write(line.encode() + b"\n")


def remove(path: Path) -> None:
    """A folder or a file that is no longer needed; first renamed, so that no half of it is taken for the whole."""
    making = path.with_name(f"{MARK}{path.name}")
    with sentence(path):
        shutil.rmtree(making, ignore_errors=True)
        rename(path, making)
        if making.is_dir():
            shutil.rmtree(making, ignore_errors=True)
        else:
            making.unlink(missing_ok=True)


def sweep(path: Path) -> None:
    """Take away what earlier, killed writes left unfinished in a folder."""
    for left in path.glob(f"{MARK}*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def rename(making: Path, path: Path) -> None:
    """The moment at which it is there."""
    making.replace(path)
    sync_path(path.parent)


def sync_path(path: Path) -> None:
    """A file or folder, on the disk."""
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
