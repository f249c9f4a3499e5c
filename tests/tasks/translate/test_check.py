"""The check of pairs reports every defect with its location, and nothing in clean data."""

from pathlib import Path

import pytest

from seqloom.core.problem import render
from tests.tasks.checks import check, names, only, says, write

CLEAN = "".join(f"the text of number {number}\tle texte du numéro {number}\n" for number in range(60))


def table(tmp_path: Path, extra: str = "", name: str = "train.tsv") -> str:
    return write(tmp_path / name, CLEAN + extra)


def test_clean_data_have_no_findings(tmp_path: Path) -> None:
    inspection = check("translate", train=table(tmp_path))
    assert inspection.ok
    assert inspection.findings == []
    summary = dict(inspection.summary)
    assert summary["columns"].startswith("source: column 1, target: column 2, no header")
    assert summary["source"] == "median 5, 95th percentile 5, 99th 5, longest 5 words"
    assert int(summary["train"].split()[0]) + int(summary["valid"].split()[0]) == 60


@pytest.mark.parametrize("corpus", ["numbers", "copy"])
def test_embedded_corpora_have_no_errors(corpus: str) -> None:
    inspection = check("translate", corpus=corpus, examples=200)
    assert inspection.ok
    assert says(inspection, "200 pairs (100%) with the same text") == (corpus == "copy")


def test_every_bad_line_is_collected(tmp_path: Path) -> None:
    inspection = check("translate", train=table(tmp_path, "one\ttwo\tthree\nempty\t\n\tvide\nalone\n"))
    assert names(only(inspection, "3 fields, expected 2 (source, tab, target)").locations) == ["train.tsv:61"]
    assert names(only(inspection, "the target is empty").locations) == ["train.tsv:62"]
    assert names(only(inspection, "the source is empty").locations) == ["train.tsv:63"]
    assert names(only(inspection, "1 field, expected 2").locations) == ["train.tsv:64"]
    assert not inspection.ok
    lenient = check("translate", train=str(tmp_path / "train.tsv"), on_bad_line="skip")
    assert lenient.ok
    assert only(lenient, "the target is empty").kind == "warning"


def test_unpaired_text_files_are_errors_and_the_others_are_read(tmp_path: Path) -> None:
    for name, lines in (("a.en", 70), ("a.fr", 60), ("b.en", 60), ("b.fr", 60)):
        write(tmp_path / name, "".join(f"{name} {number}\n" for number in range(lines)))
    inspection = check("translate", train=[str(tmp_path / name) for name in ("a.en", "a.fr", "b.en", "b.fr")])
    assert names(only(inspection, "has no line that matches this one (60 lines there, 70 here)").locations) == [
        "a.en:61"
    ]
    total = sum(int(value.split()[0]) for name, value in inspection.summary if name in ("train", "valid"))
    assert total == 120  # the paired lines of both pairs of files
    alone = check("translate", train=[str(tmp_path / name) for name in ("b.en", "b.fr", "a.en")])
    assert names(only(alone, "3 text files, and a translation needs two").locations) == ["a.en"]
    twice = check("translate", train=[str(tmp_path / name) for name in ("a.en", "a.fr", "b.en", "a.fr")])
    assert names(only(twice, "this text file is named twice").locations) == ["a.fr"]


def test_repeated_and_shared_sources_are_reported(tmp_path: Path) -> None:
    again = "the text of number 7\tle texte du numéro sept\n"
    inspection = check(
        "translate",
        train=table(tmp_path, again),
        valid=write(tmp_path / "valid.tsv", again + "something else\tautre chose\n"),
    )
    assert names(only(inspection, "1 source of train (1.6%) repeats an earlier one").locations) == ["train.tsv:61"]
    shared = only(inspection, "1 source of valid (50.0%) is in train too")
    assert (shared.kind, names(shared.locations)) == ("warning", ["valid.tsv:1"])
    several = only(inspection, "1 source has several translations")
    assert (several.kind, names(several.locations)) == ("note", ["train.tsv:8", "train.tsv:61"])


def test_pairs_of_very_unequal_or_equal_sides_are_reported(tmp_path: Path) -> None:
    extra = "no\t" + "a long sentence about something else " * 3 + "\nParis\tParis\n"
    odd = only(check("translate", train=table(tmp_path, extra)), "1 pair (1.6%) with more than 9 times the characters")
    assert (odd.kind, names(odd.locations)) == ("warning", ["train.tsv:61"])
    assert "Pass data.on_ratio drop" in render(odd.problem.advice)
    inspection = check("translate", train=str(tmp_path / "train.tsv"), tokenizer="word", on_ratio="drop", max_ratio=15)
    advice = only(inspection, "more than 15 times the words on one side").problem.advice
    assert "Such pairs are dropped from the training split" in advice
    assert not says(check("translate", train=str(tmp_path / "train.tsv"), max_ratio=200), "on one side")
    same = only(inspection, "1 pair (1.6%) with the same text on both sides")
    assert (same.kind, names(same.locations)) == ("note", ["train.tsv:62"])
    assert only(check("translate", train=table(tmp_path, "x\tx\n" * 9)), "the same text").kind == "warning"


def test_long_and_broken_texts_are_reported_by_side(tmp_path: Path) -> None:
    more = "".join(f"one more, {number}\tun de plus, {number}\n" for number in range(200))
    extra = f"{'word ' * 500}\t{'mot ' * 500}\nfine\tbroken \ufffd\n{more}"
    inspection = check("translate", train=table(tmp_path, extra), max_length=100)
    assert names(only(inspection, "1 source (0.4%) longer than 100 tokens").locations) == ["train.tsv:61"]
    assert names(only(inspection, "a target of 1,999 characters").locations) == ["train.tsv:61"]
    assert names(only(inspection, "1 target has U+FFFD").locations) == ["train.tsv:62"]


def test_too_few_pairs_for_validation_are_an_error(tmp_path: Path) -> None:
    inspection = check("translate", train=write(tmp_path / "t.tsv", "a\tb\nc\td\n"))
    assert says(inspection, "no pair is left for the valid split")
    assert not inspection.ok
