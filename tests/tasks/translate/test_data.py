"""Prepared pairs: every row is kept, equal sources share a split, one vocabulary or two."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqloom.core.problem import DataError
from seqloom.data import prepare as module
from seqloom.data.prepare import Dataset, Split, prepare, prepare_test
from seqloom.data.records import Location
from seqloom.data.row_store import SourceFile
from seqloom.data.source import DataSource
from seqloom.data.split import TEST, TRAIN, VALID, split_by_content
from seqloom.data.tokenizers import Tokenizer
from seqloom.tasks.generation_task import SOURCE_FILE, TARGET_FILE
from seqloom.tasks.registry import experiment
from seqloom.tasks.translate.config import DATA_SPEC
from seqloom.tasks.translate.data import schema

Row = tuple[str, str]
ROWS: list[Row] = [(f"text number {i}", f"texte numéro {i}") for i in range(200)]
LONG: Row = ("learnt", "un " * 100 + "fin")


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))


def write_table(name: str, rows: list[Row]) -> str:
    Path(name).write_text("".join(f"{source}\t{target}\n" for source, target in rows))
    return name


def source_of(**data: Any) -> DataSource:
    config = experiment({"task": "translate", "data": {"train": "a.tsv", "vocabulary_size": 400, **data}})
    return DataSource.resolve(config.data, DATA_SPEC).hashed()


def prepare_data(**data: Any) -> Dataset:
    data_source = source_of(**data)
    return prepare(data_source, schema(data_source.data))


def dataset_of(rows: list[Row], **data: Any) -> Dataset:
    write_table("a.tsv", rows)
    return prepare_data(**data)


def source(data: Dataset) -> Tokenizer:
    return data.encoders[SOURCE_FILE]


def target(data: Dataset) -> Tokenizer:
    return data.encoders.get(TARGET_FILE, data.encoders[SOURCE_FILE])


def odd_pairs(data: Dataset, *names: str) -> tuple[int, str | None, int]:
    """The number of odd pairs, the location of the first, and the number of dropped pairs."""
    first = data.notes["odd_at"]
    location = None if first is None else str(Location(SourceFile(*first[0]).name(names), first[1]))
    return data.notes["odd"], location, data.notes["dropped"]


def decoded_rows(split: Split) -> list[Row]:
    """The rows of a split, as in the file."""
    return [(split.text("source_texts", row), split.text("target_texts", row)) for row in range(len(split))]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("tokenizer", ["bpe", "character"])
def test_every_row_is_in_one_split_and_decodes(shared: bool, tokenizer: str) -> None:
    data = dataset_of(ROWS, test_share=0.2, tokenizer=tokenizer, shared_vocabulary=shared)
    assert sorted(row for split in data.splits.values() for row in decoded_rows(split)) == sorted(ROWS)
    for split in data.splits.values():
        for row, (source_text, target_text) in enumerate(decoded_rows(split)):
            assert source(data).decode(split["source"][row].tolist()) == source_text
            assert target(data).decode(split["target"][row].tolist()) == target_text
            assert ROWS[split.line[row] - 1] == (source_text, target_text)
    assert (data.cut, data.skipped, *odd_pairs(data)) == (0, 0, 0, None, 0)


def test_the_vocabulary_is_shared_or_one_for_each_side() -> None:
    both = dataset_of(ROWS, tokenizer="character", shared_vocabulary=True)
    assert source(both) is target(both)
    assert {"x", "é", "b"} <= set(source(both).parameters.tokens)
    apart = dataset_of(ROWS, tokenizer="character", shared_vocabulary=False)
    assert "é" not in source(apart).parameters.tokens
    assert "b" not in target(apart).parameters.tokens


def test_the_tokenizers_are_trained_on_the_training_split_alone() -> None:
    text = next(text for i in range(10_000) if split_by_content(text := f"Ω {i}", 1, 0.1, 0.0) == VALID)
    data = dataset_of([*ROWS, (text, "Ψ")], tokenizer="character")
    assert not {"Ω", "Ψ"} & set(source(data).parameters.tokens)
    assert (text, "Ψ") in decoded_rows(data.splits[VALID])


def test_equal_sources_are_in_the_same_split() -> None:
    data = dataset_of([(source, f"{target} {n}") for source, target in ROWS for n in range(3)], test_share=0.2)
    split_sources = [{source for source, _ in decoded_rows(split)} for split in data.splits.values()]
    assert len(set.union(*split_sources)) == sum(map(len, split_sources)) == 200


def test_parallel_text_files_equal_a_table() -> None:
    table = dataset_of(ROWS, valid=write_table("v.tsv", ROWS[:9]))
    for name, rows in (("a", ROWS), ("v", ROWS[:9])):
        for ending, side in (("en", 0), ("fr", 1)):
            Path(f"{name}.{ending}").write_text("".join(row[side] + "\n" for row in rows))
    lines = prepare_data(train=["a.en", "a.fr"], valid=["v.en", "v.fr"])
    for split in (TRAIN, VALID):
        assert decoded_rows(lines.splits[split]) == decoded_rows(table.splits[split])
        assert np.array_equal(lines.splits[split]["target"].flat, table.splits[split]["target"].flat)
    assert [lines.splits[split].files[lines.splits[split].file[0]].number for split in (TRAIN, VALID)] == [0, 2]


def test_the_cache_key_contains_which_side_is_the_source() -> None:
    for name, text in (("a.en", "one"), ("a.fr", "un"), ("b.en", "two"), ("b.fr", "deux")):
        Path(name).write_text("".join(f"{text} {i}\n" for i in range(60)))
    first = prepare_data(train=["a.en", "a.fr", "b.fr", "b.en"])
    for old, new in (("b.en", "x"), ("b.fr", "b.en"), ("x", "b.fr")):
        Path(old).rename(new)
    second = prepare_data(train=["a.en", "a.fr", "b.en", "b.fr"])  # the same contents in the same order
    sources = [{source.split()[0] for source, _ in decoded_rows(data.splits[TRAIN])} for data in (first, second)]
    assert sources == [{"one", "two"}, {"one", "deux"}]


def test_both_sides_are_truncated_and_counted() -> None:
    data = dataset_of([*ROWS, ("one " * 30, "un " * 60), ("x", "a b c d e f g")], tokenizer="word", max_length=4)
    assert data.cut == 2
    assert (
        max(side.lengths().max() for split in data.splits.values() for side in (split["source"], split["target"])) == 4
    )
    assert any(source == ("one " * 30).strip() for split in data.splits.values() for source, _ in decoded_rows(split))


def test_odd_pairs_are_reported_and_kept() -> None:
    data = dataset_of([*ROWS, LONG, ("x " * 100, "y")], max_ratio=9, tokenizer="word")
    assert odd_pairs(data, "a.tsv") == (2, "a.tsv:201", 0)
    assert LONG in [row for split in data.splits.values() for row in decoded_rows(split)]
    Path("a.tsv").rename("b.tsv")
    again = prepare_data(train="b.tsv", max_ratio=9, tokenizer="word")
    assert odd_pairs(again, "b.tsv") == (2, "b.tsv:201", 0)


def test_odd_pairs_are_dropped_from_the_training_split_alone() -> None:
    write_table("v.tsv", [*ROWS[:5], LONG])
    data = dataset_of([*ROWS, LONG], valid="v.tsv", on_ratio="drop", max_ratio=9, tokenizer="word")
    assert odd_pairs(data, "a.tsv", "v.tsv") == (2, "a.tsv:201", 1)
    assert decoded_rows(data.splits[TRAIN]) == ROWS
    assert LONG in decoded_rows(data.splits[VALID])


def test_a_pair_at_the_maximum_ratio_is_not_odd() -> None:
    data = dataset_of([*ROWS, ("a", "b " * 9)], max_ratio=9, tokenizer="word")
    assert odd_pairs(data) == (0, None, 0)


def test_too_few_pairs_leave_the_validation_split_empty() -> None:
    rows = [row for row in ROWS if split_by_content(row[0], 1, 0.1, 0.0) == TRAIN][:8]
    with pytest.raises(DataError, match=r"^a\.tsv: no example is left for the valid split"):
        dataset_of(rows)


def test_bad_lines_are_counted_once() -> None:
    write_table("a.tsv", [*ROWS, ("alone", ""), ("", "seul")])
    assert prepare_data(on_bad_line="skip").skipped == 2
    with pytest.raises(DataError, match=r"^a\.tsv:201: the target is empty"):
        prepare_data()


@pytest.mark.parametrize("shared", [True, False])
def test_the_second_preparation_comes_from_the_cache(shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    first = dataset_of(ROWS, shared_vocabulary=shared)
    monkeypatch.setattr(module, "write_dataset", None)  # not called
    cached = prepare_data(shared_vocabulary=shared)
    assert [decoded_rows(split) for split in cached.splits.values()] == [
        decoded_rows(split) for split in first.splits.values()
    ]
    assert (source(cached) is target(cached)) == shared
    assert target(cached).parameters == target(first).parameters
    with pytest.raises(TypeError):
        prepare_data(shared_vocabulary=not shared)


@pytest.mark.parametrize("files", [["t.tsv"], ["t.en", "t.fr"]])
def test_test_files_are_encoded_with_the_tokenizers_of_the_run(files: list[str]) -> None:
    data = dataset_of(ROWS, shared_vocabulary=False)
    write_table("t.tsv", [("text 5", "texte 5"), LONG])
    Path("t.en").write_text("text 5\nlearnt\n")
    Path("t.fr").write_text(f"texte 5\n{LONG[1]}\n")
    config = experiment(
        {"task": "translate", "data": {"on_ratio": "drop", "max_ratio": 2, "shared_vocabulary": False}}
    ).data
    test = DataSource.for_testing(config, DATA_SPEC, files)
    encoded = prepare_test(test, schema(test.data), data.encoders, Path("out"))
    assert list(encoded.splits) == [TEST]
    assert decoded_rows(encoded.splits[TEST]) == [("text 5", "texte 5"), LONG]
    assert (source(encoded), target(encoded)) == (source(data), target(data))
    assert odd_pairs(encoded, *files) == (1, f"{files[0]}:2", 0)
    assert target(data).decode(encoded.splits[TEST]["target"][0].tolist()) == "texte 5"


def test_each_vocabulary_is_one_file() -> None:
    assert set(dataset_of(ROWS, shared_vocabulary=True).encoders) == {SOURCE_FILE}
    assert set(dataset_of(ROWS, shared_vocabulary=False).encoders) == {SOURCE_FILE, TARGET_FILE}


def test_the_embedded_numbers_are_split() -> None:
    data = prepare_data(train=(), examples=300, source_language="de", target_language="es", test_share=0.05)
    assert sum(map(len, data.splits.values())) == 300
    assert set(data.splits) == {TRAIN, VALID, TEST}
