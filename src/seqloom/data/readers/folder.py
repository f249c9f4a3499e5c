"""Classes as folders (a file an example) or as files (a line an example)."""

from collections.abc import Iterator
from pathlib import Path

from seqloom.data.examples import Labelled, Place
from seqloom.data.files import part_of, without_gz
from seqloom.data.lines import Bad, EmptyFile, cannot_read, read_chunks, read_lines, refuse
from seqloom.spec.errors import DataError


def read_folder(path: str | Path, max_characters: int = 1_000_000, bad: Bad = refuse) -> Iterator[Labelled]:
    """Every example below a folder, class by class in the order of their names; hidden files are passed over.

    A folder of folders: each is a class, and each of its files an example. A folder of files: each is a class, named by
    its stem, and each of its lines that is not blank an example. A single file is a class too.

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "Irish.txt").write_text("Adam"), (folder / "Czech.txt").write_text("Abl")
    >>> [(name.text, name.labels) for name in read_folder(folder)]
    [('Abl', ('Czech',)), ('Adam', ('Irish',))]
    """
    path = Path(path)
    if not path.is_dir():
        yield from _lines(path, max_characters, bad)
        return
    entries = _entries(path)
    folders = [entry for entry in entries if entry.is_dir()]
    files = [entry for entry in entries if not entry.is_dir()]
    if not entries:
        raise DataError(
            path, "the folder is empty", "Put one sub-folder of .txt files, or one .txt file, per class into it"
        )
    if folders and files:
        what = f"the folder has both sub-folders ({folders[0].name}, …) and files ({files[0].name}, …)"
        raise DataError(path, what, "Keep either one sub-folder or one file per class, and move the others out")
    _refuse_parts(path, entries)
    for folder in folders:
        yield from _examples(folder, max_characters, bad)
    for file in files:
        _check_name(file)
        yield from _lines(file, max_characters, bad)


def _examples(folder: Path, max_characters: int, bad: Bad) -> Iterator[Labelled]:
    """A file an example, its class the folder's name."""
    files = _entries(folder)
    if not files:
        raise DataError(folder, "the folder of this class is empty", "Put .txt files into it, or remove it")
    for file in files:
        if file.is_dir():
            raise DataError(
                file,
                "there is a folder inside the folder of a class",
                "Put the .txt files directly into the folder of their class",
            )
        _check_name(file)
        try:
            text = _whole(file, max_characters)
        except DataError as error:
            bad(error)
            continue
        yield Labelled(text, (folder.name,), Place(str(file), 1))


def _whole(file: Path, max_characters: int) -> str:
    """The file's text, but for newlines at its end."""
    try:
        text = next(chunks := read_chunks(file, max_characters))
    except EmptyFile:
        return ""
    if next(chunks, "").strip("\n"):
        do = "Break it up, or pass a larger --data.max-characters"
        raise DataError(Place(str(file), 1), f"a text of more than {max_characters:,} characters", do)
    return text.rstrip("\n")


def _lines(file: Path, max_characters: int, bad: Bad) -> Iterator[Labelled]:
    """A line an example, its class the file's stem."""
    label = without_gz(file).stem
    for number, line in read_lines(file, max_characters, bad):
        if line.strip():
            yield Labelled(line, (label,), Place(str(file), number))


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise cannot_read(folder, error) from None


def _check_name(file: Path) -> None:
    if without_gz(file).suffix.lower() not in ("", ".txt"):
        raise DataError(file, "this is neither a .txt nor a .txt.gz file", "Convert it, or move it out of the folder")


def _refuse_parts(path: Path, entries: list[Path]) -> None:
    """Folders named train and test are parts of the data, not classes."""
    parts = {entry: part_of(entry.name if entry.is_dir() else without_gz(entry).stem) for entry in entries}
    if all(parts.values()):
        options = " ".join(f"--data.{part} {entry}" for entry, part in parts.items())
        raise DataError(path, "these are parts of a data set, not classes", f"Pass each as what it is: {options}")
