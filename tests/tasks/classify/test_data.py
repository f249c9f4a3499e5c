"""Texts with labels made ready: nothing lost, no duplicate on both sides, labels that can be learnt."""

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
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))


def saved(name: str, rows: list[Row]) -> str:
    Path(name).write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows))
    return name


def chosen(**data: Any) -> Experiment:
    return experiment({"task": "classify", "data": {"train": "a.tsv", **data}})


def source(**data: Any) -> DataSource:
    return DataSource.resolve(chosen(**data).data, DATA_SPEC).hashed()


def prepared(**data: Any) -> Dataset:
    found = source(**data)
    return prepare(found, schema(found.data))


def made(rows: list[Row], **data: Any) -> Dataset:
    saved("a.tsv", rows)
    return prepared(**data)


def tokenizer(data: Dataset) -> Tokenizer:
    found: Tokenizer = data.encoders[TOKENIZER_FILE]
    return found


def label_names(data: Dataset) -> Vocabulary:
    found: Vocabulary = data.encoders[LABELS_FILE]
    return found


def told(data: Dataset, part: Split) -> list[tuple[str, str]]:
    """The rows of a split as they were."""
    texts = (part.text("texts", row) for row in range(len(part)))
    labels = ("|".join(label_names(data)[label] for label in part["labels"][row]) for row in range(len(part)))
    return list(zip(texts, labels, strict=True))


def kept_back(prefix: str, share: float = 0.1) -> str:
    """A text that the split keeps back from training."""
    return next(text for i in range(10_000) if split_by_content(text := f"{prefix} {i}", 1, share, 0.0) == VALID)


def test_every_row_is_in_one_part_and_decodes() -> None:
    data = made(ROWS, test_share=0.2, tokenizer="character")
    assert sorted(row for part in data.splits.values() for row in told(data, part)) == sorted(ROWS)
    for part in data.splits.values():
        for row in range(len(part)):
            assert tokenizer(data).decode(part["tokens"][row].tolist()) == part.text("texts", row)
    assert abs(len(data.splits[TRAIN]) / 200 - 0.7) < 0.1
    assert label_names(data).names == ("even", "odd")
    assert (data.notes["single"], data.cut, data.skipped) == (True, 0, 0)


def test_each_row_says_where_it_stood() -> None:
    data = made(ROWS)
    for part in data.splits.values():
        for row, (text, _) in enumerate(told(data, part)):
            assert ROWS[part.line[row] - 2][0] == text  # after a line of names
            assert part.file[row] == 0


def test_a_duplicate_never_straddles() -> None:
    data = made([row for row in ROWS for _ in range(3)], test_share=0.2)
    parts = [{text for text, _ in told(data, part)} for part in data.splits.values()]
    assert len(set.union(*parts)) == sum(map(len, parts)) == 200


def test_own_files_are_their_parts() -> None:
    saved("v.tsv", ROWS[:20])
    saved("t.tsv", ROWS[20:30])
    data = made(ROWS, valid="v.tsv", test="t.tsv")
    assert [told(data, data.splits[part]) for part in (TRAIN, VALID, TEST)] == [ROWS, ROWS[:20], ROWS[20:30]]
    assert [set(data.splits[part].file.tolist()) for part in (TRAIN, VALID, TEST)] == [{0}, {1}, {2}]


def test_the_tokenizer_learns_from_the_training_part_alone() -> None:
    data = made([*ROWS, (kept_back("Ω"), "odd")], tokenizer="character")
    assert "Ω" not in tokenizer(data).parameters.tokens
    assert any(tokenizer(data).unknown in data.splits[VALID]["tokens"][row] for row in range(len(data.splits[VALID])))


def test_a_long_row_is_cut_and_counted() -> None:
    data = made([*ROWS, (" ".join("abcdefgh"), "odd")], max_length=4)
    assert data.cut == 1
    assert max(part["tokens"].lengths().max() for part in data.splits.values()) == 4


