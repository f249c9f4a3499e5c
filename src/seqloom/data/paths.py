"""Files from paths and glob patterns, and splits from file names."""

import glob
import os
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from seqloom.core.problem import DataError
from seqloom.core.wording import join_words
from seqloom.data.text_io import cannot_read, refuse_pipe

# File and folder names that denote a split of a dataset, not a class.
SPLIT_NAMES = {
    "train": ("train", "training"),
    "valid": ("valid", "validation", "val", "dev", "development"),
    "test": ("test", "testing"),
}


def expand(patterns: Iterable[str | Path]) -> list[Path]:
    """The distinct files that paths and globs name, in order; the matches of a glob are sorted.

    A path that exists is not a pattern, even if it has a *. A path may be a folder; a glob matches only files.
    """
    files: dict[Path, Path] = {}
    for pattern in map(str, patterns):
        for path in _match_pattern(pattern):
            refuse_pipe(path)
            files.setdefault(path.absolute(), path)
    return list(files.values())


def _match_pattern(pattern: str) -> list[Path]:
    if not pattern.strip() or "\0" in pattern:
        advice = "Name a file, or a pattern such as 'parts/*.txt'"
        raise DataError(repr(pattern), "this is not a file name", advice, code="not-a-file-name")
    path = Path(pattern).expanduser() if pattern.startswith("~") else Path(pattern)
    try:
        path.stat()
        return [path]
    except (FileNotFoundError, NotADirectoryError):
        if not glob.has_magic(pattern):
            raise DataError(pattern, "there is no such file", _similar_names(path), code="no-such-file") from None
    except OSError as error:
        raise cannot_read(path, error) from None
    matches = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207 (absolute ones too)
    files = [match for match in matches if not match.is_dir()]
    if matches and not files:
        advice = f"Name the files in them, for example '{path / '*.txt'}'"
        raise DataError(pattern, "only folders match", advice, code="only-folders-match")
    if not files:
        raise DataError(pattern, "no file matches", _similar_names(path), code="no-match")
    return files


def _similar_names(path: Path) -> str:
    """Advice on a name that does not exist: the most similar names in its folder."""
    folder = path.parent
    if not folder.is_dir() and not glob.has_magic(str(folder)):
        return f"Check the name; there is no folder {folder}"
    names: list[str] = []
    try:
        if folder.is_dir():
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in islice(entries, 10_000))
    except OSError:
        pass
    nearest = get_close_matches(path.name, names, n=3)
    return (
        f"Did you mean {join_words([str(folder / name) for name in nearest], 'or')}?" if nearest else "Check the name"
    )


def without_gz(path: Path) -> Path:
    """The path without .gz.

    >>> without_gz(Path("reviews.csv.gz")).name
    'reviews.csv'
    """
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def split_from_name(stem: str) -> str | None:
    """The split (train, valid, test) that the name of a file or folder denotes, or None.

    >>> split_from_name("Dev"), split_from_name("English")
    ('valid', None)
    """
    return next((split for split, names in SPLIT_NAMES.items() if stem.lower() in names), None)
