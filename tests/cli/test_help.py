import subprocess
import sys

import pytest

from seqloom.cli.listing import MODELS
from seqloom.cli.main import GROUPS
from seqloom.cli.teaching import LESSONS, NOTES, example_lines
from seqloom.spec.config.experiment import USED_BY
from seqloom.spec.config.keys import all_keys
from seqloom.spec.names import ARCHITECTURES, TASKS
from tests.cli.conftest import Seqloom

COMMANDS = [str(each.name) for some in GROUPS.values() for each in some]


@pytest.mark.parametrize("words", [["--help"], ["train", "tag", "--help"], ["list", "models"], ["runs"]])
def test_no_torch_and_no_tokenizers_until_they_are_needed(words: list[str]) -> None:
    code = "import sys; from seqloom.cli.main import main; main(sys.argv[1:]); heavy = {'torch', 'tokenizers', 'numpy'}"
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}; sys.exit(7 if heavy & set(sys.modules) else 0)", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_with_an_example(seqloom: Seqloom, name: str) -> None:
    said = seqloom(name, "--help")
    assert said.code == 0
    assert f"$ seqloom {name}" in said.out
    assert "Usage: seqloom" in said.out


def test_without_a_command_there_is_help(seqloom: Seqloom) -> None:
    said = seqloom()
    assert said.code == 0
    assert all(name in said.out for name in COMMANDS)


@pytest.mark.parametrize("task", TASKS)
def test_the_help_of_a_task_has_the_keys_that_the_task_has(seqloom: Seqloom, task: str) -> None:
    shown = seqloom("train", task, "--help").out
    for dotted, tasks in USED_BY.items():
        name = all_keys()[dotted].dotted.replace("_", "-")
        assert (f"{name} " in shown or f"]{name} " in shown) == (task in tasks), dotted
    assert ("--decode.temperature" in shown) == (task == "language")


def test_defaults_in_the_help_are_those_of_the_architecture(seqloom: Seqloom) -> None:
    assert "[0.002]" in line_of("--train.lr", seqloom("train", "tag", "--help").out)
    shown = seqloom("train", "tag", "--model", "transformer", "--size", "tiny", "--help").out
    assert "[0.001]" in line_of("--train.lr", shown)
    assert "[2]" in line_of("--model.heads", shown)
    assert "bidirectional" not in shown


def line_of(option: str, shown: str) -> str:
    """The line of an option, and the one after it, onto which it may have been wrapped."""
    after = shown[shown.index(f"{option} ") :].splitlines()
    return " ".join(after[:2])


@pytest.mark.parametrize("task", TASKS)
def test_examples_in_the_help_name_options_that_exist(task: str) -> None:
    known = {key.option for key in all_keys().values()} | {"--model", "--valid", "--test", "--dry-run"}
    for name in NOTES:
        for line in example_lines(name, task, LESSONS[task]):
            used = {word for word in line.split("#")[0].split() if word.startswith("--")}
            assert used <= known, line


def test_every_architecture_and_task_is_listed(seqloom: Seqloom) -> None:
    assert set(MODELS) == set(ARCHITECTURES)
    assert set(LESSONS) == set(TASKS)
    said = seqloom("list", "models").out.splitlines()
    assert "mixer\t" in said[1]
    assert said[1].endswith("\tclassify, tag")
    assert len(seqloom("list", "corpora").out.splitlines()) == 4
    assert "CoNLL-U" in seqloom("list", "tasks").out


def test_the_doctor_tells_versions_and_backends(seqloom: Seqloom) -> None:
    said = seqloom("doctor")
    assert said.code == 0
    assert "backend  reference: usable" in said.out
    assert "gru-after" in said.out
    assert all(word in said.out for word in ("torch", "threads", "cache", "extra", "cuda"))
