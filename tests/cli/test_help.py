import re
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest

from seqloom.cli.doctor import EXTRAS, packages_of
from seqloom.cli.errors import SHORT
from seqloom.cli.help import NOTES, example_lines
from seqloom.cli.main import GROUPS
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.config_keys import all_keys
from seqloom.tasks.registry import TASKS
from tests.cli.conftest import Seqloom

COMMANDS = [str(command.name) for commands in GROUPS.values() for command in commands]


WITHOUT_TORCH = """
import sys
from seqloom.cli.main import main
code = main(sys.argv[1:])
sys.exit(7 if {"torch", "tokenizers", "numpy"} & set(sys.modules) else code)
"""


def without_torch(*words: object) -> subprocess.CompletedProcess[str]:
    """A command in a new process, which exits with 7 if it imported torch, tokenizers or numpy."""
    program = [sys.executable, "-c", WITHOUT_TORCH, *map(str, words)]
    return subprocess.run(program, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", ["--help", "train --help", "train tag --help", "list models", "runs"])
def test_no_torch_and_no_tokenizers_until_they_are_needed(words: str) -> None:
    process = without_torch(*words.split())
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout


CHECKS = """
import sys
from seqloom.cli.main import main
for task in ("language", "classify", "tag", "translate", "caption"):
    main(["check", task, "--data.examples", "300"])
sys.exit(7 if "torch" in sys.modules else 0)
"""


def test_no_task_needs_torch_for_its_check() -> None:
    process = subprocess.run([sys.executable, "-c", CHECKS], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.count("you can train on this data") == 5


@pytest.mark.parametrize(
    "words",
    [
        "train tag nope.conllu",
        "train classify reviews.csv --data.label nope",
        "train translate reviews.csv --data.target nope",
        "train classify reviews.csv --train.lr abc",
        "train classify reviews.csv --frobnicate",
        "train classify reviews.csv --out RUNS/tag",
        "train language reviews.csv --valid nope.txt",
        "train --config nope.toml",
        "resume nope",
        "evaluate nope reviews.csv",
        "evaluate RUNS/classify nope.csv",
        "evaluate RUNS/classify reviews.csv --device gpu",
        "predict RUNS/classify --file nope.txt",
        "predict RUNS/classify x --device gpu",
        "generate RUNS/classify",
        "generate RUNS/language --temperature hot",
    ],
)
def test_invalid_input_is_reported_before_torch_is_imported(words: str, files: Path, runs: Path) -> None:
    process = without_torch(*words.replace("RUNS", str(runs)).split())
    assert process.returncode == 2
    assert process.stderr.startswith("seqloom: ")
    assert process.stderr.count("\n") == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_with_an_example(seqloom: Seqloom, name: str) -> None:
    result = seqloom(name, "--help")
    assert result.code == 0
    assert f"$ seqloom {name}" in result.out
    assert "Usage: seqloom" in result.out


def test_without_a_command_the_help_is_printed(seqloom: Seqloom) -> None:
    result = seqloom()
    assert result.code == 0
    assert all(name in result.out for name in COMMANDS)


@pytest.mark.parametrize("task", TASKS)
def test_the_help_of_a_task_has_the_keys_that_the_task_has(seqloom: Seqloom, task: str) -> None:
    help_text = seqloom("train", task, "--help").out
    arch = TASKS[task].config.architecture
    for key in all_keys().values():
        name = key.dotted.replace("_", "-")
        expected = task in key.tasks and (not key.archs or arch in key.archs)
        if key.dotted not in SHORT:
            assert (f"--{name} " in help_text or f"]{name} " in help_text) == expected, key.dotted
    assert ("--decode.temperature" in help_text) == (task in ("language", "translate", "caption"))


def test_defaults_in_the_help_are_those_of_the_architecture(seqloom: Seqloom) -> None:
    assert "[0.002]" in line_of("--train.lr", seqloom("train", "tag", "--help").out)
    help_text = seqloom("train", "tag", "--model", "transformer", "--size", "tiny", "--help").out
    assert "[0.001]" in line_of("--train.lr", help_text)
    assert "[2]" in line_of("--model.heads", help_text)
    assert "bidirectional" not in help_text


def line_of(option: str, help_text: str) -> str:
    """The line of an option and the next one, since the text may be wrapped."""
    lines = help_text[help_text.index(f"{option} ") :].splitlines()
    return " ".join(lines[:2])


@pytest.mark.parametrize("task", TASKS)
def test_examples_in_the_help_name_options_that_exist(task: str) -> None:
    known = {key.option for key in all_keys().values()} | {"--model", "--valid", "--test", "--dry-run"}
    for name in NOTES:
        for line in example_lines(name, task):
            used = {word for word in line.split("#")[0].split() if word.startswith("--")}
            assert used <= known, line


def test_every_architecture_and_task_is_listed(seqloom: Seqloom) -> None:
    for words, known in (("models", ARCHITECTURES), ("tasks", TASKS)):
        assert [line.split()[0] for line in seqloom("list", words).out.splitlines()[1:]] == list(known)
    result = seqloom("list", "models").out.splitlines()
    assert result[0].startswith("--model ")
    column = result[0].index("tasks")
    assert {line[column - 2 : column] for line in result} == {"  "}
    assert next(line for line in result if line.startswith("mixer "))[column:] == "classify, tag"
    corpora = {name for task in TASKS.values() for name in task.data_spec.corpora}
    assert len(seqloom("list", "corpora").out.splitlines()) == 1 + len(corpora)
    assert "CoNLL-U" in seqloom("list", "tasks").out


def test_list_without_an_argument_prints_all_lists(seqloom: Seqloom) -> None:
    lists = [seqloom("list", kind).out for kind in ("tasks", "models", "corpora")]
    assert seqloom("list").out == "\n".join(lists)


def test_check_lists_only_its_own_options_and_accepts_those_of_training(seqloom: Seqloom, files: Path) -> None:
    for words in (("check", "--help"), ("check", "classify", "--help")):
        help_text = seqloom(*words).out
        assert "--valid" in help_text
        assert not [word for word in ("--model", "--size", "--device", "--train.", "--decode.") if word in help_text]
    assert "--data.label " in help_text
    assert seqloom("check", "classify", "reviews.csv", "--train.lr", "0.1", "--model", "gru").code == 0
    assert "--train.lr" in seqloom("init", "classify", "--help").out  # init writes it to the config


def test_the_doctor_names_extras_that_exist() -> None:
    assert set(EXTRAS) <= set(metadata("seqloom").get_all("Provides-Extra") or ())
    assert all(packages_of(extra) for extra in EXTRAS)


def test_the_doctor_prints_versions_and_backends(seqloom: Seqloom) -> None:
    result = seqloom("doctor")
    assert result.code == 0
    assert re.search(r"backend  vendor: usable for .*\blstm \(\w+ LSTM\)", result.out)
    assert "backend  reference loop: usable, for every recurrence" in result.out
    assert "gru-after" in result.out
    assert all(word in result.out for word in ("torch", "threads", "cache", "extra", "cuda"))
