"""Prepared examples: files are read once, a file that changes is refused, cached data are used again."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.problem import DataError
from seqloom.data import prepare as module
from seqloom.data import text_io
from seqloom.data.cache import cache_folder
from seqloom.data.prepare import (
    Dataset,
    SplitExamples,
    missing_from_train,
    never_in_train,
    prepare,
    prepare_test,
)
from seqloom.data.records import Location, Record
from seqloom.data.schema import Schema, TextColumn
from seqloom.data.source import DataSource
from seqloom.data.split import TEST, TRAIN, VALID, split_by_content
from seqloom.data.text_io import OnBadLine
from seqloom.data.text_stream import prepare_stream
from seqloom.tasks.classify import data as classify
from seqloom.tasks.language import task as language
from seqloom.tasks.registry import TASKS, experiment
from seqloom.tasks.tag import data as tag
from seqloom.tasks.translate import data as translate

PREPARE: dict[str, Callable[[DataSource], object]] = {
    "language": lambda source: prepare_stream(source, language.learner(source.data)),
    "classify": lambda source: prepare(source, classify.schema(source.data)),
    "tag": lambda source: prepare(source, tag.schema(source.data)),
    "translate": lambda source: prepare(source, translate.schema(source.data)),
}
CONTENT = {
    "language": ("a.txt", "".join(f"line {i}\n" for i in range(300))),
    "classify": ("a.tsv", "".join(f"text {i}\tlabel {i % 3}\n" for i in range(300))),
    "tag": ("a.conll", "".join(f"word{i}\tN\nsees\tV\n\n" for i in range(300))),
    "translate": ("a.tsv", "".join(f"text {i}\ttexte {i}\n" for i in range(300))),
}
COLUMNS: dict[str, dict[str, Any]] = {
    "classify": {"text": "1", "label": "2", "header": False},
    "translate": {"source": "1", "target": "2", "header": False},
}
words = st.text(st.characters(codec="utf-8"), max_size=8)
word_tuples, locations = st.lists(words).map(tuple), st.builds(Location, words, st.integers(1))
some_labeled, some_tagged = (
    st.builds(Record, st.tuples(words, word_tuples), locations),
    st.builds(Record, st.tuples(word_tuples, word_tuples), locations),
)


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))


def source(task: str, **data: Any) -> DataSource:
    name, content = CONTENT[task]
    Path(name).write_text(content)
    config = experiment({"task": task, "data": {"train": name, **COLUMNS.get(task, {}), **data}})
    return DataSource.resolve(config.data, TASKS[task].data_spec).hashed()


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The number of times that each file is read to its end."""
    read, counts = text_io._read_blocks, Counter[str]()

    def count_reads(path: Path) -> Iterator[bytes]:
        yield from read(path)
        counts[path.name] += 1

    monkeypatch.setattr(text_io, "_read_blocks", count_reads)
    return counts


# Reading --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["classify", "tag", "translate"])
def test_a_file_is_read_to_its_end_once(task: str, readings: Counter[str]) -> None:
    data_source = source(task, test_share=0.1)
    PREPARE[task](data_source)
    assert readings[CONTENT[task][0]] == 1 + (task != "tag")  # columns are found in the first 1,000 rows


def test_a_text_is_read_at_most_three_times(readings: Counter[str]) -> None:
    PREPARE["language"](source("language", test_share=0.1))
    assert readings["a.txt"] <= 3


@pytest.mark.parametrize("task", list(PREPARE))
def test_a_file_that_changes_while_it_is_read_is_refused(task: str) -> None:
    data_source = source(task)
    name, content = CONTENT[task]
    Path(name).write_text(content + content[: content.index("\n", 20) + 1])
    with pytest.raises(DataError, match=rf"^{name}: the file changed while it was being read\. Try again"):
        PREPARE[task](data_source)
    assert not [folder for folder in cache_folder().iterdir() if not folder.name.startswith(".")]


@pytest.mark.parametrize("task", list(PREPARE))
def test_a_file_with_the_same_content_is_unchanged(task: str) -> None:
    data_source = source(task)
    name, content = CONTENT[task]
    Path(name).write_text(content)
    PREPARE[task](data_source)
    assert not list(cache_folder().rglob("copy.jsonl"))


