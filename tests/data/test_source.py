"""The source of examples: files by split, or a corpus; and the key of the cache."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from seqloom.core.problem import DataError, UserError
from seqloom.data import source as module
from seqloom.data.source import DataSource
from seqloom.data.split import TEST, TRAIN, VALID
from seqloom.data.text_io import OnBadLine, SkipBadLines, raise_error
from seqloom.tasks.registry import TASKS, experiment

CSV = "text,label\ngood film,pos\nbad film,neg\n"


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def resolve(task: str, seed: int = 1, **data: Any) -> DataSource:
    section = experiment({"task": task, "data": {"seed": seed, **data}}).data
    return DataSource.resolve(section, TASKS[task].data_spec)


def for_testing(task: str, files: Sequence[str], **data: Any) -> DataSource:
    section = experiment({"task": task, "data": data}).data
    return DataSource.for_testing(section, TASKS[task].data_spec, files)


def key(task: str, seed: int = 1, **data: Any) -> dict[str, object]:
    return resolve(task, seed, **data).hashed().cache_key()


def values(source: DataSource, split: str = TRAIN, on_bad_line: OnBadLine = raise_error) -> list[tuple[Any, ...]]:
    """The values of the examples, all of which are in this split."""
    examples = list(source.examples(on_bad_line))
    assert {example_split for example_split, _ in examples} == {split}
    return [example.values for _, example in examples]


def test_each_split_has_its_files() -> None:
    for name in ("a.txt", "b.txt", "v.txt"):
        Path(name).write_text(f"{name} says\n")
    source = resolve("language", train=["[ab].txt"], valid="v.txt")
    assert source.names() == ["a.txt", "b.txt", "v.txt"]
    assert [source.has(split) for split in (TRAIN, VALID, TEST)] == [True, True, False]
    assert "".join(source.text(VALID)) == "v.txt says\n"
    assert source.corpus is None


def test_without_files_the_corpus_of_the_task_is_used() -> None:
    for task, corpus in (("language", "python"), ("classify", "numbers"), ("tag", "python"), ("translate", "numbers")):
        source = resolve(task)
        assert source.corpus == corpus == source.names()[0]
        assert source.has(TRAIN)


def test_a_corpus_without_the_task_names_one_with_it() -> None:
    with pytest.raises(
        UserError,
        match=r"^data\.corpus is brackets, which is not a corpus for classify \(only for language, tag\)\. Use numbers",
    ):
        resolve("classify", corpus="brackets")


def test_a_corpus_can_be_read_again() -> None:
    source = resolve("tag", corpus="copy", examples=10, corpus_length=3)
    assert list(source.examples()) == list(source.examples())
    assert len(values(source)) == 10


def test_a_file_that_the_task_can_not_read_is_refused_at_once() -> None:
    Path("a.csv").write_text(CSV)
    with pytest.raises(DataError, match=r"a\.csv: a csv file, and tag reads"):
        resolve("tag", train="a.csv")
    with pytest.raises(DataError, match="no such file"):
        resolve("classify", train="a.cvs")
    with pytest.raises(DataError, match=r"a\.csv: a csv file"):
        for_testing("tag", ["a.csv"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", CSV),
        ("a.tsv", CSV.replace(",", "\t")),
        ("a.jsonl", '{"text": "good film", "label": "pos"}\n{"text": "bad film", "label": "neg"}\n'),
    ],
)
def test_labeled_files_of_every_format_are_read(name: str, content: str) -> None:
    Path(name).write_text(content)
    source = resolve("classify", train=name)
    assert values(source) == [("good film", ("pos",)), ("bad film", ("neg",))]
    assert source.columns is not None


@pytest.mark.parametrize(
    ("names", "content"),
    [
        (["a.tsv"], ["en\tfr\ngood film\tbon film\nbad film\tmauvais film\n"]),
        (["a.en", "a.fr"], ["good film\nbad film\n", "bon film\nmauvais film\n"]),
        (["a.jsonl"], ['{"src": "good film", "tgt": "bon film"}\n{"src": "bad film", "tgt": "mauvais film"}\n']),
    ],
)
def test_pairs_of_every_format_are_read(names: list[str], content: list[str]) -> None:
    for name, text in zip(names, content, strict=True):
        Path(name).write_text(text)
    pairs = [("good film", "bon film"), ("bad film", "mauvais film")]
    source = resolve("translate", train=names)
    assert values(source) == pairs
    assert values(for_testing("translate", names), TEST) == pairs
    assert (source.columns is None) == (len(names) == 2)


def test_columns_of_captions_are_found() -> None:
    Path("a.csv").write_text("caption,file\na dog,1.jpg\n")
    source = resolve("caption", train="a.csv")
    assert values(source) == [("1.jpg", "a dog")]
    assert source.columns is not None
    assert source.columns.describe().startswith("image: 'file', caption: 'caption'")


def test_pairs_have_the_languages_of_the_config() -> None:
    source = resolve("translate", source_language="de", target_language="en", examples=200, corpus_length=1)
    assert ("drei", "three") in values(source)


def test_a_folder_has_no_columns() -> None:
    for name in ("pos", "neg"):
        (Path("films") / name).mkdir(parents=True)
        (Path("films") / name / "1.txt").write_text(f"a {name} film")
    source = resolve("classify", train="films")
    assert source.columns is None
    assert [labels for _, labels in values(source)] == [("neg",), ("pos",)]


def test_bad_lines_are_refused_or_skipped_by_the_config() -> None:
    Path("a.csv").write_text(CSV)
    assert resolve("classify", train="a.csv").on_bad_line() is raise_error
    assert isinstance(resolve("classify", train="a.csv", on_bad_line="skip").on_bad_line(), SkipBadLines)


def test_a_source_for_testing_has_only_its_files() -> None:
    Path("a.csv").write_text(CSV)
    Path("b.csv").write_text(CSV + "fine,pos\n")
    for data in ({}, {"train": "b.csv", "valid": "b.csv", "test": "b.csv"}, {"corpus": "numbers"}):
        source = for_testing("classify", ["a.csv"], **data)
        assert [source.has(split) for split in (TRAIN, VALID, TEST)] == [False, False, True]
        assert source.names() == ["a.csv"]
        assert len(values(source, TEST)) == 2


def test_local_has_paths_and_hashes_of_the_files() -> None:
    Path("a.csv").write_text(CSV)
    code = hashlib.sha256(CSV.encode()).hexdigest()
    assert resolve("classify", train="a.csv").hashed().local() == {
        "corpus": None,
        "files": {
            "train": [{"path": str(Path("a.csv").absolute()), "sha256": code}],
            "valid": [],
            "test": [],
        },
    }


# The key of the cache: everything that determines the data, nothing else ----------------------------------------------


def test_a_renamed_file_is_the_same_data() -> None:
    Path("a.csv").write_text(CSV)
    Path("b.csv").write_text(CSV)
    assert key("classify", train="a.csv") == key("classify", train="b.csv")


def test_found_columns_and_named_columns_have_the_same_key() -> None:
    Path("a.csv").write_text(CSV)
    assert key("classify", train="a.csv") == key("classify", train="a.csv", text="text", label="label", header=True)


def test_a_name_that_changes_the_format_changes_the_key() -> None:
    for name in ("a.csv", "a.tsv"):
        Path(name).write_text(CSV.replace(",", ",\t"))  # two columns in either format
    columns = {"text": 1, "label": 2, "header": False}
    assert key("classify", train="a.csv", **columns) != key("classify", train="a.tsv", **columns)


def test_the_name_of_a_class_file_changes_the_key() -> None:
    for name in ("pos.txt", "neg.txt", "great.txt"):
        Path(name).write_text("a film\n" if name != "neg.txt" else "no film\n")
    first, other = (resolve("classify", train=[name, "neg.txt"]).hashed() for name in ("pos.txt", "great.txt"))
    assert first.hashes == other.hashes
    assert first.cache_key() != other.cache_key()


def test_the_key_depends_on_everything_that_is_read() -> None:
    Path("a.csv").write_text(CSV)
    Path("b.csv").write_text(CSV + "fine,pos\n")
    keys = [
        key("classify", train="a.csv"),
        key("classify", train="b.csv"),
        key("classify", train=["a.csv", "b.csv"]),
        key("classify", train="a.csv", valid="b.csv"),
        key("classify", seed=2, train="a.csv"),
        key("classify", train="a.csv", max_length=3),
        key("classify", train="a.csv", tokenizer="character"),
        key("classify", train="a.csv", text="label", label="text"),
        key("classify", corpus="numbers"),
        key("classify", corpus="numbers", corpus_length=2),
        key("classify", corpus="numbers", languages="en,fr"),
    ]
    assert len({str(input) for input in keys}) == len(keys)


def test_the_key_depends_on_the_seed_where_it_is_used() -> None:
    for name in ("a.csv", "b.csv", "c.csv", "a.txt"):
        Path(name).write_text(CSV.replace("film", f"film in {name}"))

    def differs(task: str, **data: Any) -> bool:
        return key(task, seed=1, **data) != key(task, seed=2, **data)

    assert differs("classify", train="a.csv")
    assert differs("classify", train="a.csv", valid="b.csv", test_share=0.1)
    assert differs("language", corpus="brackets")
    assert differs("classify", corpus="numbers")
    assert not differs("language", train="a.txt", test_share=0.1)
    assert not differs("classify", train="a.csv", valid="b.csv")
    assert not differs("classify", train="a.csv", valid="b.csv", test="c.csv")


def test_numbers_have_the_languages_of_the_config() -> None:
    source = resolve("classify", languages=["de", "th"], examples=50)
    assert {labels for _, labels in values(source)} == {("de",), ("th",)}


@pytest.mark.parametrize("max_characters", [20, 2_000_000])
def test_a_bad_line_of_a_class_file_is_refused_or_skipped(max_characters: int) -> None:
    long = "x" * 1_000_001
    Path("pos.txt").write_bytes(b"caf\xe9\na fine film\n" + long.encode() + b"\n")
    Path("neg.txt").write_text("a bad film\n")
    source = resolve("classify", train=["pos.txt", "neg.txt"], on_bad_line="skip", max_characters=max_characters)
    texts = [text for text, _ in values(source, on_bad_line=source.on_bad_line())]
    assert texts == ["a fine film", *([long] if max_characters > 20 else []), "a bad film"]
    refusing = resolve("classify", train=["pos.txt", "neg.txt"])
    with pytest.raises(DataError, match=r"^pos\.txt:1: the byte 0xE9 is not UTF-8"):
        values(refusing, on_bad_line=refusing.on_bad_line())


def test_a_class_file_without_a_valid_line_is_not_a_table() -> None:
    Path("pos.txt").write_bytes(b"caf\xe9\n")
    Path("neg.txt").write_text("a bad film\n")
    source = resolve("classify", train=["pos.txt", "neg.txt"], on_bad_line="skip")
    assert [text for text, _ in values(source, on_bad_line=source.on_bad_line())] == ["a bad film"]


def test_a_file_in_two_splits_is_refused_under_any_name() -> None:
    """A score on training data is no score."""
    Path("a.txt").write_text("one text\n")
    Path("b.txt").write_text("one text\n")
    with pytest.raises(DataError, match=r"b\.txt: the same content as a\.txt, which is in the train split\."):
        resolve("language", train=["a.txt"], valid="b.txt").hashed()


# Resolution: once, with a list of all problems ----------------------------------------------------------------------


def test_all_tables_have_the_columns_of_the_first() -> None:
    Path("a.csv").write_text("stars,review\n" + "1,a fine film\n0,a poor film\n" * 5)
    Path("b.csv").write_text("stars,review\na,b\n")
    source = resolve("classify", train=["a.csv", "b.csv"], test="a.csv")
    assert [input.columns and input.columns.indices for input in source.inputs] == [(1, 0)] * 3
    columns = source.data.model_dump(include={"text", "label", "header"})
    assert columns == {"text": "review", "label": "stars", "header": True}
    Path("c.csv").write_text("review\na\n")
    with pytest.raises(DataError, match=r"^c\.csv: there is only one column"):
        resolve("classify", train=["a.csv", "c.csv"])


def test_tables_come_before_parallel_text() -> None:
    Path("a.en").write_text("one\n")
    Path("a.de").write_text("eins\n")
    Path("b.tsv").write_text("two\tzwei\nthree\tdrei\n")
    source = resolve("translate", train=["a.en", "b.tsv", "a.de"])
    assert [(*example.values, str(example.location)) for _, example in source.examples()] == [
        ("two", "zwei", "b.tsv:1"),
        ("three", "drei", "b.tsv:2"),
        ("one", "eins", "a.en:1"),
    ]


def test_a_file_named_twice_is_read_once() -> None:
    Path("a.csv").write_text(CSV)
    source = resolve("classify", train=["a.csv", "*.csv", str(Path("a.csv").absolute())])
    assert source.names() == ["a.csv"]
    assert len(values(source)) == 2


def test_all_problems_are_reported_and_the_rest_is_read() -> None:
    Path("a.csv").write_text(CSV)
    Path("b.csv").write_text("only\n")
    Path("c.conllu").write_text("x\n")
    Path("d.csv").write_text("text,label\n,\n")
    problems: list[UserError] = []
    section = experiment({"task": "classify", "data": {"train": ["*.csv", "c.conllu", "e.csv"]}}).data
    source = DataSource.resolve(section, TASKS["classify"].data_spec, problems.append)
    assert [str(problem).partition(".")[0] for problem in problems] == ["e", "c", "b"]
    examples = [example.values for _, example in source.examples(SkipBadLines(), problems.append)]
    assert examples == [("good film", ("pos",)), ("bad film", ("neg",))]
    assert [str(problem) for problem in problems[3:]] == [
        "d.csv: there is no row that can be read. Name a file with a text and its label in each row."
    ]


def test_a_text_file_that_is_no_class_is_a_problem() -> None:
    for name in ("pos.txt", "train.txt"):
        Path(name).write_text("a film\n")
    problems: list[UserError] = []
    section = experiment({"task": "classify", "data": {"train": ["pos.txt", "train.txt"]}}).data
    source = DataSource.resolve(section, TASKS["classify"].data_spec, problems.append)
    [problem] = problems
    assert str(problem).startswith("train.txt: several .txt files are read as one file per class, and this is not")
    assert values(source) == [("a film", ("pos",))]


def test_the_split_of_an_example_is_by_file_or_by_content() -> None:
    Path("a.csv").write_text(CSV)
    Path("b.csv").write_text(CSV + "fine,pos\n")
    shared = resolve("classify", train="a.csv", valid_share=0.3, test_share=0.3)
    assert [shared.share(split) for split in (VALID, TEST)] == [0.3, 0.3]
    texts = [f"text {number}" for number in range(100)]
    assert {shared.split_of(text, TRAIN) for text in texts} == {TRAIN, VALID, TEST}
    assert {shared.split_of(text, TEST) for text in texts} == {TEST}
    own = resolve("classify", train="a.csv", valid="b.csv")
    assert [own.share(split) for split in (VALID, TEST)] == [0, 0]
    assert {own.split_of(text, TRAIN) for text in texts} == {TRAIN}


def test_the_first_examples_are_valid_rows_of_train() -> None:
    Path("a.csv").write_text(CSV + "worse,\n")
    Path("b.csv").write_text("text,label\nother,pos\n")
    source = resolve("classify", train="a.csv", valid="b.csv", on_bad_line="skip")
    assert [example.values for example in source.first_examples()] == [("good film", ("pos",)), ("bad film", ("neg",))]
    assert len(list(resolve("classify", corpus="numbers").first_examples())) == module.HEAD_RECORDS


def test_a_file_that_changes_after_it_was_hashed_is_refused() -> None:
    Path("a.csv").write_text(CSV)
    source = resolve("classify", train="a.csv").hashed()
    source.check_unchanged()
    Path("a.csv").write_text(CSV)  # the same content again
    source.check_unchanged()
    Path("a.csv").write_text(CSV + "fine,pos\n")
    with pytest.raises(DataError, match=r"^a\.csv: the file changed while it was being read\. Try again once it is"):
        source.check_unchanged()
