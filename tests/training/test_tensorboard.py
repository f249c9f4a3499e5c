"""TensorBoard has the values of the log, each once, also after an interrupted run."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from seqloom.api import resume, start
from seqloom.core.problem import RunError, UserError
from seqloom.tasks.experiment import Experiment
from seqloom.training.events import Event, Step
from tests.training.small import lines, tiny

TRAIN = ("loss", "lr", "gradient", "clipped")


def experiment(tensorboard: bool = True) -> Experiment:
    steps = {"steps": 4, "validate_every": 2, "log_every": 1, "checkpoint_every": 2, "tensorboard": tensorboard}
    return tiny("language", train=steps)


def tensorboard_curves(run: Path) -> dict[str, list[tuple[int, float]]]:
    """The steps and values of each curve in TensorBoard."""
    accumulator = EventAccumulator(str(run / "tensorboard")).Reload()
    return {
        name: [(point.step, point.value) for point in accumulator.Scalars(name)]
        for name in accumulator.Tags()["scalars"]
    }


def logged_curves(run: Path) -> dict[str, list[tuple[int, Any]]]:
    """The steps and values of each curve in the log."""
    curves: dict[str, list[tuple[int, Any]]] = {}
    for line in lines(run):
        groups = {"step": ("train", {name: line.get(name) for name in TRAIN}), "valid": ("valid", line.get("scores"))}
        prefix, values = groups.get(line["event"], ("", None))
        for name, value in (values or {}).items():
            curves.setdefault(f"{prefix}/{name}", []).append((line["step"], pytest.approx(value, rel=1e-6)))
    return curves


def interrupt_at(step: int) -> Any:
    """A listener that interrupts the run at a step."""

    def listen(event: Event) -> None:
        if isinstance(event, Step) and event.step == step:
            raise KeyboardInterrupt

    return listen


def test_tensorboard_curves_equal_the_log(tmp_path: Path) -> None:
    start(experiment(), tmp_path / "run")
    curves = tensorboard_curves(tmp_path / "run")
    assert [step for step, _ in curves["train/loss"]] == [1, 2, 3, 4]
    assert [step for step, _ in curves["valid/perplexity"]] == [2, 4]
    assert curves == logged_curves(tmp_path / "run")
    texts = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload().Tags()["tensors"]
    assert any(name.startswith("sample") for name in texts)


@pytest.mark.parametrize("step", [1, 2, 3, 4])  # before a checkpoint, at one, after it, at the last
def test_repeated_steps_are_plotted_once(step: int, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        start(experiment(), tmp_path / "run", [interrupt_at(step)])
    resume(tmp_path / "run")
    assert [index for index, _ in tensorboard_curves(tmp_path / "run")["train/loss"]] == [1, 2, 3, 4]
    assert tensorboard_curves(tmp_path / "run") == logged_curves(tmp_path / "run")


def test_without_the_option_nothing_is_written(tmp_path: Path) -> None:
    start(experiment(tensorboard=False), tmp_path / "run")
    assert not (tmp_path / "run" / "tensorboard").exists()


def test_a_symlink_out_of_the_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        start(experiment(), tmp_path / "run", [interrupt_at(3)])
    shutil.rmtree(tmp_path / "run" / "tensorboard")
    (tmp_path / "precious").mkdir()
    (tmp_path / "run" / "tensorboard").symlink_to(tmp_path / "precious")
    with pytest.raises(RunError, match="tensorboard: a link out of the folder"):
        resume(tmp_path / "run")
    assert not list((tmp_path / "precious").iterdir())


def test_missing_tensorboard_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UserError, match=r"needs TensorBoard, which is not installed\. Install it with `pip"):
        start(experiment(), tmp_path / "run")
