"""The check of texts with labels reports every defect with its location, and nothing in clean data."""

import gzip
import json
from pathlib import Path

import pytest

from seqloom.core.problem import ConfigError
from tests.tasks.checks import check, names, only, says, write

CLEAN = "".join(
    f"{label}\ta text of number {number}\n" for number in range(60) for label in ("good", "bad")[number % 2 :][:1]
)


def table(tmp_path: Path, extra: str = "", name: str = "train.tsv") -> str:
    return write(tmp_path / name, CLEAN + extra)


def columns(**data: object) -> dict[str, object]:
    return {"label": "1", "text": "2", "header": False, **data}


def test_clean_data_have_no_findings(tmp_path: Path) -> None:
    inspection = check("classify", train=table(tmp_path))
    assert inspection.ok
    assert inspection.findings == []
    summary = dict(inspection.summary)
    assert summary["labels"] == "good (30), bad (30)"
    assert summary["columns"].startswith("text: column 2, label: column 1")
    assert summary["words"] == "median 5, 95th percentile 5, 99th 5, longest 5"


def test_every_bad_line_of_every_file_is_reported(tmp_path: Path) -> None:
    broken = table(tmp_path, "good\tone\ttwo\nalone\ngood\tmany\tmore\tfields\n")
    latin = write(tmp_path / "latin.tsv", CLEAN.encode() + b"good\tcaf\xe9\n")
    none = write(tmp_path / "empty.tsv", "")
    inspection = check(
        "classify", **columns(train=[broken, str(tmp_path / "absent.tsv"), latin, none], valid=str(tmp_path))
    )
    fields = only(inspection, "fields, expected 2")
    assert (fields.count, names(fields.locations)) == (2, ["train.tsv:61", "train.tsv:63"])
    assert names(only(inspection, "1 field,").locations) == ["train.tsv:62"]
    assert names(only(inspection, "0xE9 is not UTF-8").locations) == ["latin.tsv:61"]
    assert names(only(inspection, "no such file").locations) == ["absent.tsv"]
    assert names(only(inspection, "the file is empty").locations) == ["empty.tsv"]
    assert not inspection.ok
    assert all(finding.kind == "error" for finding in inspection.findings[:5])
    assert dict(inspection.summary)["train"] == "120 texts"  # of the readable files


def test_skipped_lines_are_warnings(tmp_path: Path) -> None:
    inspection = check("classify", **columns(train=table(tmp_path, "alone\n"), on_bad_line="skip"))
    assert inspection.ok
    assert only(inspection, "1 field").kind == "warning"


def test_quotes_and_json(tmp_path: Path) -> None:
    rows = "text,label\n" + "".join(f"text {n},{'ab'[n % 2]}\n" for n in range(20)) + '"open,a\nlast,b\n'
    assert names(only(check("classify", train=write(tmp_path / "t.csv", rows)), "a quote opens").locations) == [
        "t.csv:22"
    ]
    records = [json.dumps({"text": f"text {n}", "label": "ab"[n % 2]}) for n in range(20)]
    lines = "\n".join([*records, "{", '{"label": "a"}'])
    inspection = check("classify", train=write(tmp_path / "t.jsonl", lines))
    assert names(only(inspection, "not valid JSON").locations) == ["t.jsonl:21"]
    assert names(only(inspection, "no key 'text'").locations) == ["t.jsonl:22"]


def test_labels_in_one_split_only_are_errors(tmp_path: Path) -> None:
    extra = "odd\tseen once\n"
    inspection = check("classify", **columns(train=table(tmp_path, extra)))
    assert only(inspection, "label 'odd' is in a single example").kind == "error"
    kept = check("classify", **columns(train=table(tmp_path, extra), on_rare_label="keep"))
    assert (kept.ok, only(kept, "label 'odd' is in a single example").kind) == (True, "warning")
    valid = write(tmp_path / "valid.tsv", "new\tone\nnew\ttwo\nother\tthree\nother\tfour\ngood\tfive\n")
    unseen = only(check("classify", **columns(train=table(tmp_path), valid=valid)), "not in the training split")
    assert (unseen.kind, unseen.count, names(unseen.locations)) == ("error", 2, ["valid.tsv:1", "valid.tsv:3"])


def test_a_single_label_is_an_error(tmp_path: Path) -> None:
    inspection = check("classify", train=write(tmp_path / "t.tsv", "a\tb\n" * 3), text="1", label="2", header=False)
    assert only(inspection, "only one label, 'b'").kind == "error"


