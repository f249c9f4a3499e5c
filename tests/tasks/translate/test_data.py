"""Pairs made ready: nothing lost, no source on both sides of a split, one vocabulary or two."""

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
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))


def saved(name: str, rows: list[Row]) -> str:
    Path(name).write_text("".join(f"{source}\t{target}\n" for source, target in rows))
    return name


def source_of(**data: Any) -> DataSource:
    chosen = experiment({"task": "translate", "data": {"train": "a.tsv", "vocabulary_size": 400, **data}})
    return DataSource.resolve(chosen.data, DATA_SPEC).hashed()


def prepared(**data: Any) -> Dataset:
    found = source_of(**data)
    return prepare(found, schema(found.data))


def made(rows: list[Row], **data: Any) -> Dataset:
    saved("a.tsv", rows)
    return prepared(**data)


def source(data: Dataset) -> Tokenizer:
    return data.encoders[SOURCE_FILE]


def target(data: Dataset) -> Tokenizer:
    return data.encoders.get(TARGET_FILE, data.encoders[SOURCE_FILE])


def odd(data: Dataset, *names: str) -> tuple[int, str | None, int]:
    """How many pairs are odd, where the first stands, and how many are dropped."""
    at = data.notes["odd_at"]
    place = None if at is None else str(Location(SourceFile(*at[0]).name(names), at[1]))
    return data.notes["odd"], place, data.notes["dropped"]


def told(part: Split) -> list[Row]:
    """The rows of a split as they were."""
    return [(part.text("source_texts", row), part.text("target_texts", row)) for row in range(len(part))]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("tokenizer", ["bpe", "character"])
def test_every_row_is_in_one_part_and_decodes(shared: bool, tokenizer: str) -> None:
    data = made(ROWS, test_share=0.2, tokenizer=tokenizer, shared_vocabulary=shared)
    assert sorted(row for part in data.splits.values() for row in told(part)) == sorted(ROWS)
    for part in data.splits.values():
        for row, (one, other) in enumerate(told(part)):
            assert source(data).decode(part["source"][row].tolist()) == one
            assert target(data).decode(part["target"][row].tolist()) == other
            assert ROWS[part.line[row] - 1] == (one, other)
    assert (data.cut, data.skipped, *odd(data)) == (0, 0, 0, None, 0)


def test_one_vocabulary_for_both_sides_or_one_each() -> None:
    both = made(ROWS, tokenizer="character", shared_vocabulary=True)
    assert source(both) is target(both)
    assert {"x", "é", "b"} <= set(source(both).parameters.tokens)
    apart = made(ROWS, tokenizer="character", shared_vocabulary=False)
    assert "é" not in source(apart).parameters.tokens
    assert "b" not in target(apart).parameters.tokens


def test_the_tokenizers_learn_from_the_training_part_alone() -> None:
    text = next(text for i in range(10_000) if split_by_content(text := f"Ω {i}", 1, 0.1, 0.0) == VALID)
    data = made([*ROWS, (text, "Ψ")], tokenizer="character")
    assert not {"Ω", "Ψ"} & set(source(data).parameters.tokens)
    assert (text, "Ψ") in told(data.splits[VALID])


def test_a_source_never_straddles() -> None:
    data = made([(source, f"{target} {n}") for source, target in ROWS for n in range(3)], test_share=0.2)
    parts = [{source for source, _ in told(part)} for part in data.splits.values()]
    assert len(set.union(*parts)) == sum(map(len, parts)) == 200


def test_files_line_by_line_are_as_a_table() -> None:
    table = made(ROWS, valid=saved("v.tsv", ROWS[:9]))
    for name, rows in (("a", ROWS), ("v", ROWS[:9])):
        for ending, side in (("en", 0), ("fr", 1)):
            Path(f"{name}.{ending}").write_text("".join(row[side] + "\n" for row in rows))
    lines = prepared(train=["a.en", "a.fr"], valid=["v.en", "v.fr"])
    for part in (TRAIN, VALID):
        assert told(lines.splits[part]) == told(table.splits[part])
        assert np.array_equal(lines.splits[part]["target"].flat, table.splits[part]["target"].flat)
    assert [lines.splits[part].files[lines.splits[part].file[0]].number for part in (TRAIN, VALID)] == [0, 2]


def test_which_side_is_the_source_is_told_to_the_cache() -> None:
    for name, text in (("a.en", "one"), ("a.fr", "un"), ("b.en", "two"), ("b.fr", "deux")):
        Path(name).write_text("".join(f"{text} {i}\n" for i in range(60)))
    first = prepared(train=["a.en", "a.fr", "b.fr", "b.en"])
    for one, other in (("b.en", "x"), ("b.fr", "b.en"), ("x", "b.fr")):
        Path(one).rename(other)
    second = prepared(train=["a.en", "a.fr", "b.en", "b.fr"])  # the same contents in the same order
    sources = [{source.split()[0] for source, _ in told(data.splits[TRAIN])} for data in (first, second)]
    assert sources == [{"one", "two"}, {"one", "deux"}]


