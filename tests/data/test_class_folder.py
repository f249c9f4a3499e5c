"""One folder per class, or one file per class."""

import gzip
from pathlib import Path

import pytest

from seqloom.core.config.data import RowData
from seqloom.core.problem import DataError
from seqloom.data.class_folder import read_classes
from seqloom.data.text_io import OnBadLine, SkipBadLines, raise_error


def write_files(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode(), mtime=0) if name.endswith(".gz") else text.encode())
    return tmp_path


def read(
    path: Path, max_characters: int = 1_000_000, on_bad_line: OnBadLine = raise_error
) -> list[tuple[str, tuple[str, ...], str]]:
    """The text, the classes and the location of each example."""
    examples = read_classes([path], RowData(max_characters=max_characters), on_bad_line)
    return [(text, labels, str(location)) for location, (text, labels) in examples]


def message(path: Path, max_characters: int = 1_000_000) -> str:
    with pytest.raises(DataError) as error:
        read(path, max_characters)
    return str(error.value).removeprefix(str(path))


def test_each_folder_is_a_class(tmp_path: Path) -> None:
    files = {
        "pos/2.txt": "good\nfilm\n",
        "pos/10.txt.gz": "fine",
        "neg/1": "bad",
        "neg/.DS_Store": "\0",
        "neg/3.txt": "",
    }
    folder = write_files(tmp_path, **files)
    assert read(folder) == [
        ("bad", ("neg",), f"{folder}/neg/1:1"),
        ("", ("neg",), f"{folder}/neg/3.txt:1"),
        ("fine", ("pos",), f"{folder}/pos/10.txt.gz:1"),
        ("good\nfilm", ("pos",), f"{folder}/pos/2.txt:1"),
    ]


def test_each_file_is_a_class(tmp_path: Path) -> None:
    folder = write_files(tmp_path, **{"Czech.txt": "Abl\n\n \nAdsit\n", "Irish.txt.gz": "Adam", ".hidden": "x"})
    examples = read(folder)
    assert examples == [
        ("Abl", ("Czech",), f"{folder}/Czech.txt:1"),
        ("Adsit", ("Czech",), f"{folder}/Czech.txt:4"),
        ("Adam", ("Irish",), f"{folder}/Irish.txt.gz:1"),
    ]
    assert read(folder / "Czech.txt") == examples[:2]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({".hidden": "x"}, ": the folder is empty. "),
        (
            {"pos/1.txt": "x", "README.txt": "x"},
            ": the folder has both sub-folders (pos, …) and files (README.txt, …). ",
        ),
        ({"neg/.keep": "", "pos/1.txt": "x"}, "/neg: the folder of this class is empty. "),
        ({"pos/a/1.txt": "x"}, "/pos/a: there is a folder inside the folder of a class. "),
        ({"pos/1.jpg": "x"}, "/pos/1.jpg: this is neither a .txt nor a .txt.gz file. "),
        ({"a.csv": "x"}, "/a.csv: this is neither a .txt nor a .txt.gz file. "),
        ({"a.txt": ""}, "/a.txt: the file is empty. "),
        ({"a.txt": "xy\n" + "x" * 20}, "/a.txt:2: a line of more than 10 characters. "),
        ({"pos/1.txt": "x" * 11}, "/pos/1.txt:1: a text of more than 10 characters. "),
    ],
)
def test_invalid_folders_are_refused(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    assert message(write_files(tmp_path, **files), max_characters=10).startswith(expected)


@pytest.mark.parametrize("names", [("train/a.txt", "dev/a.txt", "test/a.txt"), ("train.txt", "dev.txt", "test.txt")])
def test_splits_of_a_data_set_are_not_classes(tmp_path: Path, names: tuple[str, ...]) -> None:
    folder = write_files(tmp_path, **dict.fromkeys(names, "x"))
    dev, test, train = sorted(folder.iterdir())
    assert message(folder) == (
        ": these are splits of a dataset, not classes. "
        f"Pass each with its option: data.valid {dev} data.test {test} data.train {train}."
    )


def test_bad_examples_can_be_skipped(tmp_path: Path) -> None:
    folder = write_files(tmp_path, **{"pos/1.txt": "x" * 11, "pos/2.txt": "x" * 10 + "\n\n"})
    (folder / "pos" / "3.txt").write_bytes(b"\xff")
    skipped = SkipBadLines()
    assert [text for text, _, _ in read(folder, 10, skipped)] == ["x" * 10]
    assert [str(error).split(": ")[0] for error in skipped.errors] == [f"{folder}/pos/{name}.txt:1" for name in (1, 3)]
