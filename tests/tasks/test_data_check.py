"""`check_data` finds an error exactly if training refuses the data; the check of rows of any task."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seqloom.core.problem import UserError
from seqloom.data.inspection.findings import Inspection
from seqloom.data.prepare import write_dataset
from seqloom.data.source import DataSource
from seqloom.data.text_stream import write_streams
from seqloom.tasks.classify import data as classify
from seqloom.tasks.data_check import check_data, check_rows
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.language import task as language
from seqloom.tasks.registry import TASKS, TaskEntry, experiment
from seqloom.tasks.tag import data as tag
from seqloom.tasks.translate import data as translate
from tests.tasks.checks import names, only, says, write

SCHEMAS = {"classify": classify.schema, "tag": tag.schema, "translate": translate.schema}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("refusals")


def training_error(config: Experiment, folder: Path) -> str | None:
    """The error message of training, as the tasks read their data; None without an error."""
    out = folder / "ready"
    out.mkdir(exist_ok=True)
    try:
        source = DataSource.resolve(config.data, TASKS[config.task].data_spec).hashed()
        if config.task == "language":
            write_streams(source, language.learner(source.data), out)
        else:
            write_dataset(source, SCHEMAS[config.task](source.data), source.examples, out)
    except UserError as error:
        return str(error)
    return None


def assert_agree(config: Experiment, folder: Path) -> None:
    error, inspection = training_error(config, folder), check_data(config)
    lines = list(inspection.lines())
    assert inspection.ok == (error is None), (error, lines)
    if error and "(and " not in error:  # the messages differ if several labels are refused together
        locations = [
            location for finding in inspection.findings if finding.kind == "error" for location in finding.locations
        ]
        assert not locations or any(error.startswith(location) for location in locations), (error, lines)


rows = st.one_of(
    st.tuples(st.sampled_from(["a", "b c", "d e f", "", "g"]), st.sampled_from(["x", "x", "y", "y", "z"])).map(
        "\t".join
    ),
    st.sampled_from(["one field", "a\tb\tc", "a\t"]),
)
good_rows = st.tuples(st.text("abcdefgh", max_size=3), st.sampled_from(["x", "y", "y", "z"])).map("\t".join)
tables = st.one_of(st.lists(rows, max_size=12), st.lists(good_rows, min_size=8, max_size=30)).map("\n".join)
BAD_LINES = st.sampled_from(["refuse", "skip"])


@given(
    train=tables,
    valid=st.none() | tables,
    test=st.none() | tables,
    on_bad_line=BAD_LINES,
    on_rare_label=st.sampled_from(["refuse", "skip", "keep"]),
    test_share=st.sampled_from([0.0, 0.3]),
)
@example(train="a\tx", valid=None, test=None, on_bad_line="refuse", on_rare_label="skip", test_share=0.0)
def test_tables_of_texts_with_labels(
    folder: Path,
    train: str,
    valid: str | None,
    test: str | None,
    on_bad_line: str,
    on_rare_label: str,
    test_share: float,
) -> None:
    data: dict[str, object] = {"text": "1", "label": "2", "header": False}
    data |= {"on_bad_line": on_bad_line, "on_rare_label": on_rare_label}
    data |= {"valid_share": 0.3} if valid is None else {}
    data |= {"test_share": test_share} if test is None else {}
    for split, text in (("train", train), ("valid", valid), ("test", test)):
        if text is not None:
            data[split] = write(folder / f"{split}.tsv", text)
    assert_agree(experiment({"task": "classify", "data": data}), folder)


words = st.sampled_from(["go A", "on B", "stop A", "there B", "x C", "bad", "bad row here", "", "", ""])
texts_of_words = st.one_of(st.lists(words, max_size=15), st.lists(st.sampled_from(["go A", "on B", "it C", ""]))).map(
    "\n".join
)


@given(train=texts_of_words, valid=st.none() | texts_of_words, on_bad_line=BAD_LINES)
def test_tagged_words(folder: Path, train: str, valid: str | None, on_bad_line: str) -> None:
    data: dict[str, object] = {"on_bad_line": on_bad_line, "train": write(folder / "train.conll", train)}
    if valid is not None:
        data["valid"] = write(folder / "valid.conll", valid)
    assert_agree(experiment({"task": "tag", "data": data}), folder)


streams_of_text = st.one_of(st.text("a\nb ", max_size=40).map(str.encode), st.binary(max_size=30))


@given(
    train=st.lists(streams_of_text, min_size=1, max_size=2),
    valid=st.none() | streams_of_text,
    tokenizer=st.sampled_from(["character", "byte", "word"]),
)
def test_text(folder: Path, train: list[bytes], valid: bytes | None, tokenizer: str) -> None:
    data: dict[str, object] = {"tokenizer": tokenizer}
    data["train"] = [write(folder / f"train{number}.txt", text) for number, text in enumerate(train)]
    if valid is not None:
        data["valid"] = write(folder / "valid.txt", valid)
    assert_agree(experiment({"task": "language", "data": data}), folder)


sides = st.sampled_from([b"one", b"two three", b"four", b"", b" ", b"caf\xe9", b"a\tb"])
many = st.lists(st.sampled_from([b"a", b"b", b"c d", b"e", b"f g h", b"i", b"j", b"k"]), min_size=9, max_size=12)
one_side = st.one_of(st.lists(sides, max_size=6), many).map(b"\n".join)
two_sides = st.one_of(st.tuples(one_side, one_side), many.map(lambda lines: (b"\n".join(lines),) * 2))


@given(train=two_sides, valid=st.none() | two_sides, on_bad_line=BAD_LINES)
def test_parallel_text_files(
    folder: Path, train: tuple[bytes, bytes], valid: tuple[bytes, bytes] | None, on_bad_line: str
) -> None:
    data: dict[str, object] = {"on_bad_line": on_bad_line, "tokenizer": "character"}
    data |= {"valid_share": 0.3} if valid is None else {}
    for split, texts in (("train", train), ("valid", valid)):
        if texts is not None:
            data[split] = [
                write(folder / f"{split}.{language_}", text)
                for language_, text in zip(("en", "fr"), texts, strict=True)
            ]
    assert_agree(experiment({"task": "translate", "data": data}), folder)


@given(train=tables, valid=st.none() | tables, on_bad_line=BAD_LINES)
def test_tables_of_pairs(folder: Path, train: str, valid: str | None, on_bad_line: str) -> None:
    data: dict[str, object] = {"on_bad_line": on_bad_line, "tokenizer": "character"}
    data |= {"valid_share": 0.3} if valid is None else {}
    for split, text in (("train", train), ("valid", valid)):
        if text is not None:
            data[split] = write(folder / f"{split}.tsv", text)
    assert_agree(experiment({"task": "translate", "data": data}), folder)


# The rows of any task --------------------------------------------------------------------------------------------

CLEAN = "".join(f"the text of number {number}\tle texte du numéro {number}\n" for number in range(60))


def inspect_rows(**data: object) -> Inspection:
    """The inspection of a task without its own check."""
    inspection = Inspection("translate")
    section = experiment({"task": "translate", "data": {**data, "on_bad_line": "skip"}}).data
    source = DataSource.resolve(section, TASKS["translate"].data_spec, inspection.add_error)
    check_rows(source, inspection)
    return inspection


def test_built_in_tasks_have_their_own_check_and_others_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {name: getattr(entry.check, "__self__", entry.check).__module__ for name, entry in TASKS.items()}
    assert own.pop("language") == "seqloom.tasks.text_check"
    assert all(own[name] == f"seqloom.tasks.{name}.check" for name in ("classify", "tag", "translate", "caption"))
    monkeypatch.setattr(TaskEntry, "data_spec", TASKS["translate"].data_spec)
    assert TaskEntry("seqloom.tasks.metrics", "a folder without a check").check is check_rows


def test_clean_data_have_no_findings(tmp_path: Path) -> None:
    inspection = inspect_rows(train=write(tmp_path / "t.tsv", CLEAN))
    assert inspection.findings == []
    summary = dict(inspection.summary)
    assert summary["valid"].endswith("(10% of the training files, selected by a hash of the content)")
    assert sum(int(summary[split].split()[0]) for split in ("train", "valid")) == 60
    assert summary["source"] == summary["target"] == "median 5, 95th percentile 5, 99th 5, longest 5 words"


def test_repeats_overlap_and_texts(tmp_path: Path) -> None:
    again = "the text of number 7\tle texte du numéro sept\n"
    train = write(tmp_path / "t.tsv", CLEAN + again + "broken \ufffd\t" + "mot " * 30 + "\n")
    valid = write(tmp_path / "v.tsv", again + "something else\tautre chose\n")
    inspection = inspect_rows(train=train, valid=valid, max_length=20, tokenizer="word")
    assert names(only(inspection, "1 example of train (1.6%) repeats an earlier one").locations) == ["t.tsv:61"]
    shared = only(inspection, "1 example of valid (50.0%) is in train too")
    assert (shared.kind, names(shared.locations)) == ("warning", ["v.tsv:1"])
    assert names(only(inspection, "1 source has U+FFFD").locations) == ["t.tsv:62"]
    assert names(only(inspection, "1 target (1.6%) longer than 20 tokens").locations) == ["t.tsv:62"]


def test_bad_files_and_empty_splits(tmp_path: Path) -> None:
    inspection = inspect_rows(train=[write(tmp_path / "t.tsv", "a\tb\nc\td\n"), str(tmp_path / "none.tsv")])
    assert only(inspection, "no such file").kind == "error"
    assert only(inspection, "no example is left for the valid split").kind == "error"
    bad = inspect_rows(train=write(tmp_path / "t.tsv", CLEAN + "alone\n"))
    assert names(only(bad, "1 field, expected 2").locations) == ["t.tsv:61"]
    assert not says(inspect_rows(train=write(tmp_path / "empty.tsv", "")), "no example is left")
