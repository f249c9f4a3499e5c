"""Which files are meant, and how each is written."""

import glob
import os
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Literal

from seqloom.data.lines import Skipped, cannot_read, read_chunks, read_lines, refuse_pipe
from seqloom.spec.errors import DataError
from seqloom.spec.names import Format as Format
from seqloom.spec.names import Task as Task

SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".conllu": "conllu",
    ".conll": "conll",
    ".conll2003": "conll",
    ".iob": "conll",
    ".iob2": "conll",
    ".bio": "conll",
    ".bioes": "conll",
    ".iobes": "conll",
}

READS: dict[Task, tuple[Format, ...]] = {
    "language": ("text",),
    "classify": ("csv", "tsv", "jsonl", "folder"),
    "tag": ("conllu", "conll"),
}

IN_WORDS: dict[Task, str] = {
    "language": "plain text",
    "classify": "CSV, TSV, JSONL, or a folder with one sub-folder or one file per class",
    "tag": "CoNLL-U (.conllu), or one word and its tag per line (.conll)",
}

# Names of parts of a data set, which are not names of classes.
PARTS = {
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
        raise DataError(repr(pattern), "this is not a file name", "Name a file, or a pattern such as 'parts/*.txt'")
    path = Path(pattern).expanduser() if pattern.startswith("~") else Path(pattern)
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        if not glob.has_magic(pattern):
            raise DataError(pattern, "there is no such file", _near(path)) from None
    except OSError as error:
        raise cannot_read(path, error) from None
    else:
        return [path]
    matches = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207 (absolute ones too)
    files = [match for match in matches if not match.is_dir()]
    if matches and not files:
        raise DataError(pattern, "only folders match", f"Name the files in them, for example '{path / '*.txt'}'")
    if not files:
        raise DataError(pattern, "no file matches", _near(path))
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


def part_of(stem: str) -> str | None:
    """The part of a data set (train, valid, test) that a name stands for, if any.

    >>> part_of("Dev"), part_of("English")
    ('valid', None)
    """
    return next((part for part, names in PARTS.items() if stem.lower() in names), None)


def formats_of(paths: Sequence[Path], task: Task, given: Format | Literal["auto"] = "auto") -> list[Format]:
    """`format_of` each; but several .txt files are, to a classifier, one file per class."""
    text_files = [path for path in paths if without_gz(path).suffix.lower() == ".txt" and not path.is_dir()]
    if task == "classify" and given == "auto" and len(text_files) == len(paths) > 1:
        for path in text_files:
            _refuse_tabs(path)
            if part_of(without_gz(path).stem):
                do = f"classify reads {IN_WORDS['classify']}"
                raise DataError(
                    path, "several .txt files are read as one file per class, and this is not the name of a class", do
                )
        return ["folder"] * len(paths)
    return [format_of(path, task, given) for path in paths]


def format_of(path: Path, task: Task, given: Format | Literal["auto"] = "auto") -> Format:
    """How a file is written: as given, or by its name (.gz aside); a sentence where the task can't read that.

    >>> format_of(Path("reviews.csv.gz"), "classify")
    'csv'
    >>> format_of(Path("reviews.csv"), "tag")
    Traceback (most recent call last):
    seqloom.spec.errors.DataError: reviews.csv: a csv file, and tag reads CoNLL-U (.conllu), or one word and its tag
    per line (.conll). Name another file, or say how it is written: --data.format conllu|conll.
    """
    if path.is_dir() and (given not in ("auto", "folder") or task != "classify"):
        suffix = {"language": ".txt", "classify": f".{given}", "tag": ".conllu"}[task]
        raise DataError(path, "is a directory", f"Name its files, for example '{path / f'*{suffix}'}'")
    if given != "auto":
        _check_task(path, task, given)
        return given
    if path.is_dir():
        return "folder"
    suffix = without_gz(path).suffix.lower()
    found = SUFFIXES.get(suffix, "text")
    if task == "classify" and found == "text":
        _refuse_tabs(path)
    _check_task(path, task, found)
    if suffix == ".json":
        _refuse_array(path)
    return found


def _check_task(path: Path, task: Task, found: Format) -> None:
    if found not in READS[task]:
        a = "plain text" if found == "text" else "a folder" if found == "folder" else f"a {found} file"
        do = f"Name another file, or say how it is written: --data.format {'|'.join(READS[task])}"
        raise DataError(path, f"{a}, and {task} reads {IN_WORDS[task]}", do)


def _refuse_tabs(path: Path) -> None:
    """A table under a text's name is common enough to be recognised. Bad lines are left to the reader."""
    lines = [line for _, line in islice(read_lines(path, bad=Skipped()), 20)]
    if lines and all(line.count("\t") == 1 for line in lines):
        do = "Rename it to .tsv, or pass --data.format tsv"
        raise DataError(path, "named as plain text, but each line has one tab, as in a table", do)


def _refuse_array(path: Path) -> None:
    if next(read_chunks(path)).lstrip().startswith("["):
        do = f"Write one record per line (JSONL), for example with `jq -c '.[]' {path.name} > {path.stem}.jsonl`"
        raise DataError(path, "a JSON array, which would have to be read whole", do)