def test_similar_and_imbalanced_labels_are_reported(tmp_path: Path) -> None:
    extra = "".join(f"Good\tcapital {n}\n" for n in range(3)) + "".join(f"bad\tmore {n}\n" for n in range(999))
    inspection = check("classify", **columns(train=table(tmp_path, extra)))
    assert "'good', 'Good'" in only(inspection, "differ only in capitals").problem.message
    assert only(inspection, "the labels are imbalanced: 'bad'").kind == "warning"
    assert "always predicting 'bad' has an accuracy of 9" in dict(inspection.summary)["baseline"]


def test_a_wrong_column_is_one_warning(tmp_path: Path) -> None:
    inspection = check("classify", train=table(tmp_path), text="1", label="2", header=False)
    assert "60 different labels in 60 examples" in only(inspection, "different labels in").problem.message
    assert not says(inspection, "uneven")


def test_repeats_overlaps_and_contradictions_are_reported(tmp_path: Path) -> None:
    train = table(tmp_path, "good\ttwice\ngood\ttwice\ngood\tin doubt\nbad\tin doubt\nbad\tin doubt\n")
    valid = write(tmp_path / "valid.tsv", CLEAN[: len(CLEAN) // 2] + "good\tnew\nbad\tnewer\n")
    inspection = check("classify", **columns(train=train, valid=valid))
    repeats = only(inspection, "of train")
    assert (repeats.count, names(repeats.locations)) == (3, ["train.tsv:62", "train.tsv:64", "train.tsv:65"])
    contradictions = only(inspection, "different labels")
    assert (contradictions.count, names(contradictions.locations)) == (1, ["train.tsv:63", "train.tsv:64"])
    assert "at least 1 of" in contradictions.problem.message
    leak = only(inspection, "are in train too")
    assert leak.kind == "warning"
    assert leak.count == 30 or leak.count == 29  # half of the characters may end inside a line
    assert names(leak.locations)[0] == "valid.tsv:1"
    own = check("classify", **columns(train=train))
    assert not says(own, "too")  # equal texts are in one split


def test_empty_padded_and_truncated_texts_are_reported(tmp_path: Path) -> None:
    extra = "good\t\nbad\t  \ngood\t padded\nbad\t" + "word " * 20 + "end\n"
    inspection = check("classify", **columns(train=table(tmp_path, extra), max_length=10))
    assert names(only(inspection, "empty, or only white space").locations) == ["train.tsv:61", "train.tsv:62"]
    assert names(only(inspection, "leading or trailing white space").locations) == ["train.tsv:63"]
    assert names(only(inspection, "longer than 10 tokens").locations) == ["train.tsv:64"]
    by_character = check("classify", **columns(train=table(tmp_path), max_length=10, tokenizer="character"))
    assert only(by_character, "longer than 10 tokens").count == 60


def test_a_text_far_longer_than_the_others_is_reported(tmp_path: Path) -> None:
    many = "".join(f"{'ab'[n % 2]}\ttext {n}\n" for n in range(200))
    inspection = check("classify", train=write(tmp_path / "t.tsv", many + "a\t" + "long " * 1000 + "\n"), **columns())
    assert names(only(inspection, "a text of 5,000 characters").locations) == ["t.tsv:201"]


def test_folders_gzip_and_several_labels(tmp_path: Path) -> None:
    folder = tmp_path / "names"
    folder.mkdir()
    write(folder / "Czech.txt", "Abl\nAdsit\n")
    write(folder / "Irish.txt.gz", gzip.compress(b"Adam\nAdam\n", mtime=0))
    assert names(only(check("classify", train=str(folder), valid_share=0.5), "repeats an earlier").locations) == [
        "Irish.txt.gz:2"
    ]
    films = write(tmp_path / "films.csv", "text,label\n" + "".join(f"film {n},a|b\n" for n in range(9)) + "none,\n")
    assert check("classify", train=films, label_separator="|", valid_share=0.5).ok


def test_a_corpus_of_another_task_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"data\.corpus is copy, which is not a corpus for classify"):
        check("classify", corpus="copy")


@pytest.mark.parametrize("task", ["classify", "language", "tag"])
def test_embedded_corpora_can_be_trained_on(task: str) -> None:
    corpus = {"classify": "numbers", "language": "brackets", "tag": "copy"}[task]
    assert check(task, corpus=corpus, examples=300).ok
