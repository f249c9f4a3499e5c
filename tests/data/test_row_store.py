"""Rows are written end to end and read back."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.row_store import (
    ArrayWriter,
    Ragged,
    SourceFile,
    read_arrays,
    smallest_type,
)

rows = st.lists(st.lists(st.integers(0, 2**16 - 1), max_size=8), max_size=12)


@given(rows, st.integers(1, 5))
def test_rows_read_back(tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]], chunk_size: int) -> None:
    folder = tmp_path_factory.mktemp("arrays")
    with ArrayWriter(folder, {"tokens": "uint16", "tokens_end": "int64", "other": "int32"}) as writer:
        for start in range(0, len(rows), chunk_size):
            chunk = rows[start : start + chunk_size]
            writer.append_rows("tokens", [np.array(row, dtype=np.int64) for row in chunk])
            writer.append("other", list(map(len, chunk)))
    arrays = read_arrays(folder)
    ragged = Ragged.of(arrays, "tokens")
    assert [ragged[i].tolist() for i in range(len(ragged))] == rows
    assert ragged.lengths().tolist() == arrays["other"].tolist() == [len(row) for row in rows]
    assert arrays["tokens"].dtype == np.uint16
    assert writer.sizes == {"tokens": sum(map(len, rows)), "tokens_end": len(rows), "other": len(rows)}


def test_arrays_are_memory_mapped_and_read_only(tmp_path: Path) -> None:
    with ArrayWriter(tmp_path, {"tokens": "uint8"}) as writer:
        writer.append("tokens", [1, 2])
    tokens = read_arrays(tmp_path)["tokens"]
    assert isinstance(tokens, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        tokens[0] = 5


def test_an_array_without_rows_is_empty(tmp_path: Path) -> None:
    with ArrayWriter(tmp_path / "deep", {"tokens": "uint8"}):
        pass
    assert read_arrays(tmp_path / "deep")["tokens"].tolist() == []


@pytest.mark.parametrize(("values", "kind"), [(1, "uint8"), (256, "uint8"), (257, "uint16"), (65537, "uint32")])
def test_the_smallest_type_holds_the_largest_value(values: int, kind: str) -> None:
    assert smallest_type(values) == kind
    assert np.iinfo(kind).max >= values - 1


@pytest.mark.parametrize(
    ("file", "names", "source_file"),
    [
        ("a.csv", ["b.csv", "a.csv"], SourceFile(1, "")),
        ("d/a.txt", ["d/b.txt", "d", "d/a.txt"], SourceFile(2, "")),
        ("pos/1.txt", ["."], SourceFile(0, "pos/1.txt")),
        ("/data/films/pos/1.txt", ["/data/films"], SourceFile(0, "pos/1.txt")),
        ("../films/pos.txt", ["../films"], SourceFile(0, "pos.txt")),
        ("numbers", ["numbers", "test.csv"], SourceFile(0, "")),
    ],
)
def test_a_file_is_found_by_its_name_or_its_folder(file: str, names: list[str], source_file: SourceFile) -> None:
    assert SourceFile.of(file, {name: number for number, name in enumerate(names)}) == source_file
