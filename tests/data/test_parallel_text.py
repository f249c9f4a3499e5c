"""Parallel files are paired line by line; files of different length are refused."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seqloom.core.config.data import RowData
from seqloom.core.problem import DataError
from seqloom.data.parallel_text import pair_files, read_parallel
from seqloom.data.text_io import OnBadLine, SkipBadLines, raise_error


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def pairs(source: str | bytes, target: str | bytes, on_bad_line: OnBadLine = raise_error) -> list[tuple[str, str, int]]:
    for name, text in (("a.en", source), ("a.de", target)):
        Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    read = read_parallel([Path("a.en"), Path("a.de")], RowData(), on_bad_line)
    return [(*pair, location.line) for location, pair in read if location.file == "a.en"]


def message(source: str | bytes, target: str | bytes) -> str:
    with pytest.raises(DataError) as error:
        pairs(source, target)
    return str(error.value)


def test_files_are_paired_line_by_line() -> None:
    assert pairs("one\ntwo \n", "eins\r\nzwei") == [("one", "eins", 1), ("two", "zwei", 2)]


def test_files_of_different_length_are_refused() -> None:
    advice = "Find where they diverge: line n of one file must be the translation of line n of the other."
    assert message("1\n2\n3\n4\n", "1\n2\n") == (
        f"a.en:3: from here on a.de has no line that matches this one (2 lines there, 4 here). {advice}"
    )
    assert message("1\n", "1\n2\n") == (
        f"a.de:2: from here on a.en has no line that matches this one (1 line there, 2 here). {advice}"
    )


def test_lines_that_are_blank_on_both_sides_are_ignored() -> None:
    assert pairs("1\n\n3\n", "1\n \n3\n") == [("1", "1", 1), ("3", "3", 3)]


def test_a_line_that_is_blank_on_one_side_is_refused_with_its_location() -> None:
    advice = "Fill it in, remove the line, or pass data.on_bad_line skip."
    assert message("1\n\n3\n", "1\n2\n3\n") == f"a.en:2: the source is empty. {advice}"
    assert message("1\n2\n3\n", "1\n\t\n3\n") == f"a.de:2: the target is empty. {advice}"
    assert pairs("1\n\n3\n", "1\n2\n3\n", skipped := SkipBadLines()) == [("1", "1", 1), ("3", "3", 3)]
    assert skipped.count == 1


lines = st.lists(st.sampled_from([b"a", b"b c", b"", b"caf\xe9", b"\xff"]), min_size=1, max_size=12)


@given(lines, lines)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_bad_line_is_skipped_with_its_partner(source: list[bytes], target: list[bytes]) -> None:
    """Line n is paired with line n; files are refused exactly if their numbers of lines differ."""

    def readable(line: bytes) -> bool:
        return line in (b"a", b"b c")

    expected = [
        (source_line.decode(), target_line.decode(), number)
        for number, (source_line, target_line) in enumerate(zip(source, target, strict=False), start=1)
        if readable(source_line) and readable(target_line)
    ]
    files = b"".join(line + b"\n" for line in source), b"".join(line + b"\n" for line in target)
    if len(source) != len(target) or not expected:
        with pytest.raises(DataError, match="no line"):
            pairs(*files, SkipBadLines())
    else:
        assert pairs(*files, SkipBadLines()) == expected


def test_empty_files_are_refused() -> None:
    assert "there is no line that can be read" in message("\n\n", "\n\n")
    assert message("", "one\n").startswith("a.en: the file is empty")


@pytest.mark.parametrize(
    ("names", "paired"),
    [
        ("", ""),
        ("a.en a.de", "a.en-a.de"),
        ("a.en.gz b.en.gz a.de.gz b.de.gz", "a.en.gz-a.de.gz b.en.gz-b.de.gz"),
        ("a.en a.de b.de b.en", "a.en-a.de b.en-b.de"),
        ("src.txt tgt.txt more.txt mehr.txt", "src.txt-tgt.txt more.txt-mehr.txt"),
        ("a.en a.de b.en b.fr", "a.en-a.de b.en-b.fr"),
    ],
)
def test_text_files_are_paired_two_by_two(names: str, paired: str) -> None:
    file_pairs = pair_files([Path(name) for name in names.split()])
    assert " ".join(f"{source}-{target}" for source, target in file_pairs) == paired
