"""Errors of the command line: exit codes, messages of one line, and options where Python names keys."""

import errno
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

import seqloom as package
from seqloom.cli.errors import failure
from seqloom.core.atomic_io import WriteError
from seqloom.core.problem import ArgumentError, RunError, SeqloomError, UnavailableBackend, UnknownName, UserError
from seqloom.training.checkpointer import Stopped
from seqloom.training.loop import Diverged
from tests.cli.conftest import TINY, Seqloom


@pytest.mark.parametrize(
    ("error", "code"),
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
def test_each_kind_of_failure_has_its_exit_code(error: BaseException, code: int) -> None:
    result = failure(error)
    assert result.code == code
    assert result.sentence is None or "\n" not in result.sentence


def test_an_internal_error_is_one_line_and_a_traceback_on_request(
    seqloom: Seqloom, monkeypatch: pytest.MonkeyPatch, files: Path
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("of ours\nover two lines")

    monkeypatch.setattr("seqloom.cli.resolve.Request.experiment", fail)
    result = seqloom("train", "tag", "names.conll")
    assert result.code == 1
    assert result.err.startswith(
        "seqloom: internal error: ZeroDivisionError: of ours over two lines. Run again with SEQLOOM"
    )
    assert result.err.count("\n") == 1
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
    "a label seen once": ("classify", f"{GOOD}odd,c\n", "a.csv:42: label 'c' is in a single example"),
    "one class only": ("classify", "text,label\n" + "fine,a\n" * 9, "only one label, 'a'"),
    "10 MB in one line": ("classify", f"text,label\n{'x' * 10_000_000},a\n", "a.csv:2: a line of more than 1,000,000"),
    "a missing column": ("tag", "Anna\tPER\nsings\n\n", "a.conll:2: 1 column, expected 2"),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_data_is_one_message_with_its_location(seqloom: Seqloom, tmp_path: Path, name: str) -> None:
    task, content, sentence = BAD[name]
    file = "a.conll" if task == "tag" else "a.csv"
    if content is not None:
        write(file, content)
    result = seqloom("train", task, file, *TINY)
    assert result.code == 2
    assert result.err.startswith("seqloom: ")
    assert result.err.count("\n") == 1
    assert sentence in result.err
    assert not (tmp_path / "runs").exists()


def test_a_label_only_in_validation(seqloom: Seqloom) -> None:
    write("a.csv", GOOD)
    write("v.csv", "text,label\nfine,a\nodd,zz\n")
    result = seqloom("train", "classify", "a.csv", "--valid", "v.csv", *TINY)
    assert result.code == 2
    assert "v.csv:3: label 'zz' is not in the training split" in result.err


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
def test_invalid_arguments_are_one_message(seqloom: Seqloom, words: tuple[str, ...], sentence: str) -> None:
    result = seqloom(*words)
    assert result.code == 2
    assert sentence in result.err
    assert result.err.startswith("seqloom: ")
    assert result.err.count("\n") == 1
    assert result.out == ""


def test_a_flipped_byte_and_a_newer_version_are_errors(seqloom: Seqloom, runs: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(runs / "tag", tmp_path / "r")
    (model,) = (tmp_path / "r").glob("model-*")
    raw = bytearray(model.read_bytes())
    raw[-1] ^= 1
    model.write_bytes(raw)
    result = seqloom("predict", "r", "Anna")
    assert result.code == 2
    assert "SHA-256" in result.err
    manifest = tmp_path / "r/manifest.json"
    manifest.write_text(manifest.read_text().replace('"format": 2', '"format": 99'))
    for words in (("predict", "r", "Anna"), ("resume", "r"), ("evaluate", "r", "x"), ("generate", "r")):
        result = seqloom(*words)
        assert result.code == 2
        assert "made by a newer seqloom" in result.err
    assert "damaged  r: made by a newer seqloom" in seqloom("runs", ".").out


def test_the_process_exits_with_the_code_and_without_a_traceback(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "seqloom.cli", "train", "tag", "nope.conllu"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 2
    assert process.stderr == "seqloom: nope.conllu: there is no such file. Check the name.\n"


def test_a_closed_pipe_is_not_reported() -> None:
    shell = f"{sys.executable} -m seqloom.cli train classify --help | head -n 1"
    process = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert process.stderr == ""
    assert process.stdout.startswith("Usage")


# Names of keys -----------------------------------------------------------------------------------------------------

ROWS = "text,label\n" + "".join(f"fine {i},a\nbad {i},b\n" for i in range(20))


@pytest.mark.parametrize(
    ("task", "words", "keys", "option", "key"),
    [
        (
            "classify",
            ("--train.lr", "x"),
            {"train": {"lr": "x"}},
            "--train.lr is 'x'; expected",
            "train.lr is 'x'; exp",
        ),
        (
            "classify",
            ("--model", "transformer", "--model.heads", "3"),
            {"model": {"arch": "transformer", "heads": 3}},
            "--model.heads is 3, and does not divide --model.dim, 128. Give a divisor",
            "model.heads is 3, and does not divide model.dim, 128. Give a divisor",
        ),
        (
            "classify",
            ("--model", "lsmt"),
            {"model": {"arch": "lsmt"}},
            "unknown --model 'lsmt'. Did you mean 'lstm'?",
            "unknown model.arch 'lsmt'. Did you mean 'lstm'?",
        ),
        (
            "classify",
            ("--data.text", "txt"),
            {"data": {"text": "txt"}},
            "The nearest is 'text'; name it with --data.text.",
            "The nearest is 'text'; name it with data.text.",
        ),
        (
            "classify",
            ("--data.corpus", "numbers"),
            {"data": {"corpus": "numbers"}},
            "--data.train and --data.corpus are both given (a.csv, numbers). Leave",
            "data.train and data.corpus are both given (a.csv, numbers). Leave",
        ),
        (
            "classify",
            ("--train.steps", "none", "--train.epochs", "none"),
            {"train": {"steps": None, "epochs": None}},
            "--train.epochs and --train.steps are both none",
            "train.epochs and train.steps are both none",
        ),
        (
            "translate",
            ("--decode.beam-size", "4", "--decode.temperature", "1"),
            {"decode": {"beam_size": 4, "temperature": 1}},
            "--decode.beam-size is 4 and --decode.temperature 1: beam search",
            "decode.beam_size is 4 and decode.temperature 1: beam search",
        ),
        (
            "language",
            ("--model", "transformer", "--train.carry-state"),
            {"model": {"arch": "transformer"}, "train": {"carry_state": True}},
            "--train.carry-state would let the cache of a transformer grow",
            "train.carry_state would let the cache of a transformer grow",
        ),
    ],
)
def test_options_are_named_on_the_command_line_and_keys_in_python(
    seqloom: Seqloom, task: str, words: tuple[str, ...], keys: dict[str, Any], option: str, key: str
) -> None:
    Path("a.csv").write_text(ROWS)
    result = seqloom("train", task, "a.csv", *words)
    assert (result.code, option in result.err) == (2, True), result.err
    with pytest.raises(SeqloomError) as caught:
        package.train(task, "a.csv", **keys)
    assert key in str(caught.value)


def test_the_error_of_an_invalid_line_names_the_key_that_skips_it(seqloom: Seqloom) -> None:
    Path("a.csv").write_text(f"{ROWS}one\n")
    assert "or pass --data.on-bad-line skip." in seqloom("train", "classify", "a.csv").err
    assert "or pass --data.on-bad-line skip." in seqloom("check", "classify", "a.csv").out
    with pytest.raises(SeqloomError, match=r"or pass data\.on_bad_line skip\."):
        package.train("classify", "a.csv")


def test_an_error_in_a_config_file_names_the_key(seqloom: Seqloom) -> None:
    Path("a.csv").write_text(ROWS)
    Path("e.toml").write_text('task = "classify"\n[train]\nlr = "x"\n')
    assert seqloom("train", "--config", "e.toml", "a.csv").err.startswith("seqloom: e.toml:3: train.lr is 'x';")
    assert "seqloom: --train.lr is 'y';" in seqloom("train", "--config", "e.toml", "a.csv", "--train.lr", "y").err


def test_an_error_of_a_run_names_the_short_options(seqloom: Seqloom, runs: Path) -> None:
    result = seqloom("generate", runs / "language", "--beam", "2", "--temperature", "1")
    assert "--beam is 2 and --temperature 1: beam search" in result.err
    with pytest.raises(SeqloomError, match=r"^decode\.beam_size is 2 and decode\.temperature 1: beam search"):
        package.load(runs / "language").generate(beam_size=2, temperature=1)
    assert "already holds a run." in (result := seqloom("train", "tag", "--out", runs / "tag")).err
    assert result.err.endswith("or pass --out another/folder.\n")


HOSTILE = "\x1b[2J\u202e\u2066"


@pytest.mark.parametrize("command", ["train", "check"])
def test_control_characters_of_a_data_file_are_escaped(seqloom: Seqloom, command: str) -> None:
    for name, content in {
        "label.csv": f"{ROWS}x,odd{HOSTILE}\n",
        "header.csv": f"te{HOSTILE}xt,label{HOSTILE},more\na,b\n",
        "row.csv": f"text{HOSTILE},label\n" + ROWS.partition("\n")[2] + "one\n",
        f"na{HOSTILE}me.csv": "",
        f"na{HOSTILE}\nme.csv": f"{ROWS}one\n",
        "e.jsonl": f'{{"te{HOSTILE}xt": "a", "label": "b"}}\n'.replace("\x1b", "\\u001b") * 3,
    }.items():
        Path(name).write_text(content)
        result = seqloom(command, "classify", name)
        assert result.code == 2
        assert not set(HOSTILE) - set("[2J") & set(result.out + result.err), name
        assert command == "check" or result.err.count("\n") == 1


def test_control_characters_of_a_run_are_escaped(seqloom: Seqloom, tmp_path: Path) -> None:
    run = tmp_path / "r"
    run.mkdir()
    (run / "manifest.json").write_text('{"format": 99, "versions": {"seqloom": "1\\u001b[2J\\u202e"}}')
    for words in (("predict", run, "x"), ("resume", run), ("runs", tmp_path)):
        result = seqloom(*words)
        assert "made by a newer seqloom (1\\x1b[2J\\u202e, format 99" in result.out + result.err
    result = seqloom("predict", f"no{HOSTILE}\nrun", "x")
    assert (
        result.err == "seqloom: no\\x1b[2J\\u202e\\u2066\\nrun: no such folder. `seqloom runs` lists the runs here.\n"
    )
