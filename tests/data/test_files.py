"""Finding files, and telling how they are written by their names."""

import gzip
import os
import socket
from pathlib import Path

import pytest

from seqloom.data.files import expand, format_of, formats_of, refuse_twice, sides
from seqloom.spec.errors import DataError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.txt", "a.txt", "corpus.txt", "c[1].csv", ".hidden.txt", "deep/d.txt", "deep/er/e.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a text")
    return tmp_path


def sentence(call, *args: object) -> str:
    with pytest.raises(DataError) as error:
        call(*args)
    return str(error.value)


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        ([], ""),
        (["b.txt", "a.txt"], "b.txt a.txt"),
        (["*.txt"], "a.txt b.txt corpus.txt"),
        (["b.txt", "*.txt"], "b.txt a.txt corpus.txt"),
        (["c[1].csv"], "c[1].csv"),
        (["deep"], "deep"),
        (["**/*.txt"], "a.txt b.txt corpus.txt deep/d.txt deep/er/e.txt"),
        (["deep/*"], "deep/d.txt"),
        (["?.txt", "deep/**"], "a.txt b.txt deep/d.txt deep/er/e.txt"),
    ],
)
def test_patterns_stand_for_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch, patterns: list[str], found: str
) -> None:
    monkeypatch.chdir(folder)
    assert expand(patterns) == [Path(name) for name in found.split()]
    assert expand([folder / pattern for pattern in patterns]) == [folder / name for name in found.split()]


def test_what_matches_nothing_names_what_is_near(folder: Path) -> None:
    assert sentence(expand, [folder / "corups.txt"]) == (
        f"{folder}/corups.txt: there is no such file. The nearest there: {folder}/corpus.txt."
    )
    assert f"no file matches. The nearest there: {folder}/corpus.txt" in sentence(expand, [folder / "corpora*.txt"])
    assert sentence(expand, [folder / "zzz"]).endswith("there is no such file. Check the name.")
    assert f"there is no folder {folder}/nowhere." in sentence(expand, [folder / "nowhere" / "a.txt"])
    assert "only folders match" in sentence(expand, [folder / "de*"])
    assert "this is not a file name" in sentence(expand, [""])
    assert "it can't be read (File name too long)" in sentence(expand, ["x" * 300])


@pytest.mark.parametrize(
    ("name", "task", "written"),
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
def test_the_name_says_how_a_file_is_written(name: str, task: str, written: str) -> None:
    assert format_of(Path(name), task) == written


@pytest.mark.parametrize(
    ("name", "task", "given", "message"),
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
def test_what_a_task_can_not_read_is_a_sentence(folder: Path, name: str, task: str, given: str, message: str) -> None:
    path = folder / name
    assert sentence(format_of, path, task, given).startswith(f"{path}: {message.format(path)}")


def test_what_is_given_goes_before_the_name(folder: Path) -> None:
    assert format_of(folder / "a.txt", "classify", "tsv") == "tsv"
    assert format_of(Path("a.csv"), "language", "text") == "text"
    assert format_of(folder / "deep", "classify") == "folder"


def test_a_table_under_a_texts_name_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "reviews.txt").write_text("good\t1\nbad\t0\n")
    assert sentence(format_of, tmp_path / "reviews.txt", "classify").endswith(
        "each line has one tab, as in a table. Rename it to .tsv, or pass --data.format tsv."
    )


def test_a_json_array_is_told_to_be_jsonl(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(gzip.compress(b'\n [{"text": "x"}]', mtime=0))
    assert "Write one record per line (JSONL)" in sentence(format_of, tmp_path / "a.json", "classify")
    (tmp_path / "a.json").write_text('{"text": "x"}\n')
    assert format_of(tmp_path / "a.json", "classify") == "jsonl"


def test_several_text_files_are_classes(folder: Path) -> None:
    files = [folder / "a.txt", folder / "b.txt"]
    assert formats_of(files, "classify") == ["folder", "folder"]
    assert formats_of(files, "language") == ["text", "text"]
    assert formats_of([Path("a.csv"), Path("b.tsv")], "classify") == ["csv", "tsv"]
    (folder / "train.txt").write_text("x")
    assert "this is not the name of a class" in sentence(formats_of, [*files, folder / "train.txt"], "classify")
    assert "plain text, and classify reads" in sentence(formats_of, files[:1], "classify")


@pytest.mark.parametrize(
    ("names", "paired"),
    [
        ("", ""),
        ("a.en a.de", "a.en-a.de"),
        ("a.en.gz b.en.gz a.de.gz b.de.gz", "a.en.gz-a.de.gz b.en.gz-b.de.gz"),
        ("a.en a.de b.de b.en", "a.en-a.de b.en-b.de"),
        ("src.txt tgt.txt more.txt mehr.txt", "src.txt-tgt.txt more.txt-mehr.txt"),
        ("a.en a.de b.en b.fr", "a.en-a.de b.en-b.fr"),
    ],
)
def test_text_files_are_translated_two_by_two(names: str, paired: str) -> None:
    found = sides([Path(name) for name in names.split()])
    assert " ".join(f"{source}-{target}" for source, target in found) == paired


def test_a_side_is_named_once(tmp_path: Path) -> None:
    said = sentence(refuse_twice, ["a.en", "a.de", "b.en", str(Path("a.de").absolute())], "translate")
    assert "a.de: this text file is named twice, and each is one side of one pair. Name it once; a copy" in said
    refuse_twice(["a.tsv", "a.tsv"], "translate")  # read once, as elsewhere
    refuse_twice(["a.txt", "a.txt"], "translate", "tsv")
    refuse_twice(["a.txt", "a.txt"], "language")


def test_a_text_file_without_its_translation(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.en", "a.de", "b.en")]
    for file in files:
        file.write_text("a line\n")
    do = "Name them in pairs, source and target (train.en train.de), or name a TSV file with both."
    said = sentence(formats_of, files[:1], "translate")
    assert said == f"{files[0]}: one text file, and a translation needs two, line by line. {do}"
    said = sentence(formats_of, files, "translate")
    assert said == f"{files[2]}: 3 text files, and a translation needs two, line by line. {do}"
    assert formats_of(files[:2], "translate") == ["text", "text"]
    files[0].write_text("a\tb\tc\n" * 3)
    assert "named as plain text, but each line has 2 tabs, as in a table" in sentence(
        formats_of, files[:1], "translate"
    )


@pytest.mark.parametrize("pattern", ["{}", "{}*"])
def test_what_can_be_read_only_once_is_refused_before_it_is_opened(tmp_path: Path, pattern: str) -> None:
    os.mkfifo(pipe := tmp_path / "pipe.csv")
    said = sentence(expand, [pattern.format(pipe)])
    assert said.startswith(f"{pipe}: is a pipe (which `<(...)` makes too), and data are read more than once. Write")


def test_devices_and_sockets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sentence(expand, ["/dev/null"]).startswith("/dev/null: is a device, and data are read more than once. ")
    monkeypatch.chdir(tmp_path)  # a socket's name is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s.csv")
        assert sentence(expand, ["s.csv"]).startswith("s.csv: is a socket, and data are read more than once. ")
