"""A run that is broken at any write, or killed at any moment, ends where the unbroken one does, bit for bit."""

import json
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file

from seqloom.api import resume, start
from seqloom.tasks.experiment import Experiment
from seqloom.training import checkpoints
from tests.training.breaking import begin_or_go_on, broken_run, in_process
from tests.training.small import lines, tiny

pytestmark = pytest.mark.usefixtures("unchecked")  # hundreds of runs


def short(task: str) -> Experiment:
    """Two steps, after each a validation and a checkpoint, of which one is kept: every kind of write, and again."""
    return tiny(task, train={"steps": 2, "validate_every": 1, "log_every": 1, "keep_checkpoints": 1})


def told(folder: Path) -> dict[str, object]:
    """All that must be the same: final weights, optimizer, carried state, log, best weights, scores but their cost."""
    last = checkpoints.list_checkpoints(folder)[-1]
    tensors = {
        f"{file.name}/{name}": tensor
        for file in sorted(last.glob("*.safetensors"))
        for name, tensor in load_file(file).items()
    }
    best = [file.name for file in folder.glob("model-*.safetensors")]  # the name is the fingerprint
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    del scores["cost"]
    return {"step": last.name, "best": best, "log": lines(folder), "scores": scores, "tensors": tensors}


def assert_same(folder: Path, expected: dict[str, object]) -> None:
    found = told(folder)
    assert (folder / "report.html").exists()
    assert not list(folder.rglob(".making-*"))
    first, second = found.pop("tensors"), dict(expected).pop("tensors")
    assert found == {name: value for name, value in expected.items() if name != "tensors"}
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert list(first) == list(second)
    assert all(tensor.equal(second[name]) for name, tensor in first.items())


@pytest.fixture(
    scope="module", params=["language", *(pytest.param(task, marks=pytest.mark.slow) for task in ("classify", "tag"))]
)
def whole(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Experiment, dict[str, object]]:
    """An experiment, and what its unbroken run comes to."""
    chosen, folder = short(request.param), tmp_path_factory.mktemp("whole") / "run"
    start(chosen, folder)
    return chosen, told(folder)


Whole = tuple[Experiment, dict[str, object]]


def place(folder: Path, name: str) -> Path:
    """For a run and its cache; there before the run, whose writes are counted."""
    (folder / name).mkdir()
    return folder / name / "run"


@pytest.mark.parametrize("how", ["error", "full"])
def test_a_failure_at_every_write_loses_nothing(how: str, whole: Whole, tmp_path: Path) -> None:
    """A failed write ends the run with a sentence, or does not matter (the removal of what is no longer needed)."""
    chosen, expected = whole
    count, _ = broken_run(how, -1, chosen, place(tmp_path, "whole"))
    failed = 0
    for number in range(count):
        folder = place(tmp_path, str(number))
        _, wrong = broken_run(how, number, chosen, folder)
        if wrong:
            failed += 1
            assert wrong.startswith("WriteError: "), wrong
            assert wrong.count("\n") == 0
            begin_or_go_on(chosen, folder)
        assert_same(folder, expected)
    assert failed > 50


def test_sigkill_at_every_write_loses_nothing(whole: Whole, tmp_path: Path) -> None:
    chosen, expected = whole
    count, _ = broken_run("kill", -1, chosen, place(tmp_path, "whole"))
    assert count > 50
    for number in range(count):
        folder = place(tmp_path, str(number))
        assert in_process(number, chosen, folder) == -signal.SIGKILL
        begin_or_go_on(chosen, folder)
        assert_same(folder, expected)


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 55))])
def test_kills_at_random_moments_lose_nothing(seed: int, tmp_path: Path) -> None:
    """Killed again and again, each time after another moment, until it has come to its end."""
    chosen = tiny("language", train={"steps": 40, "validate_every": 10, "log_every": 5, "checkpoint_every": 3})
    for name in ("warm", "whole"):  # the first process also waits for the fork server
        begun = time.monotonic()
        assert in_process(-1, chosen, tmp_path / name / "run") == 0
        needed = time.monotonic() - begun
    moments, folder, code, kills = random.Random(seed), tmp_path / "broken" / "run", -1, 0
    while code or not kills:
        if code == 0:  # it came to its end before the first kill, on a machine that was busier before: again, sooner
            shutil.rmtree(folder.parent)
            needed /= 2
        code = in_process(-1, chosen, folder, wait=moments.uniform(0.05, 0.8 if kills < 3 else 2) * needed)
        kills += code == -signal.SIGKILL
        assert kills < 100
    assert_same(folder, told(tmp_path / "whole" / "run"))


def test_a_finished_run_is_left_as_it_is(tmp_path: Path) -> None:
    start(short("language"), tmp_path / "run")
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "run").rglob("*") if file.name != "report.html"}
    resume(tmp_path / "run")
    assert before == {file: file.stat().st_mtime_ns for file in before}