def test_one_label_is_nothing_to_distinguish() -> None:
    with pytest.raises(DataError, match=r"^a\.tsv: only one label, 'x', so there is nothing to distinguish\."):
        made([(text, "x") for text, _ in ROWS])


def test_a_label_seen_once_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"^a\.tsv:202: label 'rare' is in a single example, .* data\.on_rare_label skip"
    ):
        made([*ROWS, ("a text", "rare")])
    with pytest.raises(DataError, match=r"^a\.tsv:202: labels 'rare', 'other' are in a single example, so they can't"):
        made([*ROWS, ("a text", "rare"), ("a text", "other")])


def test_a_label_seen_once_is_skipped() -> None:
    data = made([*ROWS, ("a text", "rare")], on_rare_label="skip")
    assert label_names(data).names == ("even", "odd")
    assert sorted(row for part in data.splits.values() for row in told(data, part)) == sorted(ROWS)


def test_skipping_may_leave_one_label() -> None:
    with pytest.raises(DataError, match="only one label, 'x'"):
        made([*((text, "x") for text, _ in ROWS), ("a text", "rare")], on_rare_label="skip")


def test_a_label_seen_once_is_kept_where_it_can_be_learnt() -> None:
    text = kept_back("rare")
    data = made([*ROWS, (text, "rare")], on_rare_label="keep")
    assert label_names(data).names == ("even", "odd", "rare")
    assert (text, "rare") in told(data, data.splits[TRAIN])


def test_labels_that_are_all_kept_back_are_learnt_from_instead() -> None:
    """Together with what says the same, so that no duplicate straddles."""
    one, other = kept_back("homeless"), kept_back("without a home")
    data = made([*ROWS, (one, "new"), (other, "new"), (one, "odd")])
    train = told(data, data.splits[TRAIN])
    assert {(one, "new"), (other, "new"), (one, "odd")} <= set(train)
    counts = Counter(label for _, label in train)
    assert counts["new"] == 2


def test_homeless_labels_are_moved_from_a_test_part_too_even_with_a_validation_file() -> None:
    text = next(text for i in range(10_000) if split_by_content(text := f"homeless {i}", 1, 0.0, 0.2) == TEST)
    saved("v.tsv", ROWS[:20])
    data = made([*ROWS, (text, "new"), (text, "new")], valid="v.tsv", test_share=0.2)
    assert (text, "new") in told(data, data.splits[TRAIN])


@pytest.mark.parametrize("part", ["valid", "test"])
def test_a_label_that_only_another_file_has_is_refused_and_never_learnt_from(part: str) -> None:
    saved("v.tsv", [*ROWS[:20], ("a text", "new"), ("a text too", "new")])
    with pytest.raises(DataError, match=r"^v\.tsv:22: label 'new' is not in the training split\."):
        made(ROWS, **{part: "v.tsv"})


def test_too_few_examples_leave_a_part_empty() -> None:
    rows = [row for row in ROWS if split_by_content(row[0], 1, 0.1, 0.0) == TRAIN][:8]
    with pytest.raises(DataError, match=r"^a\.tsv: no example is left for the valid split"):
        made(rows)


def test_several_labels_a_row() -> None:
    rows = [(text, f"{label}|{'big' if i > 100 else 'small'}") for i, (text, label) in enumerate(ROWS)]
    data = made(rows, label_separator="|")
    assert not data.notes["single"]
    assert label_names(data).names == ("big", "even", "odd", "small")
    assert sorted(row for part in data.splits.values() for row in told(data, part)) == sorted(rows)


def test_with_a_separator_a_text_may_have_several_labels_whatever_the_examples_have() -> None:
    data = made(ROWS, label_separator="|")
    assert data.notes["single"]
    assert Classify.prepare(chosen(label_separator="|"), source(label_separator="|")).multilabel
    assert not Classify.prepare(chosen(), source()).multilabel
    assert label_names(made([(text, "x") for text, _ in ROWS], label_separator="|")).names == ("x",)


