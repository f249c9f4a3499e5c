"""Data made ready once: folders found by what went into them, so that the second run starts at once."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from seqloom.core import atomic_io
from seqloom.core.problem import DataError
from seqloom.core.run_format import sha256
from seqloom.data.text_io import cannot_read

FORMAT = 4  # one more whenever what is made from the same files changes
LARGEST = 1 << 40  # bytes of a file or folder that are read to know it again: its path may come from a stranger's run
State = tuple[tuple[str, int, int, int, int], ...]


def cache_folder() -> Path:
    """SEQLOOM_CACHE, or where the system keeps such things. It may be removed at any time."""
    if own := os.environ.get("SEQLOOM_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "seqloom"


def fingerprints(files: Sequence[Path]) -> list[str]:
    """SHA-256 of each file's content; of a folder, of all files in it that are read."""
    for file in files:
        refuse_large(file)
    return [fingerprint(file) if file.is_file() else of_folder(file) for file in files]


def refuse_large(path: Path) -> None:
    """A sentence for more than can be meant, such as all of a disk, or a file that has a size but no end."""
    if sum(size for _, _, size, _, _ in state(path)) > LARGEST:
        message = f"more than {LARGEST >> 40} TiB, which is too much for one file or folder"
        advice = "Name a smaller one, or break it up into several files"
        raise DataError(path, message, advice, code="file-size")


def fingerprint(file: Path) -> str:
    """Of one file."""
    try:
        return sha256(file)
    except OSError as error:
        raise cannot_read(file, error) from None


def of_folder(folder: Path) -> str:
    """One fingerprint for the names and contents of a folder's files."""
    told = [(str(file.relative_to(folder)), fingerprint(file)) for file in files_of(folder)]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def files_of(path: Path) -> list[Path]:
    """A file itself; of a folder what is read of it: its files and those of its folders, but no hidden ones."""
    if path.is_file():
        return [path]
    return sorted(file for depth in ("[!.]*", "[!.]*/[!.]*") for file in path.glob(depth) if file.is_file())


def state(path: Path) -> State:
    """What the system says of a file, or of all files of a folder, that is another once something is written there."""
    about = [(str(file), file.stat()) for file in files_of(path)]
    return tuple((name, of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns) for name, of in about)


def find(key: Mapping[str, object]) -> Path | None:
    """The folder that was made from these ingredients, if there is one."""
    path = cache_path(key)
    return path if path.is_dir() else None


@contextmanager
def create(key: Mapping[str, object]) -> Iterator[Path]:
    """A folder to fill from these ingredients, which `find` finds once the block has ended well."""
    with atomic_io.create_folder(cache_path(key)) as folder:
        yield folder


def cache_path(key: Mapping[str, object]) -> Path:
    """Where the folder of these ingredients lies."""
    content = json.dumps({"format": FORMAT, **key}, sort_keys=True, default=str)
    return cache_folder() / hashlib.sha256(content.encode()).hexdigest()[:32]
