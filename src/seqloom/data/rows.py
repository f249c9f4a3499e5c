"""Rows of numbers written part by part, each with the place that it came from."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jaxtyping import Shaped
from numpy import ndarray

from seqloom.data.arrays import writers
from seqloom.data.examples import Place
from seqloom.data.split import PARTS, batched

TOGETHER = 1 << 20  # numbers written at a time, about


class Row(NamedTuple):
    """An example made ready: its numbers by name, and whether the end of it was cut off."""

    part: str
    place: Place
    cut: bool
    numbers: Mapping[str, Shaped[ndarray, " _"]]


def write_rows(folder: Path, files: Iterable[str], types: Mapping[str, str], rows: Iterable[Row]) -> dict[str, Any]:
    """Each part's rows into a folder of its name, a place being the number of its file among `files`, and a line.

    Returned is which parts have any row, and how many rows were cut.
    """
    numbered = {name: number for number, name in enumerate(files)}
    ends = {f"{name}_end": "int64" for name in types}
    cut = 0
    with writers(folder, PARTS, {**types, **ends, "file": "int32", "line": "int64"}) as opened:
        for group in batched(rows, TOGETHER, size_of):
            cut += sum(row.cut for row in group)
            for part, writer in opened.items():
                mine = [row for row in group if row.part == part]
                for name in types:
                    writer.add_rows(name, [row.numbers[name] for row in mine])
                writer.add("file", [numbered.get(row.place.file, 0) for row in mine])
                writer.add("line", [row.place.line for row in mine])
    return {"parts": [part for part, writer in opened.items() if writer.sizes["line"]], "cut": cut}


def size_of(row: Row) -> int:
    """How many numbers it has, its place included."""
    return 2 + sum(map(len, row.numbers.values()))