def test_lists_of_labels_are_several_and_may_be_none() -> None:
    rows = [{"text": text, "label": [label] if i % 5 else []} for i, (text, label) in enumerate(ROWS)]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = prepared(train="a.jsonl")
    assert not data.notes["single"]
    assert min(part["labels"].lengths().min() for part in data.splits.values()) == 0
    assert Classify.prepare(chosen(train="a.jsonl"), source(train="a.jsonl")).multilabel


def test_bad_lines_are_counted_once() -> None:
    saved("a.tsv", ROWS)
    with Path("a.tsv").open("a") as file:
        file.write("a\tb\tc\n")
    assert prepared(on_bad_line="skip").skipped == 1
    with pytest.raises(DataError, match=r"^a\.tsv:202:"):
        prepared()


def test_the_second_time_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = made(ROWS)
    monkeypatch.setattr(module, "write_dataset", None)  # not called
    Path("a.tsv").rename("b.tsv")
    again = prepared(train="b.tsv")
    assert [told(again, part) for part in again.splits.values()] == [
        told(first, part) for part in first.splits.values()
    ]
    with pytest.raises(TypeError):
        prepared(train="b.tsv", lowercase=True)


def test_a_label_that_the_run_never_saw_has_a_place() -> None:
    data = made(ROWS)
    saved("t.tsv", [*ROWS[:3], ("a text", "new")])
    test = DataSource.for_testing(experiment({"task": "classify"}).data, DATA_SPEC, ["t.tsv"])
    with pytest.raises(DataError) as error:
        prepare_test(test, schema(test.data), data.encoders, Path("out"))
    what, do = "label 'new' is not one of the run's (even, odd)", "Remove the example, or train on examples of it"
    assert str(error.value) == f"t.tsv:5: {what}. {do}."


def test_a_file_to_test_on_is_told_in_the_runs_tokens() -> None:
    data = made(ROWS)
    saved("t.tsv", [*ROWS[:3], ("text of Ω", "odd")])
    test = DataSource.for_testing(chosen().data, DATA_SPEC, ["t.tsv"])
    read = prepare_test(test, schema(test.data), data.encoders, Path("out"))
    assert list(read.splits) == [TEST]
    assert told(read, read.splits[TEST]) == [*ROWS[:3], ("text of Ω", "odd")]
    assert tokenizer(data).unknown in read.splits[TEST]["tokens"][3]
    assert read.splits[TEST].line.tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize(("labels", "count"), [([], "no"), (["even", "odd"], "2")])
def test_a_run_of_one_label_a_text_is_tested_on_such_texts(labels: list[str], count: str) -> None:
    saved("a.tsv", ROWS)
    task = Classify.prepare(chosen(), source())
    Path("t.jsonl").write_text(json.dumps({"text": "a text", "label": labels}) + "\n")
    with pytest.raises(DataError) as error:
        task.read_test_files(["t.jsonl"], Path("out"))
    what = f"{count} labels, but this run predicts one label per text"
    do = "Remove the example, or train on examples with several labels"
    assert str(error.value) == f"t.jsonl:1: {what}. {do}."


def test_a_token_is_a_character_where_most_texts_are_one_word() -> None:
    assert guess_tokenizer(source(train=saved("a.tsv", ROWS))) == "word"
    assert guess_tokenizer(
        source(train=saved("b.tsv", [(f"name{i}", label) for i, (_, label) in enumerate(ROWS)]))
    ) == ("character")
    assert guess_tokenizer(source(train=(), corpus="numbers")) == "character"


def test_the_tokenizer_that_is_asked_for_is_taken() -> None:
    assert Classify.prepare(chosen(tokenizer="byte"), source(train=saved("a.tsv", ROWS))).tokenizer.kind == "byte"
    assert Classify.prepare(chosen(), source()).tokenizer.kind == "word"
