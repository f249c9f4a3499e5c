"""Data made ready once: folders found by what went into them, so that the second run starts at once."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from seqloom.data.lines import cannot_read
from seqloom.spec import durable
from seqloom.spec.folder import sha256

FORMAT = 1  # one more whenever what is made from the same files changes
State = tuple[tuple[str, int, int, int, int], ...]


def cache_folder() -> Path:
    """SEQLOOM_CACHE, or where the system keeps such things. It may be removed at any time."""
    if own := os.environ.get("SEQLOOM_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "seqloom"


def fingerprints(files: Sequence[Path]) -> list[str]:
    """SHA-256 of each file's content; of a folder, of all its files."""
    return [fingerprint(file) if file.is_file() else of_folder(file) for file in files]


def fingerprint(file: Path) -> str:
    """Of one file."""
    try:
        return sha256(file)
    except OSError as error:
        raise cannot_read(file, error) from None


def of_folder(folder: Path) -> str:
    """One fingerprint for the names and contents of a folder's files."""
    told = [(str(file.relative_to(folder)), fingerprint(file)) for file in sorted(folder.rglob("*")) if file.is_file()]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def state(path: Path) -> State:
    """What the system says of a file, or of all files of a folder, that is another once something is written there."""
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    about = [(str(file), file.stat()) for file in files if file.is_file()]
    return tuple((name, of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns) for name, of in about)


def cached(what: Mapping[str, object], make: Callable[[Path], None]) -> Path:
    """The folder that `make` fills for these ingredients, made now if it is not there yet."""
    told = json.dumps({"format": FORMAT, **what}, sort_keys=True, default=str)
    path = cache_folder() / hashlib.sha256(told.encode()).hexdigest()[:32]
    if not path.is_dir():
        durable.folder(path, make)
    return path
