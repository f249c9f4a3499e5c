"""Arrays on disk, written once from end to end, then mapped into memory: what is not looked at costs nothing."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from operator import index
from pathlib import Path, PurePath
from typing import IO, NamedTuple, Protocol, SupportsIndex, TypedDict

import numpy as np
from jaxtyping import Integer, Shaped
from numpy import ndarray

from seqloom.data.records import Location
from seqloom.data.split import SPLITS, batched

INDEX = "arrays.json"


class Kept(TypedDict):
    """What the index says of an array."""

    type: str
    size: int


class Writer:
    """Named arrays of one dimension that grow at their end; `close` makes the folder readable.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with Writer(folder, {"tokens": "uint16"}) as writer:
    ...     writer.add("tokens", [3, 1])
    ...     writer.add("tokens", [2])
    >>> read(folder)["tokens"].tolist()
    [3, 1, 2]
    """

    def __init__(self, folder: Path, types: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.types = folder, dict(types)
        self.sizes = dict.fromkeys(types, 0)
        with ExitStack() as opened:  # if one can't be opened, none stays open
            files = {name: opened.enter_context((folder / f"{name}.bin").open("wb")) for name in types}
            self._files: Mapping[str, IO[bytes]] = files
            self._open = opened.pop_all()

    def add(self, name: str, values: Shaped[ndarray, " n"] | Iterable[int]) -> None:
        """More values at the end of an array."""
        array = np.asarray(values, dtype=self.types[name])
        self._files[name].write(array.tobytes())
        self.sizes[name] += len(array)

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add_rows(self, name: str, rows: Sequence[Shaped[ndarray, " _"]]) -> None:
        """Rows of a ragged array: their values at the end of one array, where each ends in another (see `Ragged`)."""
        if rows:
            before = self.sizes[name]
            self.add(name, np.concatenate(rows))
            self.add(f"{name}_end", before + np.cumsum([len(row) for row in rows]))

    def close(self) -> None:
        """No more is added; the index says what there is."""
        self._open.close()
        told = {name: {"type": kind, "size": self.sizes[name]} for name, kind in self.types.items()}
        (self.folder / INDEX).write_text(json.dumps(told), encoding="utf-8")


@contextmanager
def writers(folder: Path, parts: Iterable[str], types: Mapping[str, str]) -> Iterator[dict[str, Writer]]:
    """A writer for each part, in a folder of its name; closed together, whatever happens."""
    with ExitStack() as opened:
        yield {part: opened.enter_context(Writer(folder / part, types)) for part in parts}


def read(folder: Path) -> dict[str, Shaped[ndarray, " n"]]:
    """The arrays of a folder, mapped into memory."""
    told: dict[str, Kept] = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    return {name: mapped(folder / f"{name}.bin", of["type"], of["size"]) for name, of in told.items()}


def mapped(path: Path, kind: str, size: int) -> Shaped[ndarray, " n"]:
    """One array; an empty file can't be mapped."""
    return np.memmap(path, dtype=kind, mode="r", shape=(size,)) if size else np.empty(0, dtype=kind)


class Ragged:
    """Rows of unequal length in one flat array: row i is flat[ends[i − 1] : ends[i]]."""

    def __init__(self, flat: Shaped[ndarray, " n"], ends: Shaped[ndarray, " rows"]) -> None:
        self.flat, self.ends = flat, ends

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, row: SupportsIndex) -> Shaped[ndarray, " n"]:
        i = index(row)  # of numpy's numbers too, of which 0 − 1 may be 255
        return self.flat[self.ends[i - 1] if i else 0 : self.ends[i]]

    @staticmethod
    def of(arrays: Mapping[str, Shaped[ndarray, " n"]], name: str) -> "Ragged":
        """As `Writer.add_rows` wrote it."""
        return Ragged(arrays[name], arrays[f"{name}_end"])

    def lengths(self) -> Shaped[ndarray, " rows"]:
        """Of all rows."""
        return np.diff(self.ends, prepend=0)


def smallest_type(values: int) -> str:
    """The smallest type that has so many values."""
    return "uint8" if values <= 1 << 8 else "uint16" if values <= 1 << 16 else "uint32"


TOGETHER = 1 << 20  # numbers written at a time, about
FILES = "files.json"


class SourceFile(NamedTuple):
    """A file that rows came from: the number of what was named, and if that is a folder, the path inside it.

    What was named may be called otherwise when the rows are found in the cache again; inside a folder all is the same.

    >>> SourceFile.of("films/pos/1.txt", {"dev.csv": 0, "films": 1})
    SourceFile(number=1, inside='pos/1.txt')
    >>> SourceFile(1, "pos/1.txt").name(["dev.csv", "films"]), SourceFile(0, "").name(["data/dev.csv", "films"])
    ('pos/1.txt', 'dev.csv')
    """

    number: int
    inside: str

    @staticmethod
    def of(file: str, numbered: Mapping[str, int]) -> "SourceFile":
        """A file that was named, or that is in a folder that was."""
        path = PurePath(file)
        folder = next(each for each in (path, *path.parents) if str(each) in numbered)
        return SourceFile(numbered[str(folder)], "" if folder == path else path.relative_to(folder).as_posix())

    def name(self, named: Sequence[str]) -> str:
        """For a person, wherever the data lie."""
        return self.inside or PurePath(named[self.number]).name


class HasLocations(Protocol):
    """Rows that know where each stood."""

    @property
    def files(self) -> Sequence[SourceFile]:
        """All that any came from."""

    @property
    def file(self) -> Integer[ndarray, " rows"]:
        """Of each row, by its number among `files`."""

    @property
    def line(self) -> Integer[ndarray, " rows"]:
        """In that file."""


class Row(NamedTuple):
    """An example made ready: its numbers by name, and whether the end of it was cut off."""

    part: str
    location: Location
    cut: bool
    numbers: Mapping[str, Shaped[ndarray, " _"]]


def write_rows(
    folder: Path, named: Iterable[str], types: Mapping[str, str], rows: Iterable[Row]
) -> tuple[tuple[str, ...], int]:
    """Each part's rows into a folder of its name; a location is a line and the number of a file, as they came.

    `named` are the files and folders that rows are from. Returned is which parts have any row, and how many were cut.
    """
    numbered = {name: number for number, name in enumerate(named)}
    seen: dict[str, int] = {}
    ends = {f"{name}_end": "int64" for name in types}
    cut = 0
    with writers(folder, SPLITS, {**types, **ends, "file": "int32", "line": "int64"}) as opened:
        for group in batched(rows, TOGETHER, size_of):
            cut += sum(row.cut for row in group)
            for part, writer in opened.items():
                mine = [row for row in group if row.part == part]
                for name in types:
                    writer.add_rows(name, [row.numbers[name] for row in mine])
                writer.add("file", [seen.setdefault(row.location.file, len(seen)) for row in mine])
                writer.add("line", [row.location.line for row in mine])
    (folder / FILES).write_text(json.dumps([SourceFile.of(file, numbered) for file in seen]), encoding="utf-8")
    return tuple(part for part, writer in opened.items() if writer.sizes["line"]), cut


def files_beside(part: Path) -> tuple[SourceFile, ...]:
    """The files that the rows of a part, and of those beside it, came from."""
    return tuple(SourceFile(*each) for each in json.loads((part.parent / FILES).read_text(encoding="utf-8")))


def size_of(row: Row) -> int:
    """How many numbers it has, its location included."""
    return 2 + sum(map(len, row.numbers.values()))
