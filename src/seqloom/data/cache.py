"""A cache of prepared data, in folders named by a hash of all that the data depend on; later runs start at once."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from seqloom.core import atomic_io
from seqloom.core.problem import DataError
from seqloom.core.run_format import sha256
from seqloom.data.text_io import cannot_read

FORMAT = 4  # increase it when the same files are prepared differently
MAX_BYTES = 1 << 40  # of a file or folder that is hashed, since its path may come from a stranger's run
State = tuple[tuple[str, int, int, int, int], ...]


def cache_folder() -> Path:
    """SEQLOOM_CACHE, or the system's folder for caches. It may be removed at any time."""
    if own := os.environ.get("SEQLOOM_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "seqloom"


def find_or_create(key: Mapping[str, object], fill: Callable[[Path], None]) -> Path:
    """The folder of the data that `key` describes; if there is none, a new one that `fill` has filled."""
    content = json.dumps({"format": FORMAT, **key}, sort_keys=True, default=str)
    path = cache_folder() / hashlib.sha256(content.encode()).hexdigest()[:32]
    if not path.is_dir():
        with atomic_io.create_folder(path) as folder:
            fill(folder)
    return path


def fingerprints(files: Sequence[Path]) -> list[str]:
    """SHA-256 of the content of each file, or of the names and contents of all files of a folder."""
    for file in files:
        if sum(size for _, _, size, _, _ in file_states(file)) > MAX_BYTES:
            message = f"more than {MAX_BYTES >> 40} TiB, which is too much for one file or folder"
            advice = "Use a smaller one, or split it into several files"
            raise DataError(file, message, advice, code="file-size")
    return [fingerprint(file) if file.is_file() else _folder_fingerprint(file) for file in files]


def fingerprint(file: Path) -> str:
    try:
        return sha256(file)
    except OSError as error:
        raise cannot_read(file, error) from None


def _folder_fingerprint(folder: Path) -> str:
    hashes = [(str(file.relative_to(folder)), fingerprint(file)) for file in files_of(folder)]
    return hashlib.sha256(json.dumps(hashes).encode()).hexdigest()


def files_of(path: Path) -> list[Path]:
    """A file itself; of a folder its files and those of its folders, without hidden ones."""
    if path.is_file():
        return [path]
    return sorted(file for depth in ("[!.]*", "[!.]*/[!.]*") for file in path.glob(depth) if file.is_file())


def file_states(path: Path) -> State:
    """Name, inode, size and times of a file, or of all files of a folder; writing to one of them changes it."""
    stats = [(str(file), file.stat()) for file in files_of(path)]
    return tuple((name, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) for name, stat in stats)
