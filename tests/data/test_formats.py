"""The format of a file, by its name or by the config; a format that a task can't read is refused."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from seqloom.core.problem import DataError, UnknownName
from seqloom.data import formats
from seqloom.data.formats import FORMATS
from seqloom.tasks.registry import TASKS, experiment


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.txt", "a.txt", "corpus.txt", "c[1].csv", ".hidden.txt", "deep/d.txt", "deep/er/e.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a text")
    return tmp_path


def format_of(path: Path, task: str, name: str = "auto") -> str:
    return formats.format_of(path, TASKS[task].data_spec, name).name


def formats_of(paths: Sequence[Path], task: str) -> list[str]:
    return [form.name for _, form in formats.formats_of(paths, TASKS[task].data_spec)]


def refuse_repeated_files(names: Sequence[str], task: str, form: str = "auto") -> None:
    section = experiment({"task": task, "data": {"train": names, "format": form}}).data
    formats.refuse_repeated_files(names, TASKS[task].data_spec, section)


def message(call: Callable[..., object], *arguments: object) -> str:
    with pytest.raises(DataError) as error:
        call(*arguments)
    return str(error.value)


def test_every_format_has_a_task_suffixes_and_a_name() -> None:
    suffixes = [suffix for form in FORMATS.values() for suffix in form.suffixes]
    assert len(suffixes) == len(set(suffixes))
    kinds = {kind for task in TASKS.values() for kind in task.data_spec.kinds}
    assert {form.kind for form in FORMATS.values()} == kinds
    for task, entry in TASKS.items():
        for form in formats.formats_read(entry.data_spec):
            data = {"train": "a.txt", "format": form.name}
            assert experiment({"task": task, "data": data}).data.format == form.name
    with pytest.raises(UnknownName, match=r"unknown reader 'cvs'\. Did you mean 'csv'"):
        FORMATS["cvs"]


@pytest.mark.parametrize(
    ("name", "task", "form"),
    [
        ("a.txt", "language", "text"),
        ("a.md", "language", "text"),
        ("a.py.gz", "language", "text"),
        ("README", "language", "text"),
        ("a.csv", "classify", "csv"),
        ("A.CSV.GZ", "classify", "csv"),
        ("a.tab", "classify", "tsv"),
        ("a.ndjson", "classify", "jsonl"),
        ("a.conllu", "tag", "conllu"),
        ("a.bio", "tag", "conll"),
        ("a.conll.gz", "tag", "conll"),
        ("a.tsv", "translate", "tsv"),
        ("a.jsonl", "translate", "jsonl"),
        ("a.csv", "caption", "csv"),
    ],
)
def test_the_name_of_a_file_determines_its_format(name: str, task: str, form: str) -> None:
    assert format_of(Path(name), task) == form


@pytest.mark.parametrize(
    ("name", "task", "form", "expected"),
    [
        ("a.csv", "tag", "auto", "a csv file, and tag reads CoNLL-U"),
        ("a.conllu", "language", "auto", "a conllu file, and language reads plain text. "),
        ("a.txt", "classify", "auto", "plain text, and classify reads CSV, TSV, JSONL, or a folder"),
        ("a.txt", "tag", "auto", "plain text, and tag reads"),
        ("a.csv", "classify", "text", "plain text, and classify reads"),
        ("a.csv", "language", "folder", "a folder, and language reads"),
        ("deep", "language", "auto", "is a directory. Name its files, for example '{}/*.txt'."),
        ("deep", "tag", "auto", "is a directory. Name its files, for example '{}/*.conllu'."),
        ("deep", "classify", "csv", "is a directory. Name its files, for example '{}/*.csv'."),
        ("none.txt", "classify", "auto", "there is no such file"),
        ("deep", "translate", "auto", "is a directory. Name its files, for example '{}/*.tsv'."),
        (
            "a.conllu",
            "translate",
            "auto",
            "a conllu file, and translate reads TSV, CSV, JSONL, or two text files, line",
        ),
        ("a.txt", "caption", "auto", "plain text, and caption reads TSV, CSV or JSONL, with an image's path and its"),
    ],
)
def test_a_format_that_a_task_can_not_read_is_refused(
    folder: Path, name: str, task: str, form: str, expected: str
) -> None:
    path = folder / name
    assert message(format_of, path, task, form).startswith(f"{path}: {expected.format(path)}")


def test_the_config_overrides_the_name(folder: Path) -> None:
    assert format_of(folder / "a.txt", "classify", "tsv") == "tsv"
    assert format_of(Path("a.csv"), "language", "text") == "text"
    assert format_of(folder / "deep", "classify") == "folder"


def test_a_table_with_the_name_of_a_text_is_recognized(tmp_path: Path) -> None:
    (tmp_path / "reviews.txt").write_text("good\t1\nbad\t0\n")
    assert message(format_of, tmp_path / "reviews.txt", "classify").endswith(
        "each line has one tab, as in a table. Rename it to .tsv, or pass data.format tsv."
    )


def test_several_text_files_are_classes(folder: Path) -> None:
    files = [folder / "a.txt", folder / "b.txt"]
    assert formats_of(files, "classify") == ["folder", "folder"]
    assert formats_of(files, "language") == ["text", "text"]
    assert formats_of([Path("a.csv"), Path("b.tsv")], "classify") == ["csv", "tsv"]
    (folder / "train.txt").write_text("x")
    assert "this is not the name of a class" in message(formats_of, [*files, folder / "train.txt"], "classify")
    assert "plain text, and classify reads" in message(formats_of, files[:1], "classify")


def test_a_side_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    message_text = message(refuse_repeated_files, ["a.en", "a.de", "b.en", str(Path("a.de").absolute())], "translate")
    assert (
        "a.de: this text file is named twice, but each file is one side of a pair. Name it once; a copy" in message_text
    )
    refuse_repeated_files(["a.tsv", "a.tsv"], "translate")  # such a file is read once
    refuse_repeated_files(["a.txt", "a.txt"], "translate", "tsv")
    refuse_repeated_files(["a.txt", "a.txt"], "language")


def test_a_text_file_without_its_translation_is_refused(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.en", "a.de", "b.en")]
    for file in files:
        file.write_text("a line\n")
    advice = "Name them in pairs, source and target (train.en train.de), or name a TSV file with both."
    message_text = message(formats_of, files[:1], "translate")
    assert message_text == f"{files[0]}: one text file, and a translation needs two, line by line. {advice}"
    message_text = message(formats_of, files, "translate")
    assert message_text == f"{files[2]}: 3 text files, and a translation needs two, line by line. {advice}"
    assert formats_of(files[:2], "translate") == ["text", "text"]
    files[0].write_text("a\tb\tc\n" * 3)
    assert "named as plain text, but each line has 2 tabs, as in a table" in message(formats_of, files[:1], "translate")