def test_both_sides_are_cut_and_counted() -> None:
    data = made([*ROWS, ("one " * 30, "un " * 60), ("x", "a b c d e f g")], tokenizer="word", max_length=4)
    assert data.cut == 2
    assert max(side.lengths().max() for part in data.splits.values() for side in (part["source"], part["target"])) == 4
    assert any(source == ("one " * 30).strip() for part in data.splits.values() for source, _ in told(part))


def test_odd_pairs_are_reported_and_kept() -> None:
    data = made([*ROWS, LONG, ("x " * 100, "y")], max_ratio=9, tokenizer="word")
    assert odd(data, "a.tsv") == (2, "a.tsv:201", 0)
    assert LONG in [row for part in data.splits.values() for row in told(part)]
    Path("a.tsv").rename("b.tsv")
    again = prepared(train="b.tsv", max_ratio=9, tokenizer="word")
    assert odd(again, "b.tsv") == (2, "b.tsv:201", 0)


def test_odd_pairs_are_dropped_from_training_alone() -> None:
    saved("v.tsv", [*ROWS[:5], LONG])
    data = made([*ROWS, LONG], valid="v.tsv", on_ratio="drop", max_ratio=9, tokenizer="word")
    assert odd(data, "a.tsv", "v.tsv") == (2, "a.tsv:201", 1)
    assert told(data.splits[TRAIN]) == ROWS
    assert LONG in told(data.splits[VALID])


def test_a_ratio_that_is_just_allowed() -> None:
    data = made([*ROWS, ("a", "b " * 9)], max_ratio=9, tokenizer="word")
    assert odd(data) == (0, None, 0)


def test_nothing_may_be_left_to_choose_by() -> None:
    rows = [row for row in ROWS if split_by_content(row[0], 1, 0.1, 0.0) == TRAIN][:8]
    with pytest.raises(DataError, match=r"^a\.tsv: no example is left for the valid split"):
        made(rows)


def test_bad_lines_are_counted_once() -> None:
    saved("a.tsv", [*ROWS, ("alone", ""), ("", "seul")])
    assert prepared(on_bad_line="skip").skipped == 2
    with pytest.raises(DataError, match=r"^a\.tsv:201: the target is empty"):
        prepared()


@pytest.mark.parametrize("shared", [True, False])
def test_the_second_time_comes_from_the_cache(shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    first = made(ROWS, shared_vocabulary=shared)
    monkeypatch.setattr(module, "write_dataset", None)  # not called
    again = prepared(shared_vocabulary=shared)
    assert [told(part) for part in again.splits.values()] == [told(part) for part in first.splits.values()]
    assert (source(again) is target(again)) == shared
    assert target(again).parameters == target(first).parameters
    with pytest.raises(TypeError):
        prepared(shared_vocabulary=not shared)


@pytest.mark.parametrize("files", [["t.tsv"], ["t.en", "t.fr"]])
def test_files_to_test_on_are_told_in_the_runs_tokens(files: list[str]) -> None:
    data = made(ROWS, shared_vocabulary=False)
    saved("t.tsv", [("text 5", "texte 5"), LONG])
    Path("t.en").write_text("text 5\nlearnt\n")
    Path("t.fr").write_text(f"texte 5\n{LONG[1]}\n")
    asked = experiment(
        {"task": "translate", "data": {"on_ratio": "drop", "max_ratio": 2, "shared_vocabulary": False}}
    ).data
    test = DataSource.for_testing(asked, DATA_SPEC, files)
    read = prepare_test(test, schema(test.data), data.encoders, Path("out"))
    assert list(read.splits) == [TEST]
    assert told(read.splits[TEST]) == [("text 5", "texte 5"), LONG]
    assert (source(read), target(read)) == (source(data), target(data))
    assert odd(read, *files) == (1, f"{files[0]}:2", 0)
    assert target(data).decode(read.splits[TEST]["target"][0].tolist()) == "texte 5"


def test_a_vocabulary_is_a_file() -> None:
    assert set(made(ROWS, shared_vocabulary=True).encoders) == {SOURCE_FILE}
    assert set(made(ROWS, shared_vocabulary=False).encoders) == {SOURCE_FILE, TARGET_FILE}


def test_the_embedded_numbers() -> None:
    data = prepared(train=(), examples=300, source_language="de", target_language="es", test_share=0.05)
    assert sum(map(len, data.splits.values())) == 300
    assert set(data.splits) == {TRAIN, VALID, TEST}