@given(st.lists(st.tuples(st.sampled_from([TRAIN, VALID, TEST]), some_labeled | some_tagged)))
def test_the_copy_of_examples_reads_back(
    tmp_path_factory: pytest.TempPathFactory, examples: list[tuple[str, Record]]
) -> None:
    folder = tmp_path_factory.mktemp("copy")
    for kind in (str, tuple):
        rows = [(split, example) for split, example in examples if isinstance(example.values[0], kind)]
        data_source = source("tag", valid_share=0.1)
        split_examples = SplitExamples(
            data_source,
            tag.schema(data_source.data),
            lambda on_bad_line, rows=rows: iter(rows),
            folder / "copy.jsonl",
        )  # type: ignore[misc]
        first = list(split_examples.read_files())
        assert [example for _, example in first] == [example for _, example in rows]
        for (split, example), (given_split, _) in zip(first, rows, strict=True):
            content = example.values[0] if kind is str else " ".join(example.values[0])
            assert split == (split_by_content(content, 1, 0.1, 0.0) if given_split == TRAIN else given_split)
        assert list(split_examples) == first


def labeled(*rows: tuple[str, str, Sequence[str]]) -> Iterator[tuple[str, Record]]:
    return (
        (split, Record((text, tuple(labels)), Location("a.tsv", 1 + i))) for i, (split, text, labels) in enumerate(rows)
    )


def texts_of_validation(count: int) -> list[str]:
    """Texts whose content is in the validation split."""
    return [text for i in range(1000) if split_by_content(text := f"text {i}", 1, 0.1, 0.0) == VALID][:count]


def test_answers_missing_from_train_move_there_with_equal_texts() -> None:
    data_source, (first, other) = source("classify", valid_share=0.1), texts_of_validation(2)
    rows = [(TRAIN, first, "a"), (TRAIN, first, "b"), (TRAIN, other, "b"), (TEST, first, "c")]
    examples = SplitExamples(
        data_source, classify.schema(data_source.data), lambda _: labeled(*rows), Path("copy.jsonl")
    )
    sizes, counts, single = examples.count()
    assert (sizes, single) == ({VALID: 3, TEST: 1}, True)
    assert counts == {"a": {VALID: 1}, "b": {VALID: 2}, "c": {TEST: 1}}
    assert [split for split, _ in examples] == [VALID, VALID, VALID, TEST]
    examples.moved = {first}
    assert [split for split, _ in examples] == [TRAIN, TRAIN, VALID, TRAIN]  # test has no file of its own
    examples.moved = set()
    examples.move_missing(counts)
    assert examples.moved == {first, other}
    assert [split for split, _ in examples] == [TRAIN] * 4
    assert examples.first_location("b") == Location("a.tsv", 2)
    examples.left_out = frozenset("b")
    assert [example.values[1] for _, example in examples] == [("a",), ("c",)]


def test_examples_of_own_files_are_never_moved() -> None:
    Path("v.tsv").write_text("text 1\tlabel 1\n")
    data_source, (first, _) = source("classify", valid="v.tsv", test_share=0.1), texts_of_validation(2)
    rows = [(TRAIN, "text", "a"), (VALID, first, "b"), (TEST, first, "b")]
    examples = SplitExamples(
        data_source, classify.schema(data_source.data), lambda _: labeled(*rows), Path("copy.jsonl")
    )
    _, counts, _ = examples.count()
    assert missing_from_train(data_source, counts) == {"b"}
    examples.move_missing(counts)
    assert [split for split, _ in examples][1:] == [VALID, TRAIN]


def test_answers_that_are_not_in_train_are_found() -> None:
    Path("v.tsv").write_text("text 1\tlabel 1\n")
    data_source = source("classify", valid="v.tsv", test_share=0.1)
    counts = {
        "learned": Counter({TRAIN: 1, VALID: 1}),
        "kept back": Counter({TEST: 2}),
        "both": Counter({VALID: 1, TEST: 1}),
        "of a file": Counter({VALID: 3}),
        "nowhere": Counter({TRAIN: 0, TEST: 0, VALID: 1}),  # as after a lookup
    }
    assert missing_from_train(data_source, counts) == {"kept back", "both"}
    assert never_in_train(data_source, counts) == ["of a file", "nowhere"]


# The cache ------------------------------------------------------------------------------------------------------------


def texts_by_split(data: Dataset) -> dict[str, list[str]]:
    return {name: [split.text("texts", row) for row in range(len(split))] for name, split in data.splits.items()}


def test_prepared_data_come_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    data_source = source("classify")
    schema = classify.schema(data_source.data)
    first = prepare(data_source, schema)
    monkeypatch.setattr(module, "write_dataset", None)  # not called
    again = prepare(source("classify"), schema)
    assert texts_by_split(again) == texts_by_split(first)
    assert (again.folder, again.cut, again.skipped, again.notes) == (
        first.folder,
        first.cut,
        first.skipped,
        first.notes,
    )
    for other in (
        lambda: prepare(source("classify", seed=2), schema),
        lambda: prepare(data_source, classify.schema(data_source.data.model_copy(update={"max_length": 3}))),
        lambda: prepare(data_source, schema, key={"images": "others"}),
    ):
        with pytest.raises(TypeError):
            other()


