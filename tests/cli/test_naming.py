"""The same mistake on the command line and in Python: one names options, the other keys, and nothing else differs."""

from pathlib import Path
from typing import Any

import pytest

import seqloom as package
from seqloom.core.problem import SeqloomError
from tests.cli.conftest import Seqloom

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
            "--decode.beam-size is 4 and --decode.temperature 1: a beam",
            "decode.beam_size is 4 and decode.temperature 1: a beam",
        ),
        (
            "language",
            ("--model", "transformer", "--train.carry-state"),
            {"model": {"arch": "transformer"}, "train": {"carry_state": True}},
            "--train.carry-state would let a transformer's cache grow",
            "train.carry_state would let a transformer's cache grow",
        ),
    ],
)
def test_options_are_named_on_the_command_line_and_keys_in_python(
    seqloom: Seqloom, task: str, words: tuple[str, ...], keys: dict[str, Any], option: str, key: str
) -> None:
    Path("a.csv").write_text(ROWS)
    said = seqloom("train", task, "a.csv", *words)
    assert (said.code, option in said.err) == (2, True), said.err
    with pytest.raises(SeqloomError) as caught:
        package.train(task, "a.csv", **keys)
    assert key in str(caught.value)


def test_a_line_that_can_not_be_read_names_the_key_that_skips_it(seqloom: Seqloom) -> None:
    Path("a.csv").write_text(f"{ROWS}one\n")
    assert "or pass --data.on-bad-line skip." in seqloom("train", "classify", "a.csv").err
    assert "or pass --data.on-bad-line skip." in seqloom("check", "classify", "a.csv").out
    with pytest.raises(SeqloomError, match=r"or pass data\.on_bad_line skip\."):
        package.train("classify", "a.csv")


def test_a_key_of_a_config_file_stays_a_key(seqloom: Seqloom) -> None:
    Path("a.csv").write_text(ROWS)
    Path("e.toml").write_text('task = "classify"\n[train]\nlr = "x"\n')
    assert seqloom("train", "--config", "e.toml", "a.csv").err.startswith("seqloom: e.toml:3: train.lr is 'x';")
    assert "seqloom: --train.lr is 'y';" in seqloom("train", "--config", "e.toml", "a.csv", "--train.lr", "y").err


def test_a_run_says_the_short_options_of_its_command(seqloom: Seqloom, runs: Path) -> None:
    said = seqloom("generate", runs / "language", "--beam", "2", "--temperature", "1")
    assert "--beam is 2 and --temperature 1: a beam" in said.err
    with pytest.raises(SeqloomError, match=r"^decode\.beam_size is 2 and decode\.temperature 1: a beam"):
        package.load(runs / "language").generate(beam_size=2, temperature=1)
    assert "already holds a run." in (said := seqloom("train", "tag", "--out", runs / "tag")).err
    assert said.err.endswith("or pass --out another/folder.\n")


HOSTILE = "\x1b[2J\u202e\u2066"


@pytest.mark.parametrize("command", ["train", "check"])
def test_what_a_file_holds_does_nothing_to_the_terminal(seqloom: Seqloom, command: str) -> None:
    for name, content in {
        "label.csv": f"{ROWS}x,odd{HOSTILE}\n",
        "header.csv": f"te{HOSTILE}xt,label{HOSTILE},more\na,b\n",
        "row.csv": f"text{HOSTILE},label\n" + ROWS.partition("\n")[2] + "one\n",
        f"na{HOSTILE}me.csv": "",
        f"na{HOSTILE}\nme.csv": f"{ROWS}one\n",
        "e.jsonl": f'{{"te{HOSTILE}xt": "a", "label": "b"}}\n'.replace("\x1b", "\\u001b") * 3,
    }.items():
        Path(name).write_text(content)
        said = seqloom(command, "classify", name)
        assert said.code == 2
        assert not set(HOSTILE) - set("[2J") & set(said.out + said.err), name
        assert command == "check" or said.err.count("\n") == 1


def test_what_a_run_holds_does_nothing_to_the_terminal(seqloom: Seqloom, tmp_path: Path) -> None:
    run = tmp_path / "r"
    run.mkdir()
    (run / "manifest.json").write_text('{"format": 99, "versions": {"seqloom": "1\\u001b[2J\\u202e"}}')
    for words in (("predict", run, "x"), ("resume", run), ("runs", tmp_path)):
        said = seqloom(*words)
        assert "made by a newer seqloom (1\\x1b[2J\\u202e, format 99" in said.out + said.err
    said = seqloom("predict", f"no{HOSTILE}\nrun", "x")
    assert said.err == "seqloom: no\\x1b[2J\\u202e\\u2066\\nrun: no such folder. `seqloom runs` lists the runs here.\n"
