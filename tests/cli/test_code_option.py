"""`--code`: parts that a file registers work like built-in parts, and a run that uses them needs the file again."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from click import Command

from seqloom.cli.main import GROUPS
from seqloom.core.run_format import MANIFEST
from tests.cli.conftest import Seqloom
from tests.toys import word_count

pytestmark = pytest.mark.usefixtures("forget_parts")

TASK = (
    Path(word_count.__file__).read_text(encoding="utf-8")
    + """
from seqloom.core.part_origin import Origin
from seqloom.tasks.registry import TASKS, TaskEntry

TASKS.register("count", TaskEntry(__name__, "count the words of a text"), Origin.of(CountWords))
"""
)

PAIRS = """
import os, signal, threading, time
from pathlib import Path

from seqloom.models.family import Family, Width
from seqloom.models.registry import ARCHITECTURES, Architecture
from seqloom.core.config.section import key
from seqloom.core.part_origin import Origin


class Pairs(Family):
    sizes = {size: {"dim": 8, "depth": 1, "hidden": 16} for size in ("tiny", "small", "base")}
    hidden: Width = key(description="The size of its output.")
    hidden_width = output_width = property(lambda self: self.hidden)

    def build(self, input_size, *, causal):
        from seqloom.nn.convolution import CausalConvolution

        return CausalConvolution(input_size, self.hidden, 2, activation="tanh")


def die():
    while not list(Path("killed", "checkpoints").glob("step-*")):
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGKILL)


if "DIE" in os.environ:
    threading.Thread(target=die, daemon=True).start()
