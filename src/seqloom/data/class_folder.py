"""Classes as folders (a file per example) or as files (a line per example)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from seqloom.core.config.data import RowData
from seqloom.core.problem import DataError, KeyName
from seqloom.core.wording import counted
from seqloom.data.paths import split_from_name, without_gz
from seqloom.data.records import Location
from seqloom.data.text_io import EmptyFile, OnBadLine, cannot_read, raise_error, read_chunks, read_lines

LabeledText = tuple[Location, tuple[str, tuple[str, ...]]]


def read_classes(paths: Sequence[Path], data: RowData, on_bad_line: OnBadLine = raise_error) -> Iterator[LabeledText]:
    """The text and the class of every example of a folder or a file, in the order of names; hidden files are left out.

    A folder of folders: each is a class, and each of its files an example. A folder of files: each is a class, named by
    its stem, and each of its lines that is not blank an example. A single file is a class too.

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "Irish.txt").write_text("Adam"), (folder / "Czech.txt").write_text("Abl")
    >>> [(text, labels) for _, (text, labels) in read_classes([folder], RowData())]
    [('Abl', ('Czech',)), ('Adam', ('Irish',))]
    """
    for path in paths:
        if not path.is_dir():
            yield from _line_examples(path, data.max_characters, on_bad_line)
            continue
        for entry in _classes(path):
            if entry.is_dir():
                yield from _file_examples(entry, data.max_characters, on_bad_line)
            else:
                _check_name(entry)
                yield from _line_examples(entry, data.max_characters, on_bad_line)


def _classes(path: Path) -> list[Path]:
    entries = _entries(path)
    folders = [entry for entry in entries if entry.is_dir()]
    files = [entry for entry in entries if not entry.is_dir()]
    if not entries:
        advice = "Put one sub-folder of .txt files, or one .txt file, per class into it"
        raise DataError(path, "the folder is empty", advice, code="empty-folder")
    if folders and files:
        message = f"the folder has both sub-folders ({folders[0].name}, …) and files ({files[0].name}, …)"
        advice = "Keep either one sub-folder or one file per class, and move the others out"
        raise DataError(path, message, advice, code="mixed-folder")
    splits = {entry: split_from_name(entry.name if entry.is_dir() else without_gz(entry).stem) for entry in entries}
    if all(splits.values()):
        options = " ".join(f"{KeyName(f'data.{split}')} {entry}" for entry, split in splits.items())
        message = "these are splits of a dataset, not classes"
        raise DataError(path, message, f"Pass each with its option: {options}", code="splits-as-classes")
    return entries


def _file_examples(folder: Path, max_characters: int, on_bad_line: OnBadLine) -> Iterator[LabeledText]:
    """An example per file; the class is the folder's name."""
    files = _entries(folder)
    if not files:
        message, advice = "the folder of this class is empty", "Put .txt files into it, or remove it"
        raise DataError(folder, message, advice, code="empty-class")
    for file in files:
        if file.is_dir():
            message = "there is a folder inside the folder of a class"
            advice = "Put the .txt files directly into the folder of their class"
            raise DataError(file, message, advice, code="nested-folder")
        _check_name(file)
        try:
            text = _read_whole(file, max_characters)
        except DataError as error:
            on_bad_line(error)
            continue
        yield Location(str(file), 1), (text, (folder.name,))


def _read_whole(file: Path, max_characters: int) -> str:
    """The file's text without the newlines at its end."""
    try:
        text = next(chunks := read_chunks(file, max_characters))
    except EmptyFile:
        return ""
    if next(chunks, "").strip("\n"):
        message = f"a text of more than {counted(max_characters, 'character')}"
        advice = f"Split it, or pass a larger {KeyName('data.max_characters')}"
        raise DataError(Location(str(file), 1), message, advice, code="text-length")
    return text.rstrip("\n")


def _line_examples(file: Path, max_characters: int, on_bad_line: OnBadLine) -> Iterator[LabeledText]:
    """An example per line; the class is the file's stem."""
    label = without_gz(file).stem
    for number, line in read_lines(file, max_characters, on_bad_line):
        if line.strip():
            yield Location(str(file), number), (line, (label,))


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise cannot_read(folder, error) from None


def _check_name(file: Path) -> None:
    if without_gz(file).suffix.lower() not in ("", ".txt"):
        message = "this is neither a .txt nor a .txt.gz file"
        raise DataError(file, message, "Convert it, or move it out of the folder", code="class-file-name")
