"""The check of plain text."""

from pathlib import Path

import pytest

from seqloom.data.inspection.findings import Inspection
from seqloom.data.text_io import read_text
from seqloom.tasks import text_check as language
from tests.tasks.checks import check, names, only, says, write

CLEAN = "".join(f"This is line number {number}, one of a good many lines.\n" for number in range(3000))


def test_clean_text_has_no_findings(tmp_path: Path) -> None:
    inspection = check("language", train=write(tmp_path / "t.txt", CLEAN))
    assert inspection.findings == []
    summary = dict(inspection.summary)
    assert summary["train"].startswith(f"{len(CLEAN) * 9 // 10:,} characters")
    assert summary["lines"].endswith("longest 51 characters")


def test_every_line_that_is_not_utf_8_is_reported(tmp_path: Path) -> None:
    bad = write(tmp_path / "bad.txt", b"one\ncaf\xe9\ntwo\nna\xefve\n")
    inspection = check("language", train=[write(tmp_path / "t.txt", CLEAN), bad, str(tmp_path / "none.txt")])
    wrong = only(inspection, "not UTF-8")
    assert (wrong.kind, wrong.count, names(wrong.locations)) == ("error", 2, ["bad.txt:2", "bad.txt:4"])
    assert only(inspection, "no such file").kind == "error"
    assert dict(inspection.summary)["lines"].startswith("median 5")  # the readable file is checked


def test_empty_files_are_reported(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty.txt", "")
    assert only(check("language", train=empty), "empty").kind == "error"
    assert only(check("language", train=[write(tmp_path / "t.txt", CLEAN), empty]), "without text").kind == "note"


def test_characters_missing_from_train_are_reported(tmp_path: Path) -> None:
    valid = write(tmp_path / "v.txt", "new lines\nwith ß and ß and\u200b\n" + "more of them\n" * 9)
    inspection = check("language", train=write(tmp_path / "t.txt", CLEAN), valid=valid)
    new = only(inspection, "not in train")
    assert new.problem.message.endswith(": ß U+200B") or new.problem.message.endswith("w ß U+200B")
    assert "v.txt:2" in names(new.locations)


@pytest.mark.parametrize("block", [64, 1 << 20])
def test_repeated_and_shared_lines_do_not_depend_on_the_block_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(language, "BLOCK", block)
    again = "A heading that a copy of the page has brought along again\n"
    train = write(tmp_path / "t.txt", CLEAN + again * 400)
    inspection = check("language", train=train, valid=write(tmp_path / "v.txt", "short\n" + again + CLEAN[-1000:]))
    repeats = only(inspection, "of train")
    assert (repeats.kind, repeats.count, names(repeats.locations)[0]) == ("warning", 399, "t.txt:3002")
    assert names(only(inspection, "are in train too").locations)[0] == "v.txt:2"
    assert dict(inspection.summary)["train"].endswith("3,400 lines")


@pytest.mark.parametrize("block", [1000, 1 << 20])
def test_very_long_lines_are_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(language, "BLOCK", block)
    inspection = check(
        "language", train=[write(tmp_path / "t.txt", CLEAN + "x" * 20_000), write(tmp_path / "u.txt", CLEAN)]
    )
    long = only(inspection, "more than 10,000 characters")
    assert (long.count, names(long.locations)) == (1, ["t.txt:3001"])
    assert dict(inspection.summary)["lines"].endswith("longest 20,000 characters")


def test_too_little_text_is_reported(tmp_path: Path) -> None:
    inspection = check("language", train=write(tmp_path / "t.txt", "abababab" + "ab"))
    assert only(inspection, "only 1 character for validation").kind == "error"
    assert says(check("language", train=write(tmp_path / "u.txt", CLEAN[:5000])), "very little text")


def test_the_length_of_the_text_equals_that_of_training(tmp_path: Path) -> None:
    texts = {"a.txt": "one line\nno end", "b.txt": "", "c.txt": "x\n", "d.txt": "y", "e.txt": "z"}
    paths = [Path(write(tmp_path / name, text)) for name, text in texts.items()]
    good, length = language.readable_files(paths, Inspection("any"))
    assert [path.name for path in good] == ["a.txt", "c.txt", "d.txt", "e.txt"]
    assert length == len("".join(read_text(paths))) == len("one line\nno end\nx\ny\nz")


def test_the_newline_between_files_is_counted_as_in_training(tmp_path: Path) -> None:
    files = [write(tmp_path / "a.txt", "aaaaaaaaa"), write(tmp_path / "b.txt", "a")]
    assert check("language", train=files).ok  # "\\na" is the validation split: one token as input, one as target
