"""The files of paths and patterns."""

import os
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from seqloom.core.problem import DataError
from seqloom.data.paths import expand


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.txt", "a.txt", "corpus.txt", "c[1].csv", ".hidden.txt", "deep/d.txt", "deep/er/e.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a text")
    return tmp_path


def message(patterns: Sequence[str | Path]) -> str:
    with pytest.raises(DataError) as error:
        expand(patterns)
    return str(error.value)


@pytest.mark.parametrize(
    ("patterns", "expected"),
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
def test_patterns_are_expanded_to_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch, patterns: list[str], expected: str
) -> None:
    monkeypatch.chdir(folder)
    assert expand(patterns) == [Path(name) for name in expected.split()]
    assert expand([folder / pattern for pattern in patterns]) == [folder / name for name in expected.split()]


def test_a_pattern_without_a_match_has_a_suggestion(folder: Path) -> None:
    assert message([folder / "corups.txt"]) == (
        f"{folder}/corups.txt: there is no such file. Did you mean {folder}/corpus.txt?"
    )
    assert f"no file matches. Did you mean {folder}/corpus.txt?" in message([folder / "corpora*.txt"])
    assert message([folder / "zzz"]).endswith("there is no such file. Check the name.")
    assert f"there is no folder {folder}/nowhere." in message([folder / "nowhere" / "a.txt"])
    assert "only folders match" in message([folder / "de*"])
    assert "this is not a file name" in message([""])
    assert "it can't be read (File name too long)" in message(["x" * 300])


@pytest.mark.parametrize("pattern", ["{}", "{}*"])
def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path, pattern: str) -> None:
    os.mkfifo(pipe := tmp_path / "pipe.csv")
    error = message([pattern.format(pipe)])
    assert error.startswith(f"{pipe}: is a pipe (which `<(...)` makes too), but data is read more than once. Write")


def test_devices_and_sockets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert message(["/dev/null"]).startswith("/dev/null: is a device, but data is read more than once. ")
    monkeypatch.chdir(tmp_path)  # the path of a socket has a maximum length
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s.csv")
        assert message(["s.csv"]).startswith("s.csv: is a socket, but data is read more than once. ")
