"""Small files, small runs, and the command line in this process."""

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from seqloom.cli.main import main

TINY = ("--size", "tiny", "--train.steps", "4", "--device", "cpu")


@dataclass(frozen=True)
class Result:
    """The output of a command and its exit code."""

    code: int
    out: str
    err: str


Seqloom = Callable[..., Result]


@pytest.fixture
def seqloom(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Seqloom:
    """`seqloom("train", "tag", …)` runs one command in this process."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*words: object, stdin: str | bytes | None = None) -> Result:
        if stdin is not None:
            raw = stdin.encode() if isinstance(stdin, str) else stdin
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(raw))))
        capsys.readouterr()
        code = main([str(word) for word in words])
        message = capsys.readouterr()
        return Result(code, message.out, message.err)

    return run


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each test runs in an empty folder; all share one cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")  # has `seqloom`


def write_files(folder: Path) -> None:
    """A file for each task."""
    lines = [f"a fine good film {i},pos\na bad dull bore {i},neg\n" for i in range(40)]
    (folder / "reviews.csv").write_text("review,stars\n" + "".join(lines))
    (folder / "names.conll").write_text("Anna\tB-PER\nsings\tO\n\nthe\tO\ncat\tO\nsat\tO\n\n" * 20)
    (folder / "text.txt").write_text("the quick brown fox jumps over the lazy dog.\n" * 60)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_files(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of each task: runs/classify, runs/tag, runs/language. Tests do not write into them."""
    folder = tmp_path_factory.mktemp("trained")
    write_files(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        for task, name in (("classify", "reviews.csv"), ("tag", "names.conll"), ("language", "text.txt")):
            options = ("--decode.max-length", "20", "--train.bptt", "16", "--train.batch-tokens", "4") * (
                task == "language"
            )
            out = folder / "runs" / task
            assert main(["train", task, str(folder / name), "--out", str(out), *TINY, *options]) == 0
    return folder / "runs"
