"""Rows of numbers written part by part, each with the place that it came from."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple, Protocol

from jaxtyping import Integer, Shaped
from numpy import ndarray

from seqloom.data.arrays import writers
from seqloom.data.examples import Place
from seqloom.data.split import SPLITS, batched

TOGETHER = 1 << 20  # numbers written at a time, about
FILES = "files.json"


class Within(NamedTuple):
    """A file that rows came from: the number of what was named, and if that is a folder, the path inside it.

    What was named may be called otherwise when the rows are found in the cache again; inside a folder all is the same.

    >>> Within.of("films/pos/1.txt", {"dev.csv": 0, "films": 1})
    Within(number=1, inside='pos/1.txt')
    >>> Within(1, "pos/1.txt").name(["dev.csv", "films"]), Within(0, "").name(["data/dev.csv", "films"])
    ('pos/1.txt', 'dev.csv')
    """

    number: int
    inside: str

    @staticmethod
    def of(file: str, numbered: Mapping[str, int]) -> "Within":
        """A file that was named, or that is in a folder that was."""
        path = PurePath(file)
        folder = next(each for each in (path, *path.parents) if str(each) in numbered)
        return Within(numbered[str(folder)], "" if folder == path else path.relative_to(folder).as_posix())

    def name(self, named: Sequence[str]) -> str:
        """For a person, wherever the data lie."""
        return self.inside or PurePath(named[self.number]).name


class Placed(Protocol):
    """Rows that know where each stood."""

    @property
    def files(self) -> Sequence[Within]:
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
    place: Place
    cut: bool
    numbers: Mapping[str, Shaped[ndarray, " _"]]


def write_rows(
    folder: Path, named: Iterable[str], types: Mapping[str, str], rows: Iterable[Row]
) -> tuple[tuple[str, ...], int]:
    """Each part's rows into a folder of its name; a place is a line and the number of a file, as they came.

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
                writer.add("file", [seen.setdefault(row.place.file, len(seen)) for row in mine])
                writer.add("line", [row.place.line for row in mine])
    (folder / FILES).write_text(json.dumps([Within.of(file, numbered) for file in seen]), encoding="utf-8")
    return tuple(part for part, writer in opened.items() if writer.sizes["line"]), cut


def files_beside(part: Path) -> tuple[Within, ...]:
    """The files that the rows of a part, and of those beside it, came from."""
    return tuple(Within(*each) for each in json.loads((part.parent / FILES).read_text(encoding="utf-8")))


def size_of(row: Row) -> int:
    """How many numbers it has, its place included."""
    return 2 + sum(map(len, row.numbers.values()))
