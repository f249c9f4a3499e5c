"""Arrays in files, written sequentially and then memory-mapped; and the files that rows came from."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from operator import index
from pathlib import Path, PurePath
from typing import NamedTuple, Self, SupportsIndex

import numpy as np
from jaxtyping import Shaped
from numpy import ndarray

INDEX = "arrays.json"


class ArrayWriter:
    """One-dimensional arrays by name, in a folder; they can be read once the writer is closed.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with ArrayWriter(folder, {"tokens": "uint16"}) as writer:
    ...     writer.append("tokens", [3, 1])
    ...     writer.append("tokens", [2])
    >>> read_arrays(folder)["tokens"].tolist()
    [3, 1, 2]
    """

    def __init__(self, folder: Path, types: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.types = folder, dict(types)
        self.sizes = dict.fromkeys(types, 0)
        with ExitStack() as stack:  # if one file can't be opened, the others are closed
            self._files = {name: stack.enter_context((folder / f"{name}.bin").open("wb")) for name in types}
            self._stack = stack.pop_all()

    def append(self, name: str, values: Shaped[ndarray, " n"] | Iterable[int]) -> None:
        array = np.asarray(values, dtype=self.types[name])
        self._files[name].write(array.tobytes())
        self.sizes[name] += len(array)

    def append_rows(self, name: str, rows: Sequence[Shaped[ndarray, " _"]]) -> None:
        """Rows of a ragged array: their values to one array, the end of each to another (see `Ragged`)."""
        if rows:
            start = self.sizes[name]
            self.append(name, np.concatenate(rows))
            self.append(f"{name}_end", start + np.cumsum([len(row) for row in rows]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        arrays = {name: {"type": kind, "size": self.sizes[name]} for name, kind in self.types.items()}
        (self.folder / INDEX).write_text(json.dumps(arrays), encoding="utf-8")


def read_arrays(folder: Path) -> dict[str, Shaped[ndarray, " n"]]:
    """The arrays of a folder, memory-mapped; an empty file can't be."""
    return {
        name: np.memmap(folder / f"{name}.bin", dtype=array["type"], mode="r", shape=(array["size"],))
        if array["size"]
        else np.empty(0, dtype=array["type"])
        for name, array in json.loads((folder / INDEX).read_text(encoding="utf-8")).items()
    }


class Ragged:
    """Rows of unequal length in one flat array: row i is flat[ends[i − 1] : ends[i]]."""

    def __init__(self, flat: Shaped[ndarray, " n"], ends: Shaped[ndarray, " rows"]) -> None:
        self.flat, self.ends = flat, ends

    @staticmethod
    def of(arrays: Mapping[str, Shaped[ndarray, " n"]], name: str) -> "Ragged":
        """The rows that `ArrayWriter.append_rows` wrote."""
        return Ragged(arrays[name], arrays[f"{name}_end"])

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, row: SupportsIndex) -> Shaped[ndarray, " n"]:
        i = index(row)  # not one of numpy's numbers, for which 0 − 1 may be 255
        return self.flat[self.ends[i - 1] if i else 0 : self.ends[i]]

    def lengths(self) -> Shaped[ndarray, " rows"]:
        return np.diff(self.ends, prepend=0)


def smallest_type(values: int) -> str:
    """The smallest unsigned type for so many values."""
    return "uint8" if values <= 1 << 8 else "uint16" if values <= 1 << 16 else "uint32"


class SourceFile(NamedTuple):
    """A file that rows came from: the position of a named file or folder, and for a folder the path inside it.

    Named files may have other names when the rows are found in the cache again; inside a folder names are the same.

    >>> SourceFile.of("films/pos/1.txt", {"dev.csv": 0, "films": 1})
    SourceFile(number=1, inside='pos/1.txt')
    >>> SourceFile(1, "pos/1.txt").name(["dev.csv", "films"]), SourceFile(0, "").name(["data/dev.csv", "films"])
    ('pos/1.txt', 'dev.csv')
    """

    number: int
    inside: str

    @staticmethod
    def of(file: str, numbers: Mapping[str, int]) -> "SourceFile":
        path = PurePath(file)
        named = next(parent for parent in (path, *path.parents) if str(parent) in numbers)
        return SourceFile(numbers[str(named)], "" if named == path else path.relative_to(named).as_posix())

    def name(self, names: Sequence[str]) -> str:
        """The name in reports: the path inside a named folder, or the name of the file without its folder."""
        return self.inside or PurePath(names[self.number]).name
