"""A look at plain text."""

from pathlib import Path

import pytest

from seqloom.data.inspection.findings import Inspection
from seqloom.data.text_io import read_text
from seqloom.tasks import text_check as language
from tests.tasks.checks import check, names, only, says, write

CLEAN = "".join(f"This is line number {number}, one of a good many lines.\n" for number in range(3000))


def test_clean_text_has_no_findings(tmp_path: Path) -> None:
    found = check("language", train=write(tmp_path / "t.txt", CLEAN))
    assert found.findings == []
    told = dict(found.summary)
    assert told["train"].startswith(f"{len(CLEAN) * 9 // 10:,} characters")
    assert told["lines"].endswith("longest 51 characters")


def test_every_line_that_is_not_utf_8(tmp_path: Path) -> None:
    bad = write(tmp_path / "bad.txt", b"one\ncaf\xe9\ntwo\nna\xefve\n")
    found = check("language", train=[write(tmp_path / "t.txt", CLEAN), bad, str(tmp_path / "none.txt")])
    wrong = only(found, "not UTF-8")
    assert (wrong.kind, wrong.count, names(wrong.locations)) == ("error", 2, ["bad.txt:2", "bad.txt:4"])
    assert only(found, "no such file").kind == "error"
    assert dict(found.summary)["lines"].startswith("median 5")  # the good file is looked at


def test_empty_files(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty.txt", "")
    assert only(check("language", train=empty), "empty").kind == "error"
    assert only(check("language", train=[write(tmp_path / "t.txt", CLEAN), empty]), "without text").kind == "note"


def test_characters_that_training_lacks(tmp_path: Path) -> None:
    valid = write(tmp_path / "v.txt", "new lines\nwith ß and ß and\u200b\n" + "more of them\n" * 9)
    found = check("language", train=write(tmp_path / "t.txt", CLEAN), valid=valid)
    new = only(found, "not in train")
    assert new.problem.message.endswith(": ß U+200B") or new.problem.message.endswith("w ß U+200B")
    assert "v.txt:2" in names(new.locations)


@pytest.mark.parametrize("block", [64, 1 << 20])
def test_repeated_and_shared_lines_whatever_the_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(language, "BLOCK", block)
    again = "A heading that a copy of the page has brought along again\n"
    train = write(tmp_path / "t.txt", CLEAN + again * 400)
    found = check("language", train=train, valid=write(tmp_path / "v.txt", "short\n" + again + CLEAN[-1000:]))
    repeats = only(found, "of train")
    assert (repeats.kind, repeats.count, names(repeats.locations)[0]) == ("warning", 399, "t.txt:3002")
    assert names(only(found, "are in train too").locations)[0] == "v.txt:2"
    assert dict(found.summary)["train"].endswith("3,400 lines")


@pytest.mark.parametrize("block", [1000, 1 << 20])
def test_very_long_lines_are_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(language, "BLOCK", block)
    found = check("language", train=[write(tmp_path / "t.txt", CLEAN + "x" * 20_000), write(tmp_path / "u.txt", CLEAN)])
    long = only(found, "more than 10,000 characters")
    assert (long.count, names(long.locations)) == (1, ["t.txt:3001"])
    assert dict(found.summary)["lines"].endswith("longest 20,000 characters")


def test_too_little_text(tmp_path: Path) -> None:
    found = check("language", train=write(tmp_path / "t.txt", "abababab" + "ab"))
    assert only(found, "only 1 character for validation").kind == "error"
    assert says(check("language", train=write(tmp_path / "u.txt", CLEAN[:5000])), "very little text")


def test_the_text_is_as_long_as_training_reads_it_whatever_ends_a_file(tmp_path: Path) -> None:
    texts = {"a.txt": "one line\nno end", "b.txt": "", "c.txt": "x\n", "d.txt": "y", "e.txt": "z"}
    paths = [Path(write(tmp_path / name, text)) for name, text in texts.items()]
    good, length = language.readable_files(paths, Inspection("any"))
    assert [path.name for path in good] == ["a.txt", "c.txt", "d.txt", "e.txt"]
    assert length == len("".join(read_text(paths))) == len("one line\nno end\nx\ny\nz")


def test_the_newline_between_files_counts_as_it_does_in_training(tmp_path: Path) -> None:
    files = [write(tmp_path / "a.txt", "aaaaaaaaa"), write(tmp_path / "b.txt", "a")]
    assert check("language", train=files).ok  # "\\na" is kept back: one to read, one to predict
