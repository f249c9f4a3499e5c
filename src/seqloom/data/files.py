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
    "translate": ("tsv", "csv", "jsonl", "text"),
    "caption": ("tsv", "csv", "jsonl"),
}

IN_WORDS: dict[Task, str] = {
    "language": "plain text",
    "classify": "CSV, TSV, JSONL, or a folder with one sub-folder or one file per class",
    "tag": "CoNLL-U (.conllu), or one word and its tag per line (.conll)",
    "translate": "TSV, CSV, JSONL, or two text files, line by line",
    "caption": "TSV, CSV or JSONL, with an image's path and its caption",
}

# What the files in a folder may be called, where the folder itself can't be read.
USUAL: dict[str, str] = {
    "language": ".txt",
    "tag": ".conllu",
    "translate": ".tsv",
    "caption": ".tsv",
}

TABLES = ("classify", "translate", "caption")  # tasks whose examples are rows

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


def refuse_twice(patterns: Iterable[str], task: Task, given: Format | Literal["auto"] = "auto") -> None:
    """To a translator each text file is one side of one pair: which pairs are meant if one is named twice?"""
    seen: set[Path] = set()
    for pattern in patterns if task == "translate" and given in ("auto", "text") else ():
        path = Path(pattern)
        if given == "auto" and SUFFIXES.get(without_gz(path).suffix.lower(), "text") != "text":
            continue
        if path.absolute() in seen:
            do = "Name it once; a copy of it, under another name, may stand in another pair"
            raise DataError(pattern, "this text file is named twice, and each is one side of one pair", do)
        seen.add(path.absolute())


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
    """`format_of` each; but several .txt files are, to a classifier, one file per class, and come to a translator in
    pairs."""
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
    forms = [format_of(path, task, given) for path in paths]
    if task == "translate":
        sides([path for path, form in zip(paths, forms, strict=True) if form == "text"])
    return forms


def sides(texts: Sequence[Path]) -> list[tuple[Path, Path]]:
    """Text files in pairs, source and target, of which line n of one is the translation of line n of the other.

    They come in pairs; or, of two endings, those with the first file's are the sources.

    >>> [f"{source} {target}" for source, target in sides([Path(name) for name in ("a.en", "b.en", "a.de", "b.de")])]
    ['a.en a.de', 'b.en b.de']
    """
    if len(texts) % 2:
        what = "one text file" if len(texts) == 1 else f"{len(texts)} text files"
        do = "Name them in pairs, source and target (train.en train.de), or name a TSV file with both"
        raise DataError(texts[-1], f"{what}, and a translation needs two, line by line", do)
    endings = [without_gz(path).suffix for path in texts]
    first = [path for path, ending in zip(texts, endings, strict=True) if ending == endings[0]]
    if len(set(endings)) == 2 and 2 * len(first) == len(texts):
        return list(zip(first, (path for path in texts if path not in first), strict=True))
    return list(zip(texts[::2], texts[1::2], strict=True))


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
        suffix = f".{given}" if task == "classify" else USUAL[task]
        raise DataError(path, "is a directory", f"Name its files, for example '{path / f'*{suffix}'}'")
    if given != "auto":
        _check_task(path, task, given)
        return given
    if path.is_dir():
        return "folder"
    suffix = without_gz(path).suffix.lower()
    found = SUFFIXES.get(suffix, "text")
    if task in TABLES and found == "text":
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
    tabs = {line.count("\t") for line in lines}
    if len(tabs) == 1 and (each := tabs.pop()):
        what = f"named as plain text, but each line has {'one tab' if each == 1 else f'{each} tabs'}, as in a table"
        raise DataError(path, what, "Rename it to .tsv, or pass --data.format tsv")


def _refuse_array(path: Path) -> None:
    if next(read_chunks(path)).lstrip().startswith("["):
        do = f"Write one record per line (JSONL), for example with `jq -c '.[]' {path.name} > {path.stem}.jsonl`"
        raise DataError(path, "a JSON array, which would have to be read whole", do)
