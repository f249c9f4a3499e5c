"""Which files are meant: paths and patterns to files, each once."""

import glob
import os
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from seqloom.core.problem import DataError
from seqloom.data.text_io import cannot_read, refuse_pipe

# Names of splits of a data set, which are not names of classes.
SPLIT_NAMES = {
    "train": ("train", "training"),
    "valid": ("valid", "validation", "val", "dev", "development"),
    "test": ("test", "testing"),
}


def expand(patterns: Iterable[str | Path]) -> list[Path]:
    """The files that paths and globs stand for: in the order given, a glob's sorted, each file once.

    A path that exists is itself, whatever characters it has; a folder may be named, but a glob finds files alone.
    """
    found: dict[Path, Path] = {}
    for pattern in map(str, patterns):
        for path in _matches(pattern):
            refuse_pipe(path)
            found.setdefault(path.absolute(), path)
    return list(found.values())


def _matches(pattern: str) -> list[Path]:
    if not pattern.strip() or "\0" in pattern:
        advice = "Name a file, or a pattern such as 'parts/*.txt'"
        raise DataError(repr(pattern), "this is not a file name", advice, code="not-a-file-name")
    path = Path(pattern).expanduser() if pattern.startswith("~") else Path(pattern)
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        if not glob.has_magic(pattern):
            raise DataError(pattern, "there is no such file", _near(path), code="no-such-file") from None
    except OSError as error:
        raise cannot_read(path, error) from None
    else:
        return [path]
    matches = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207 (absolute ones too)
    files = [match for match in matches if not match.is_dir()]
    if matches and not files:
        advice = f"Name the files in them, for example '{path / '*.txt'}'"
        raise DataError(pattern, "only folders match", advice, code="only-folders-match")
    if not files:
        raise DataError(pattern, "no file matches", _near(path), code="no-match")
    return files


def _near(path: Path) -> str:
    """What to do about a name that is not there: the nearest that are."""
    folder = path.parent
    if glob.has_magic(str(folder)) or not folder.is_dir():
        return f"Check the name; there is no folder {folder}" if not glob.has_magic(str(folder)) else "Check the name"
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in islice(entries, 10_000))
    except OSError:
        return "Check the name"
    nearest = get_close_matches(path.name, names, n=3)
    return f"The nearest there: {', '.join(str(folder / name) for name in nearest)}" if nearest else "Check the name"


def without_gz(path: Path) -> Path:
    """The name that the file has when unpacked.

    >>> without_gz(Path("reviews.csv.gz")).name
    'reviews.csv'
    """
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def split_named(stem: str) -> str | None:
    """The split of a data set (train, valid, test) that a name stands for, if any.

    >>> split_named("Dev"), split_named("English")
    ('valid', None)
    """
    return next((split for split, names in SPLIT_NAMES.items() if stem.lower() in names), None)