def test_examples_may_come_from_a_function() -> None:
    data_source = source("classify", valid_share=0.2)
    schema = Schema(columns=(TextColumn("texts", 0), TextColumn("more", 1)), learners={})

    def read(on_bad_line: OnBadLine) -> Iterator[tuple[str, Record]]:
        for i in range(40):
            yield TRAIN, Record((f"text {i}", "é"), Location("a.tsv", i + 1))
        on_bad_line(DataError("a.tsv:41", "no text", "Write one", code="no-text"))

    with pytest.raises(DataError, match=r"^a\.tsv:41: no text\."):
        prepare(data_source, schema, read, {"of": "memory"})
    assert not list(cache_folder().glob("[!.]*"))
    data = prepare(source("classify", valid_share=0.2, on_bad_line="skip"), schema, read, {"of": "memory"})
    assert sorted(text for texts in texts_by_split(data).values() for text in texts) == sorted(
        f"text {i}" for i in range(40)
    )
    assert (data.skipped, data.cut, data.notes, data.encoders) == (1, 0, {"single": False}, {})  # no answers
    for split in data.splits.values():
        for row in range(len(split)):
            assert split.text("texts", row) == f"text {split.line[row] - 1}"
            assert split.text("more", row) == "é"
            assert split.files[split.file[row]].name(["data/a.tsv"]) == "a.tsv"


def test_a_row_is_truncated_in_each_column_and_counted_once() -> None:
    data_source = source("classify")
    columns = (TextColumn("texts", 0, max_length=4), TextColumn("whole", 0), TextColumn("more", 1, max_length=4))
    schema = Schema(columns=columns, learners={})
    rows = [(TRAIN, "text text", ""), (TRAIN, "text", ""), (VALID, "texts", "")]
    examples = lambda _: ((split, Record((text, text), location)) for split, ((text, _), location) in labeled(*rows))  # noqa: E731
    data = prepare_test(data_source, schema, {}, Path("out"), examples)
    assert texts_by_split(data) == {TEST: ["text", "text", "text"]}
    split = data.splits[TEST]
    assert [split.text("whole", row) for row in range(3)] == ["text text", "text", "texts"]
    assert [split.text("more", row) for row in range(3)] == ["text", "text", "text"]
    assert data.cut == 2


def test_each_row_has_its_file_and_line() -> None:
    for name in ("pos", "neg"):
        Path("films", name).mkdir(parents=True)
        Path("films", name, "1.txt").write_text(name)
    Path("dev.csv").write_text("text,label\n" + "fine,pos\n" * 6)
    config = experiment({"task": "classify", "data": {"train": "films", "valid": "dev.csv"}})
    data_source = DataSource.resolve(config.data, TASKS["classify"].data_spec)
    schema = Schema(columns=(TextColumn("texts", 0),), learners={})
    locations = [("films/pos/1.txt", 1), ("films/neg/1.txt", 1), ("dev.csv", 7), ("films/pos/1.txt", 1)]
    records = [Record(("text",), Location(*location)) for location in locations]
    rows = zip((TRAIN, TRAIN, VALID, VALID), records, strict=True)
    meta = module.write_splits(data_source, schema, {}, rows, Path("out"))
    assert (meta.splits, meta.cut) == ([TRAIN, VALID], 0)
    names = {}
    for name, split in module.open_dataset(Path("out"), schema, {}, meta).splits.items():
        files = [split.files[file].name(["moved/films", "data/dev.csv"]) for file in split.file]
        names[name] = list(zip(files, split.line.tolist(), strict=True))
    assert names == {TRAIN: [("pos/1.txt", 1), ("neg/1.txt", 1)], VALID: [("dev.csv", 7), ("pos/1.txt", 1)]}


def test_test_data_are_one_split_without_a_copy_or_a_cache() -> None:
    train_data = PREPARE["classify"](source("classify"))
    assert isinstance(train_data, Dataset)
    before = sorted(cache_folder().iterdir())
    Path("t.tsv").write_text("text 9\tlabel 1\nfine\n")
    config = source("classify", on_bad_line="skip").data
    data_source = DataSource.for_testing(config, TASKS["classify"].data_spec, ["t.tsv"])
    data = prepare_test(data_source, classify.schema(config), train_data.encoders, Path("out"))
    assert (texts_by_split(data), data.skipped, data.folder) == ({TEST: ["text 9"]}, 1, Path("out"))
    assert sorted(cache_folder().iterdir()) == before
    assert not list(Path("out").rglob("copy.jsonl"))


def test_the_metadata_are_json() -> None:
    data = PREPARE["translate"](source("translate"))
    assert isinstance(data, Dataset)
    meta = json.loads((data.folder / "meta.json").read_text())
    assert meta["splits"] == [TRAIN, VALID]