FAMILY = Pairs
ARCHITECTURES.register("pairs", Architecture(__name__, "each token and the one before it"), Origin.of(Pairs))
"""
COMMANDS = [command for commands in GROUPS.values() for command in commands]
TINY = ("--size", "tiny", "--train.steps", "4", "--device", "cpu", "--data.examples", "100")
MISSING = "made with the family 'pairs' of pairs.py, which is not registered. Pass --code pairs.py"


@pytest.fixture(autouse=True)
def code(tmp_path: Path, in_empty_folder: None) -> Path:
    (tmp_path / "pairs.py").write_text(PAIRS, encoding="utf-8")
    (tmp_path / "my_task.py").write_text(TASK, encoding="utf-8")
    return tmp_path


def in_new_process(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "seqloom.cli", *words]
    paths = os.pathsep.join(path for path in sys.path if path)
    variables = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run(command, env=variables, check=False, capture_output=True, text=True)


# Options -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_the_code_option(seqloom: Seqloom, command: Command) -> None:
    assert "--code <FILE.py>" in seqloom(command.name, "--help").out


@pytest.mark.parametrize(
    "words",
    [
        ("train", "count", "--help", "--code", "my_task.py"),
        ("train", "--code", "my_task.py", "count", "--help"),
        ("train", "--help", "count", "--code=./my_task.py"),
    ],
)
def test_a_user_defined_task_has_help(seqloom: Seqloom, words: tuple[str, ...]) -> None:
    result = seqloom(*words)
    assert (result.code, result.err) == (0, "")
    assert "Learns to count the words of a text." in result.out
    assert "--data.count" in result.out


def test_user_defined_names_are_listed(seqloom: Seqloom) -> None:
    assert "each token and the one before it" in seqloom("list", "models", "--code", "pairs.py").out
    assert "count the words of a text" in seqloom("list", "--code", "pairs.py", "tasks", "--code", "my_task.py").out


def test_a_code_file_without_torch_does_not_import_torch() -> None:
    script = "import sys\nfrom seqloom.cli.main import main\nmain(sys.argv[1:])\nsys.exit('torch' in sys.modules)"
    words = [sys.executable, "-c", script, "train", "tag", "--model", "pairs", "--help", "--code", "pairs.py"]
    process = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (0, "")
    assert "--model.hidden" in process.stdout


def test_words_after_two_dashes_are_texts(seqloom: Seqloom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.cli.resolve.load_code", lambda file: pytest.fail(file))
    assert "no such folder" in seqloom("predict", "nowhere", "--", "--code", "pairs.py").err


def test_a_config_can_not_name_a_code_file(seqloom: Seqloom) -> None:
    Path("experiment.toml").write_text('task = "tag"\ncode = "pairs.py"\n', encoding="utf-8")
    result = seqloom("train", "--config", "experiment.toml")
    assert result.code == 2
    assert result.err.startswith("seqloom: experiment.toml:2: unknown key code.")
    assert "pairs" not in sys.modules


# Refused -------------------------------------------------------------------------------------------------------------


def test_the_option_requires_a_file(seqloom: Seqloom) -> None:
    result = seqloom("train", "tag", "--code")
    assert (result.code, result.out) == (2, "")
    assert result.err == "seqloom: option '--code' requires an argument. (seqloom train tag --help lists all)\n"


@pytest.mark.parametrize(
    "command", ["train", "check", "init", "resume", "predict", "evaluate", "report", "runs", "list"]
)
def test_a_code_file_that_can_not_be_loaded_is_the_first_error(seqloom: Seqloom, command: str) -> None:
    result = seqloom(command, "--frobnicate", "--code", "nope.py", "--help")
    assert (result.code, result.out) == (2, "")
    assert result.err == "seqloom: nope.py: there is no such file. Check the name: --code takes a Python file.\n"


def test_the_traceback_is_shown_on_request(seqloom: Seqloom, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bad.py").write_text("def f():\n    1 / 0\nf()\n", encoding="utf-8")
    result = seqloom("list", "--code", "bad.py")
    sentence = "bad.py:2: importing it raised ZeroDivisionError: division by zero. Correct it"
    assert result.err == f"seqloom: {sentence} (SEQLOOM_DEBUG=1 shows the traceback).\n"
    assert result.code == 2
    monkeypatch.setenv("SEQLOOM_DEBUG", "1")
    result = seqloom("list", "--code", "bad.py")
    assert result.err.startswith("Traceback (most recent call last):")
    assert 'bad.py", line 3, in <module>' in result.err
    assert result.err.endswith("shows the traceback).\n")


def test_a_code_file_that_exits_is_an_error(seqloom: Seqloom) -> None:
    Path("bad.py").write_text("raise SystemExit(0)", encoding="utf-8")
    assert seqloom("list", "--code", "bad.py").code == 2
    Path("slow.py").write_text("raise KeyboardInterrupt", encoding="utf-8")
    result = seqloom("list", "--code", "slow.py")
    assert (result.code, result.err.strip()) == (130, "seqloom: interrupted.")


# Runs ----------------------------------------------------------------------------------------------------------------


def train_with_code(seqloom: Seqloom, *more: str) -> None:
    result = seqloom("train", "classify", "--model", "pairs", "--code", "pairs.py", "--out", "run", *TINY, *more)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[-1].endswith(" --code pairs.py")


def test_a_run_is_used_in_another_process(seqloom: Seqloom) -> None:
    train_with_code(seqloom)
    for words in (("predict", "run", "one"), ("resume", "run"), ("evaluate", "run", "test.csv")):
        process = in_new_process(*words)
        assert (process.returncode, process.stdout) == (2, "")
        assert process.stderr.startswith(f"seqloom: run: {MISSING}")
    process = in_new_process("predict", "run", "one", "--code", "pairs.py")
    assert (process.returncode, process.stderr) == (0, "")
    assert in_new_process("report", "run").stderr.startswith(f"warning run: {MISSING}")
    assert in_new_process("runs", ".").stderr == ""


def test_a_changed_code_file_is_a_warning_and_can_not_resume(seqloom: Seqloom) -> None:
    train_with_code(seqloom)
    Path("pairs.py").write_text(f"{PAIRS}# changed\n", encoding="utf-8")
    warning = "run: made with the family 'pairs' of pairs.py (SHA-256 "
    process = in_new_process("predict", "run", "one", "--json", "--code", "pairs.py")
    assert process.returncode == 0
    assert process.stderr.startswith(f"warning {warning}")
    assert process.stderr.count("\n") == 1
    assert json.loads(process.stdout)["text"] == "one"
    process = in_new_process("resume", "run", "--code", "pairs.py")
    assert process.returncode == 2
    assert process.stderr.startswith(f"seqloom: {warning}")
    Path("old").mkdir()
    Path("old", "moved.py").write_text(PAIRS, encoding="utf-8")
    process = in_new_process("resume", "run", "--code", "old/moved.py")
    assert (process.returncode, process.stderr) == (0, "")


def test_code_is_never_loaded_from_a_run(seqloom: Seqloom) -> None:
    train_with_code(seqloom)
    shutil.copy("pairs.py", "run")
    process = in_new_process("predict", "run", "one", "--code", "run/pairs.py")
    assert process.returncode == 2
    assert "and code is never loaded from a run. Read it, and copy it elsewhere." in process.stderr


def test_a_run_may_use_two_code_files(seqloom: Seqloom) -> None:
    words = ("--code", "pairs.py", "--code", "my_task.py")
    result = seqloom("train", "count", "--model", "pairs", *words, "--out", "run", *TINY)
    assert (result.code, result.err) == (0, "")
    parts = json.loads(Path("run", MANIFEST).read_text(encoding="utf-8"))["parts"]
    assert {(part["kind"], part["name"], part["file"]) for part in parts} == {
        ("task", "count", "my_task.py"),
        ("family", "pairs", "pairs.py"),
    }
    process = in_new_process("predict", "run", "one two")
    named = "the task 'count' of my_task.py and the family 'pairs' of pairs.py, which are not registered"
    advice = "Pass --code my_task.py --code pairs.py (in Python, import the modules that register them)"
    assert process.stderr == f"seqloom: run: made with {named}. {advice}.\n"
    assert in_new_process("predict", "run", "one two", *words).stdout.startswith("text: one two\nwords: ")


NOTEBOOK = """
import sys, warnings
import seqloom
from seqloom.nn.activations import ACTIVATIONS
from torch import nn
class Mine(nn.Tanh): ...
ACTIVATIONS.register("mine", Mine)
if sys.argv[1] == "train":
    train = {"steps": 4, "device": "cpu"}
    model = {"arch": "conv", "gate": "none", "activation": "mine", "size": "tiny"}
    seqloom.train("classify", data={"examples": 100}, model=model, train=train, out="run")
