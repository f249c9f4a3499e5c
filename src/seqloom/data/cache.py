"""Data made ready once: folders found by what went into them, so that the second run starts at once."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from seqloom.spec import durable
from seqloom.spec.folder import sha256

FORMAT = 1  # one more whenever what is made from the same files changes


def cache_folder() -> Path:
    """SEQLOOM_CACHE, or where the system keeps such things. It may be removed at any time."""
    if own := os.environ.get("SEQLOOM_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "seqloom"


def fingerprints(files: Sequence[Path]) -> list[str]:
    """SHA-256 of each file's content; of a folder, of all its files."""
    return [sha256(file) if file.is_file() else of_folder(file) for file in files]


def of_folder(folder: Path) -> str:
    """One fingerprint for the names and contents of a folder's files."""
    told = [(str(file.relative_to(folder)), sha256(file)) for file in sorted(folder.rglob("*")) if file.is_file()]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def cached(what: Mapping[str, object], make: Callable[[Path], None]) -> Path:
    """The folder that `make` fills for these ingredients, made now if it is not there yet."""
    told = json.dumps({"format": FORMAT, **what}, sort_keys=True, default=str)
    path = cache_folder() / hashlib.sha256(told.encode()).hexdigest()[:32]
    if not path.is_dir():
        durable.folder(path, make)
    return path
