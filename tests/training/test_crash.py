"""A run that fails at any write, or is killed at any moment, ends where the uninterrupted run does, bit for bit."""

import json
import random
import re
import shutil
import signal
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file
from torch import Tensor

from seqloom.api import resume, start
from seqloom.tasks.experiment import Experiment
from seqloom.training import checkpoints
from tests.training.fault_injection import run_in_process, run_with_fault, run_with_snapshots, start_or_resume
from tests.training.small import lines, tiny

pytestmark = pytest.mark.usefixtures("unchecked")  # hundreds of runs


def short_config(task: str) -> Experiment:
    """Two steps, each with a validation and a checkpoint, one of which is kept: each kind of write happens twice."""
    data = {"examples": 24} if task == "language" else {}
    train = {"steps": 2, "validate_every": 1, "log_every": 1, "keep_checkpoints": 1}
    return tiny(task, data=data, train=train, **({"decode": {"max_length": 2}} if task == "language" else {}))


def results(folder: Path) -> dict[str, object]:
    """What must be the same: log, best weights, scores, last checkpoint."""
    last = checkpoints.list_checkpoints(folder)[-1]
    best = [file.name for file in folder.glob("model-*.safetensors")]  # named by its SHA-256
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    del scores["cost"]
    return {"step": last.name, "best": best, "log": lines(folder), "scores": scores, "tensors": tensors(last)}


def tensors(checkpoint: Path) -> dict[str, Tensor]:
    """Weights, optimizer state and carried state."""
    files = sorted(checkpoint.glob("*.safetensors"))
    return {f"{file.name}/{name}": tensor for file in files for name, tensor in load_file(file).items()}


def assert_same(folder: Path, expected: dict[str, object]) -> None:
    actual = results(folder)
    assert (folder / "report.html").exists()
    assert not list(folder.rglob(".making-*"))
    first, second = actual.pop("tensors"), dict(expected).pop("tensors")
    assert actual == {name: value for name, value in expected.items() if name != "tensors"}
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert list(first) == list(second)
    assert all(tensor.equal(second[name]) for name, tensor in first.items())


SLOW_TASKS = [pytest.param(task, marks=pytest.mark.slow) for task in ("classify", "tag")]
Uninterrupted = tuple[Experiment, dict[str, object]]


@pytest.fixture(scope="module", params=["language", *SLOW_TASKS])
def uninterrupted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Uninterrupted:
    """An experiment and the results of its uninterrupted run."""
    config, folder = short_config(request.param), tmp_path_factory.mktemp("uninterrupted") / "run"
    start(config, folder)
    return config, results(folder)


def run_folder(folder: Path, name: str) -> Path:
    """A folder for a run and its cache, created before the writes are counted."""
    (folder / name).mkdir()
    return folder / name / "run"


@pytest.mark.parametrize("kind", ["error", "full"])
def test_a_failure_at_every_write_loses_nothing(kind: str, uninterrupted: Uninterrupted, tmp_path: Path) -> None:
    """A failed write ends the run with a one-line error, or does not matter (the removal of an old file)."""
    config, expected = uninterrupted
    count, _ = run_with_fault("error", -1, config, run_folder(tmp_path, "counted"))
    failures = 0
    for index in range(count):
        folder = run_folder(tmp_path, str(index))
        _, error = run_with_fault(kind, index, config, folder)
        if error:
            failures += 1
            assert error.startswith("WriteError: "), error
            assert error.count("\n") == 0
            start_or_resume(config, folder)
        assert_same(folder, expected)
        shutil.rmtree(folder.parent)
    assert failures > 50


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_sigkill_at_a_write_loses_nothing(every: bool, uninterrupted: Uninterrupted, tmp_path: Path) -> None:
    """Killed before every write, or before each that finds other files than the one before (fsync changes none)."""
    config, expected = uninterrupted
    count = run_with_snapshots(config, run_folder(tmp_path, "copied"), tmp_path / "snapshots")
    previous, kills = None, 0
    for index in range(count):
        snapshot = tmp_path / "snapshots" / str(index)
        content = {path.relative_to(snapshot): path.is_file() and path.read_bytes() for path in snapshot.rglob("*")}
        if every or content != previous:
            folder = run_folder(tmp_path, str(index))
            assert run_in_process(index, config, folder) == -signal.SIGKILL
            assert files(folder.parent) == files(snapshot)
            start_or_resume(config, folder)
            assert_same(folder, expected)
            shutil.rmtree(folder.parent)
            kills += 1
        previous = content
        shutil.rmtree(snapshot)
    assert kills > 50


def files(folder: Path) -> list[str]:
    """The files below a folder, without the random part of temporary names."""
    return sorted(re.sub(r"making-[0-9a-f]{16}", "making", str(path.relative_to(folder))) for path in folder.rglob("*"))


@pytest.fixture(scope="module")
def longer(tmp_path_factory: pytest.TempPathFactory) -> tuple[Experiment, dict[str, object], float]:
    """An experiment, the results of its uninterrupted run in a process, and how many seconds that takes."""
    config = tiny("language", train={"steps": 40, "validate_every": 10, "log_every": 5, "checkpoint_every": 3})
    folder, seconds = tmp_path_factory.mktemp("longer"), 0.0
    for name in ("warm-up", "uninterrupted"):  # the first process also waits for the fork server
        begin = time.monotonic()
        assert run_in_process(-1, config, folder / name / "run") == 0
        seconds = time.monotonic() - begin
    return config, results(folder / "uninterrupted" / "run"), seconds


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 55))])
def test_kills_at_random_moments_lose_nothing(
    seed: int, longer: tuple[Experiment, dict[str, object], float], tmp_path: Path
) -> None:
    """The run is killed at random moments until it ends."""
    config, expected, seconds = longer
    random_generator, folder, code, kills = random.Random(seed), tmp_path / "killed" / "run", -1, 0
    while code or not kills:
        if code == 0:  # it ended before the first kill: repeat with earlier kills
            shutil.rmtree(folder.parent)
            seconds /= 2
        timeout = random_generator.uniform(0.05, 0.8 if kills < 3 else 2) * seconds
        code = run_in_process(-1, config, folder, timeout)
        kills += code == -signal.SIGKILL
        assert kills < 100
    assert_same(folder, expected)


def test_a_finished_run_is_not_changed_by_resume(tmp_path: Path) -> None:
    start(short_config("language"), tmp_path / "run")
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "run").rglob("*") if file.name != "report.html"}
    resume(tmp_path / "run")
    assert before == {file: file.stat().st_mtime_ns for file in before}