warnings.simplefilter("error")
assert seqloom.resume("run").predict(["one"])
"""


def test_a_part_of_a_notebook_is_recorded_by_its_module() -> None:
    for word in ("train", "resume"):
        command = [sys.executable, "-c", NOTEBOOK, word]
        process = subprocess.run(command, check=False, capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
    [part] = json.loads(Path("run", MANIFEST).read_text(encoding="utf-8"))["parts"]
    assert part == {"kind": "activation", "name": "mine", "module": "__main__"}
    process = in_new_process("predict", "run", "one")
    sentence = "run: made with the activation 'mine' of the module __main__, which is not registered"
    advice = "Register it first (on the command line, from a file that --code names)"
    assert process.stderr == f"seqloom: {sentence}. {advice}.\n"


def test_a_run_killed_and_resumed_in_a_new_process_ends_with_the_same_weights() -> None:
    torch.set_num_threads(1)
    steps = ("--train.steps", "60", "--train.validate_every", "20", "--train.checkpoint_every", "5")
    words = ("train", "classify", "--model", "pairs", "--code", "pairs.py", *TINY, *steps, "--out")
    whole = in_new_process(*words, "whole")
    assert whole.returncode == 0, whole.stderr
    assert in_new_process(*words, "killed", DIE="1").returncode == -signal.SIGKILL
    assert not Path("killed", "scores.json").exists()
    resumed = in_new_process("resume", "killed", "--code=pairs.py")
    assert resumed.returncode == 0, resumed.stderr
    names = [sorted(path.name for path in Path(run).glob("model-*")) for run in ("whole", "killed")]
    assert names[0] == names[1] != []
