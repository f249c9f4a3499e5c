"""What TensorBoard shows is what the log says, once each, also after a run that was interrupted."""

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


def shown(run: Path) -> dict[str, list[tuple[int, float]]]:
    """Each curve: its steps and values."""
    read = EventAccumulator(str(run / "tensorboard")).Reload()
    return {name: [(point.step, point.value) for point in read.Scalars(name)] for name in read.Tags()["scalars"]}


def logged(run: Path) -> dict[str, list[tuple[int, Any]]]:
    """The same, by the log."""
    curves: dict[str, list[tuple[int, Any]]] = {}
    for line in lines(run):
        parts = {"step": ("train", {name: line.get(name) for name in TRAIN}), "valid": ("valid", line.get("scores"))}
        part, values = parts.get(line["event"], ("", None))
        for name, value in (values or {}).items():
            curves.setdefault(f"{part}/{name}", []).append((line["step"], pytest.approx(value, rel=1e-6)))
    return curves


def break_at(step: int) -> Any:
    """A listener that ends the run there, in disorder."""

    def listen(event: Event) -> None:
        if isinstance(event, Step) and event.step == step:
            raise KeyboardInterrupt

    return listen


def test_a_run_draws_what_it_logs(tmp_path: Path) -> None:
    start(experiment(), tmp_path / "run")
    curves = shown(tmp_path / "run")
    assert [step for step, _ in curves["train/loss"]] == [1, 2, 3, 4]
    assert [step for step, _ in curves["valid/perplexity"]] == [2, 4]
    assert curves == logged(tmp_path / "run")
    texts = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload().Tags()["tensors"]
    assert any(name.startswith("sample") for name in texts)


@pytest.mark.parametrize("step", [1, 2, 3, 4])  # before a checkpoint, at one, after it, at the last
def test_repeated_steps_are_drawn_once(step: int, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        start(experiment(), tmp_path / "run", [break_at(step)])
    resume(tmp_path / "run")
    assert [at for at, _ in shown(tmp_path / "run")["train/loss"]] == [1, 2, 3, 4]
    assert shown(tmp_path / "run") == logged(tmp_path / "run")


def test_nothing_is_written_unless_asked_for(tmp_path: Path) -> None:
    start(experiment(tensorboard=False), tmp_path / "run")
    assert not (tmp_path / "run" / "tensorboard").exists()


def test_a_link_out_of_the_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        start(experiment(), tmp_path / "run", [break_at(3)])
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
