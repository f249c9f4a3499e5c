"""Prepared texts with labels: every row is kept, duplicates share a split, every label is in the training split."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seqloom.core.problem import DataError
from seqloom.data import prepare as module
from seqloom.data.prepare import Dataset, Split, prepare, prepare_test
from seqloom.data.source import DataSource
from seqloom.data.split import TEST, TRAIN, VALID, split_by_content
from seqloom.data.tokenizers import Tokenizer
from seqloom.data.vocabulary import Vocabulary
from seqloom.tasks.classify.config import DATA_SPEC
from seqloom.tasks.classify.data import LABELS_FILE, TOKENIZER_FILE, guess_tokenizer, schema
from seqloom.tasks.classify.task import Classify
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import experiment

Row = tuple[str, str]
ROWS: list[Row] = [(f"text number {i}", "odd" if i % 2 else "even") for i in range(200)]


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))


def write_table(name: str, rows: list[Row]) -> str:
    Path(name).write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows))
    return name


def config(**data: Any) -> Experiment:
    return experiment({"task": "classify", "data": {"train": "a.tsv", **data}})


def source(**data: Any) -> DataSource:
    return DataSource.resolve(config(**data).data, DATA_SPEC).hashed()


def prepare_data(**data: Any) -> Dataset:
    data_source = source(**data)
    return prepare(data_source, schema(data_source.data))


def dataset_of(rows: list[Row], **data: Any) -> Dataset:
    write_table("a.tsv", rows)
    return prepare_data(**data)


def tokenizer(data: Dataset) -> Tokenizer:
    encoder: Tokenizer = data.encoders[TOKENIZER_FILE]
    return encoder


def label_names(data: Dataset) -> Vocabulary:
    vocabulary: Vocabulary = data.encoders[LABELS_FILE]
    return vocabulary


def decoded_rows(data: Dataset, split: Split) -> list[tuple[str, str]]:
    """The rows of a split, as in the file."""
    texts = (split.text("texts", row) for row in range(len(split)))
    labels = ("|".join(label_names(data)[label] for label in split["labels"][row]) for row in range(len(split)))
    return list(zip(texts, labels, strict=True))


def validation_text(prefix: str, share: float = 0.1) -> str:
    """A text that the split assigns to validation."""
    return next(text for i in range(10_000) if split_by_content(text := f"{prefix} {i}", 1, share, 0.0) == VALID)


def test_every_row_is_in_one_split_and_decodes() -> None:
    data = dataset_of(ROWS, test_share=0.2, tokenizer="character")
    assert sorted(row for split in data.splits.values() for row in decoded_rows(data, split)) == sorted(ROWS)
    for split in data.splits.values():
        for row in range(len(split)):
            assert tokenizer(data).decode(split["tokens"][row].tolist()) == split.text("texts", row)
    assert abs(len(data.splits[TRAIN]) / 200 - 0.7) < 0.1
    assert label_names(data).names == ("even", "odd")
    assert (data.notes["single"], data.cut, data.skipped) == (True, 0, 0)


def test_each_row_has_its_file_and_line() -> None:
    data = dataset_of(ROWS)
    for split in data.splits.values():
        for row, (text, _) in enumerate(decoded_rows(data, split)):
            assert ROWS[split.line[row] - 2][0] == text  # after the header
            assert split.file[row] == 0


def test_duplicates_are_in_the_same_split() -> None:
    data = dataset_of([row for row in ROWS for _ in range(3)], test_share=0.2)
    split_texts = [{text for text, _ in decoded_rows(data, split)} for split in data.splits.values()]
    assert len(set.union(*split_texts)) == sum(map(len, split_texts)) == 200


def test_own_files_are_their_splits() -> None:
    write_table("v.tsv", ROWS[:20])
    write_table("t.tsv", ROWS[20:30])
    data = dataset_of(ROWS, valid="v.tsv", test="t.tsv")
    assert [decoded_rows(data, data.splits[split]) for split in (TRAIN, VALID, TEST)] == [ROWS, ROWS[:20], ROWS[20:30]]
    assert [set(data.splits[split].file.tolist()) for split in (TRAIN, VALID, TEST)] == [{0}, {1}, {2}]


def test_the_tokenizer_is_trained_on_the_training_split_alone() -> None:
    data = dataset_of([*ROWS, (validation_text("Ω"), "odd")], tokenizer="character")
    assert "Ω" not in tokenizer(data).parameters.tokens
    assert any(tokenizer(data).unknown in data.splits[VALID]["tokens"][row] for row in range(len(data.splits[VALID])))


def test_a_long_row_is_truncated_and_counted() -> None:
    data = dataset_of([*ROWS, (" ".join("abcdefgh"), "odd")], max_length=4)
    assert data.cut == 1
    assert max(split["tokens"].lengths().max() for split in data.splits.values()) == 4


def test_a_single_label_is_refused() -> None:
    with pytest.raises(DataError, match=r"^a\.tsv: only one label, 'x', so there is nothing to distinguish\."):
        dataset_of([(text, "x") for text, _ in ROWS])


def test_a_label_seen_once_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"^a\.tsv:202: label 'rare' is in a single example, .* data\.on_rare_label skip"
    ):
        dataset_of([*ROWS, ("a text", "rare")])
    with pytest.raises(DataError, match=r"^a\.tsv:202: labels 'rare', 'other' are in a single example, so they can't"):
        dataset_of([*ROWS, ("a text", "rare"), ("a text", "other")])


def test_a_label_seen_once_is_skipped() -> None:
    data = dataset_of([*ROWS, ("a text", "rare")], on_rare_label="skip")
    assert label_names(data).names == ("even", "odd")
    assert sorted(row for split in data.splits.values() for row in decoded_rows(data, split)) == sorted(ROWS)


def test_skipping_may_leave_one_label() -> None:
    with pytest.raises(DataError, match="only one label, 'x'"):
        dataset_of([*((text, "x") for text, _ in ROWS), ("a text", "rare")], on_rare_label="skip")


def test_a_label_seen_once_is_kept_in_the_training_split() -> None:
    text = validation_text("rare")
    data = dataset_of([*ROWS, (text, "rare")], on_rare_label="keep")
    assert label_names(data).names == ("even", "odd", "rare")
    assert (text, "rare") in decoded_rows(data, data.splits[TRAIN])


def test_labels_missing_from_train_are_moved_there() -> None:
    """Duplicates of a moved row move with it."""
    first, second = validation_text("first"), validation_text("second")
    data = dataset_of([*ROWS, (first, "new"), (second, "new"), (first, "odd")])
    train = decoded_rows(data, data.splits[TRAIN])
    assert {(first, "new"), (second, "new"), (first, "odd")} <= set(train)
    counts = Counter(label for _, label in train)
    assert counts["new"] == 2


def test_labels_missing_from_train_are_moved_from_the_test_split_too() -> None:
    text = next(text for i in range(10_000) if split_by_content(text := f"first {i}", 1, 0.0, 0.2) == TEST)
    write_table("v.tsv", ROWS[:20])
    data = dataset_of([*ROWS, (text, "new"), (text, "new")], valid="v.tsv", test_share=0.2)
    assert (text, "new") in decoded_rows(data, data.splits[TRAIN])


@pytest.mark.parametrize("split", ["valid", "test"])
def test_a_label_that_only_another_file_has_is_refused(split: str) -> None:
    write_table("v.tsv", [*ROWS[:20], ("a text", "new"), ("a text too", "new")])
    with pytest.raises(DataError, match=r"^v\.tsv:22: label 'new' is not in the training split\."):
        dataset_of(ROWS, **{split: "v.tsv"})


def test_too_few_examples_leave_a_split_empty() -> None:
    rows = [row for row in ROWS if split_by_content(row[0], 1, 0.1, 0.0) == TRAIN][:8]
    with pytest.raises(DataError, match=r"^a\.tsv: no example is left for the valid split"):
        dataset_of(rows)


def test_rows_may_have_several_labels() -> None:
    rows = [(text, f"{label}|{'big' if i > 100 else 'small'}") for i, (text, label) in enumerate(ROWS)]
    data = dataset_of(rows, label_separator="|")
    assert not data.notes["single"]
    assert label_names(data).names == ("big", "even", "odd", "small")
    assert sorted(row for split in data.splits.values() for row in decoded_rows(data, split)) == sorted(rows)


def test_a_label_separator_makes_the_task_multilabel() -> None:
    data = dataset_of(ROWS, label_separator="|")
    assert data.notes["single"]
    assert Classify.prepare(config(label_separator="|"), source(label_separator="|")).multilabel
    assert not Classify.prepare(config(), source()).multilabel
    assert label_names(dataset_of([(text, "x") for text, _ in ROWS], label_separator="|")).names == ("x",)


def test_lists_of_labels_make_the_task_multilabel_and_may_be_empty() -> None:
    rows = [{"text": text, "label": [label] if i % 5 else []} for i, (text, label) in enumerate(ROWS)]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = prepare_data(train="a.jsonl")
    assert not data.notes["single"]
    assert min(split["labels"].lengths().min() for split in data.splits.values()) == 0
    assert Classify.prepare(config(train="a.jsonl"), source(train="a.jsonl")).multilabel


def test_bad_lines_are_counted_once() -> None:
    write_table("a.tsv", ROWS)
    with Path("a.tsv").open("a") as file:
        file.write("a\tb\tc\n")
    assert prepare_data(on_bad_line="skip").skipped == 1
    with pytest.raises(DataError, match=r"^a\.tsv:202:"):
        prepare_data()


def test_the_second_preparation_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = dataset_of(ROWS)
    monkeypatch.setattr(module, "write_dataset", None)  # not called
    Path("a.tsv").rename("b.tsv")
    cached = prepare_data(train="b.tsv")
    assert [decoded_rows(cached, split) for split in cached.splits.values()] == [
        decoded_rows(first, split) for split in first.splits.values()
    ]
    with pytest.raises(TypeError):
        prepare_data(train="b.tsv", lowercase=True)


def test_a_label_unknown_to_the_run_is_refused_with_its_location() -> None:
    data = dataset_of(ROWS)
    write_table("t.tsv", [*ROWS[:3], ("a text", "new")])
    test = DataSource.for_testing(experiment({"task": "classify"}).data, DATA_SPEC, ["t.tsv"])
    with pytest.raises(DataError) as error:
        prepare_test(test, schema(test.data), data.encoders, Path("out"))
    message, advice = (
        "label 'new' is not one of the run's (even, odd)",
        "Remove the example, or train on examples of it",
    )
    assert str(error.value) == f"t.tsv:5: {message}. {advice}."


def test_a_test_file_is_encoded_with_the_tokenizer_of_the_run() -> None:
    data = dataset_of(ROWS)
    write_table("t.tsv", [*ROWS[:3], ("text of Ω", "odd")])
    test = DataSource.for_testing(config().data, DATA_SPEC, ["t.tsv"])
    encoded = prepare_test(test, schema(test.data), data.encoders, Path("out"))
    assert list(encoded.splits) == [TEST]
    assert decoded_rows(encoded, encoded.splits[TEST]) == [*ROWS[:3], ("text of Ω", "odd")]
    assert tokenizer(data).unknown in encoded.splits[TEST]["tokens"][3]
    assert encoded.splits[TEST].line.tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize(("labels", "count"), [([], "no"), (["even", "odd"], "2")])
def test_a_run_of_one_label_per_text_refuses_others(labels: list[str], count: str) -> None:
    write_table("a.tsv", ROWS)
    task = Classify.prepare(config(), source())
    Path("t.jsonl").write_text(json.dumps({"text": "a text", "label": labels}) + "\n")
    with pytest.raises(DataError) as error:
        task.read_test_files(["t.jsonl"], Path("out"))
    message = f"{count} labels, but this run predicts one label per text"
    advice = "Remove the example, or train on examples with several labels"
    assert str(error.value) == f"t.jsonl:1: {message}. {advice}."


def test_the_tokenizer_is_character_if_most_texts_are_one_word() -> None:
    assert guess_tokenizer(source(train=write_table("a.tsv", ROWS))) == "word"
    assert guess_tokenizer(
        source(train=write_table("b.tsv", [(f"name{i}", label) for i, (_, label) in enumerate(ROWS)]))
    ) == ("character")
    assert guess_tokenizer(source(train=(), corpus="numbers")) == "character"


def test_the_tokenizer_of_the_config_is_used() -> None:
    assert Classify.prepare(config(tokenizer="byte"), source(train=write_table("a.tsv", ROWS))).tokenizer.kind == "byte"
    assert Classify.prepare(config(), source()).tokenizer.kind == "word"
