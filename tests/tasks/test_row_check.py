"""What a check looks for in the rows of any task, and who gets it."""

from pathlib import Path

import pytest

from seqloom.data.inspection.report import Inspection
from seqloom.data.source import DataSource
from seqloom.tasks import row_check
from seqloom.tasks.registry import TASKS, TaskEntry, experiment
from tests.tasks.checks import names, only, says, write

CLEAN = "".join(f"the text of number {number}\tle texte du numéro {number}\n" for number in range(60))


def check_rows(**data: object) -> Inspection:
    """What a task without a check of its own would hear of these data."""
    inspection = Inspection("translate")
    section = experiment({"task": "translate", "data": {**data, "on_bad_line": "skip"}}).data
    source = DataSource.resolve(section, TASKS["translate"].data_spec, inspection.add_error)
    row_check.check(source, inspection)
    return inspection


def test_every_task_of_ours_has_its_check_and_others_have_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {name: entry.check.__module__ for name, entry in TASKS.items()}
    assert own.pop("language") == "seqloom.tasks.text_check"
    assert all(own[name] == f"seqloom.tasks.{name}.check" for name in ("classify", "tag", "translate", "caption"))
    monkeypatch.setattr(TaskEntry, "data_spec", TASKS["translate"].data_spec)
    assert TaskEntry("seqloom.tasks.metrics", "a folder without a check").check is row_check.check


def test_clean_data_have_no_findings(tmp_path: Path) -> None:
    inspection = check_rows(train=write(tmp_path / "t.tsv", CLEAN))
    assert inspection.findings == []
    summary = dict(inspection.summary)
    assert summary["valid"].endswith("(10% of the training files, selected by a hash of the content)")
    assert sum(int(summary[split].split()[0]) for split in ("train", "valid")) == 60
    assert summary["source"] == summary["target"] == "median 5, 95th percentile 5, 99th 5, longest 5 words"


def test_repeats_overlap_and_texts(tmp_path: Path) -> None:
    again = "the text of number 7\tle texte du numéro sept\n"
    train = write(tmp_path / "t.tsv", CLEAN + again + "broken \ufffd\t" + "mot " * 30 + "\n")
    valid = write(tmp_path / "v.tsv", again + "something else\tautre chose\n")
    inspection = check_rows(train=train, valid=valid, max_length=20, tokenizer="word")
    assert names(only(inspection, "1 example of train (1.6%) repeats an earlier one").locations) == ["t.tsv:61"]
    shared = only(inspection, "1 example of valid (50.0%) is in train too")
    assert (shared.kind, names(shared.locations)) == ("warning", ["v.tsv:1"])
    assert names(only(inspection, "1 source has U+FFFD").locations) == ["t.tsv:62"]
    assert names(only(inspection, "1 target (1.6%) longer than 20 tokens").locations) == ["t.tsv:62"]


def test_bad_files_and_empty_splits(tmp_path: Path) -> None:
    inspection = check_rows(train=[write(tmp_path / "t.tsv", "a\tb\nc\td\n"), str(tmp_path / "none.tsv")])
    assert only(inspection, "no such file").kind == "error"
    assert only(inspection, "no example is left for the valid split").kind == "error"
    bad = check_rows(train=write(tmp_path / "t.tsv", CLEAN + "alone\n"))
    assert names(only(bad, "1 field, expected 2").locations) == ["t.tsv:61"]
    assert not says(check_rows(train=write(tmp_path / "empty.tsv", "")), "no example is left")
