"""Rows and where they stood: a file that was named, or one inside a folder that was."""

from pathlib import Path

import numpy as np
import pytest

from seqloom.data.records import Location
from seqloom.data.row_store import Row, SourceFile, read_arrays, read_source_files, write_rows
from seqloom.data.split import TRAIN, VALID


def test_each_row_is_found_in_the_file_it_came_from(tmp_path: Path) -> None:
    locations = [("films/pos/1.txt", 1), ("films/neg/1.txt", 1), ("dev.csv", 7), ("films/pos/1.txt", 1)]
    parts = (TRAIN, TRAIN, VALID, VALID)
    numbers = {"tokens": np.array([1, 2])}
    rows = [Row(part, Location(*location), False, numbers) for part, location in zip(parts, locations, strict=True)]
    told = write_rows(tmp_path, ["films", "dev.csv"], {"tokens": "uint8"}, rows)
    assert told == ((TRAIN, VALID), 0)
    names = {}
    for part in (TRAIN, VALID):
        files, arrays = read_source_files(tmp_path), read_arrays(tmp_path / part)
        stood = zip(arrays["file"], arrays["line"], strict=True)
        names[part] = [(files[file].name(["moved/films", "data/dev.csv"]), int(line)) for file, line in stood]
    assert names == {TRAIN: [("pos/1.txt", 1), ("neg/1.txt", 1)], VALID: [("dev.csv", 7), ("pos/1.txt", 1)]}


@pytest.mark.parametrize(
    ("file", "named", "found"),
    [
        ("a.csv", ["b.csv", "a.csv"], SourceFile(1, "")),
        ("d/a.txt", ["d/b.txt", "d", "d/a.txt"], SourceFile(2, "")),
        ("pos/1.txt", ["."], SourceFile(0, "pos/1.txt")),
        ("/data/films/pos/1.txt", ["/data/films"], SourceFile(0, "pos/1.txt")),
        ("../films/pos.txt", ["../films"], SourceFile(0, "pos.txt")),
        ("numbers", ["numbers", "test.csv"], SourceFile(0, "")),
    ],
)
def test_a_file_is_what_was_named_or_inside_it(file: str, named: list[str], found: SourceFile) -> None:
    assert SourceFile.of(file, {name: number for number, name in enumerate(named)}) == found
