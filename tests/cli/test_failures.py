import errno
import subprocess
import sys
from pathlib import Path

import click
import pytest

from seqloom.cli.errors import failure
from seqloom.core.atomic_io import WriteError
from seqloom.core.problem import ArgumentError, RunError, UnavailableBackend, UnknownName, UserError
from seqloom.training.checkpointer import Stopped
from seqloom.training.loop import Diverged
from tests.cli.conftest import TINY, Seqloom


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (UserError("x."), 2),
        (RunError("x."), 2),
        (ArgumentError("Layer", "x", "width 5", "width 3"), 2),
        (UnknownName("x."), 2),
        (UnavailableBackend("x."), 2),
        (click.UsageError("x"), 2),
        (FileNotFoundError(errno.ENOENT, "No such file", "a.txt"), 2),
        (Diverged("x."), 1),
        (WriteError("x."), 1),
        (MemoryError(), 1),
        (RuntimeError("x"), 1),
        (Stopped(Path("r"), 3, 15), 143),
        (Stopped(Path("r"), 3, 2), 130),
        (KeyboardInterrupt(), 130),
        (click.exceptions.Abort(), 130),
        (BrokenPipeError(), 141),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(wrong: BaseException, code: int) -> None:
    found = failure(wrong)
    assert found.code == code
    assert found.sentence is None or "\n" not in found.sentence


def test_an_error_that_nobody_foresaw_is_one_sentence_and_a_traceback_for_who_asks(
    seqloom: Seqloom, monkeypatch: pytest.MonkeyPatch, files: Path
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("of ours\nover two lines")

    monkeypatch.setattr("seqloom.cli.resolve.Request.experiment", fail)
    said = seqloom("train", "tag", "names.conll")
    assert said.code == 1
    assert said.err.startswith(
        "seqloom: internal error: ZeroDivisionError: of ours over two lines. Run again with SEQLOOM"
    )
    assert said.err.count("\n") == 1
    monkeypatch.setenv("SEQLOOM_DEBUG", "1")
    assert "Traceback" in seqloom("train", "tag", "names.conll").err


def write(name: str, content: str | bytes) -> None:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


GOOD = "text,label\n" + "".join(f"fine {i},a\nbad {i},b\n" for i in range(20))
BAD = {
    "a missing file": ("classify", None, "a.csv: there is no such file"),
    "an empty file": ("classify", "", "a.csv: the file is empty"),
    "bytes that are not UTF-8": ("classify", b"text,label\nfine,a\ncaf\xe9,b\n", "a.csv:3: the byte 0xE9 is not UTF-8"),
    "too few fields": ("classify", "text,label\nfine,a\nbad\n", "a.csv:3: 1 field, expected 2"),
    "too many fields": ("classify", "text,label\nfine,a\nbad,b,c\n", "a.csv:3: 3 fields, expected 2"),
    "an unbalanced quote": ("classify", 'text,label\n"fine,a\nbad,b\n', "a.csv:2: a quote opens here"),
    "a label seen once": ("classify", f"{GOOD}odd,c\n", "a.csv:42: label 'c' is seen once"),
    "one class only": ("classify", "text,label\n" + "fine,a\n" * 9, "only one label, 'a'"),
    "10 MB in one line": ("classify", f"text,label\n{'x' * 10_000_000},a\n", "a.csv:2: a line of more than 1,000,000"),
    "a missing column": ("tag", "Anna\tPER\nsings\n\n", "a.conll:2: 1 column, expected 2"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_data_is_one_sentence_with_its_place(seqloom: Seqloom, tmp_path: Path, name: str) -> None:
    task, content, sentence = BAD[name]
    file = "a.conll" if task == "tag" else "a.csv"
    if content is not None:
        write(file, content)
    said = seqloom("train", task, file, *TINY)
    assert said.code == 2
    assert said.err.startswith("seqloom: ")
    assert said.err.count("\n") == 1
    assert sentence in said.err
    assert not (tmp_path / "runs").exists()


def test_a_label_only_in_validation(seqloom: Seqloom) -> None:
    write("a.csv", GOOD)
    write("v.csv", "text,label\nfine,a\nodd,zz\n")
    said = seqloom("train", "classify", "a.csv", "--valid", "v.csv", *TINY)
    assert said.code == 2
    assert "v.csv:3: label 'zz' is not in the training split" in said.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("train", "language", "."), ".: is a directory"),
        (("train", "classify", "a.csv", "--train.lr", "abc"), "seqloom: --train.lr is 'abc'; expected a number"),
        (("train", "classify", "a.csv", "--model", "lsmt"), "unknown --model 'lsmt'. Did you mean 'lstm'?"),
        (("train", "classify", "a.csv", "--device", "gpu"), "seqloom: --device is 'gpu'; expected one of"),
        (("train", "classify", "a.csv", "--data.text", "nope"), "a.csv: there is no such file"),
        (("train", "classify", "a.csv", "--model.heads", "2"), "seqloom: --model.heads is not a key of lstm"),
        (("train", "language", "--model", "mixer"), "mixer reads a whole sequence at once"),
        (("train", "classify", "a.csv", "--train.lr"), "requires an argument. (seqloom train classify --help"),
        (("train", "--config", "nope.toml"), "nope.toml: no such file"),
        (("resume", "nope"), "nope: no such folder"),
        (("resume", "."), ".: not a run"),
        (("report", "nope"), "nope: no such folder"),
        (("evaluate", "nope"), "FILE is missing"),
        (("runs", "nope"), "nope: no such folder"),
        (("list", "modles"), "is not one of"),
        (("frobnicate",), "no such command 'frobnicate'. (seqloom --help lists all)"),
        (("rns",), "Did you mean"),
        (("--frob",), "unknown option --frob."),
    ],
)
def test_bad_words_are_one_sentence(seqloom: Seqloom, words: tuple[str, ...], sentence: str) -> None:
    said = seqloom(*words)
    assert said.code == 2
    assert sentence in said.err
    assert said.err.startswith("seqloom: ")
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_a_flipped_byte_and_a_newer_version_are_told(seqloom: Seqloom, runs: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(runs / "tag", tmp_path / "r")
    (model,) = (tmp_path / "r").glob("model-*")
    raw = bytearray(model.read_bytes())
    raw[-1] ^= 1
    model.write_bytes(raw)
    said = seqloom("predict", "r", "Anna")
    assert said.code == 2
    assert "SHA-256" in said.err
    manifest = tmp_path / "r/manifest.json"
    manifest.write_text(manifest.read_text().replace('"format": 1', '"format": 99'))
    for words in (("predict", "r", "Anna"), ("resume", "r"), ("evaluate", "r", "x"), ("generate", "r")):
        said = seqloom(*words)
        assert said.code == 2
        assert "made by a newer seqloom" in said.err
    assert "damaged  r: made by a newer seqloom" in seqloom("runs", ".").out


def test_the_program_itself_ends_with_the_code_and_without_a_traceback(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "seqloom.cli", "train", "tag", "nope.conllu"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr == "seqloom: nope.conllu: there is no such file. Check the name.\n"


def test_a_reader_that_goes_away_is_no_reason_to_complain() -> None:
    shell = f"{sys.executable} -m seqloom.cli train classify --help | head -n 1"
    ended = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    assert ended.stdout.startswith("Usage")
