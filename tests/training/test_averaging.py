"""The average of the weights of the last validations: its value, when it is saved, and recovery from failures."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from seqloom.api import resume, start
from seqloom.core.problem import RunError
from seqloom.core.run_format import verify
from seqloom.tasks.experiment import Experiment
from seqloom.training import checkpoints
from seqloom.training.checkpoints import WEIGHTS, checkpoint_path, mean_weights
from seqloom.training.events import Average, End, Event, Listener, Saved
from tests.training.fault_injection import run_with_fault, start_or_resume
from tests.training.small import lines, tiny, tiny_session
from tests.training.test_crash import assert_same, results

pytestmark = pytest.mark.usefixtures("unchecked")

KEPT, NOT_KEPT = 2.5, 1.0  # learning rates: with the first, steps are so large that their mean is better than any


def averaging_config(lr: float = KEPT, average: int | None = 3, **train: object) -> Experiment:
    steps = {"steps": 8, "validate_every": 2, "keep_checkpoints": 1, "batch_size": 1, "bptt": 4, "samples": 0}
    rate = {"optimizer": "sgd", "schedule": "constant", "warmup": 0, "lr": lr}
    return tiny("language", train={**steps, **rate, "average_checkpoints": average, **train})


@pytest.fixture(scope="module", params=[KEPT, NOT_KEPT], ids=["kept", "not kept"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Experiment, Path]:
    """An experiment and the folder of its uninterrupted run; `before` has its checkpoints before the last pruning."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    start(averaging_config(request.param), folder, [copy_at_end(folder)])
    return averaging_config(request.param), folder


def copy_at_end(folder: Path) -> Listener:
    """A listener that copies the checkpoints to `before`, beside the run, at its end."""

    def copy(event: Event) -> None:
        if isinstance(event, End):
            shutil.copytree(folder / "checkpoints", folder.parent / "before" / "checkpoints")

    return copy


def steps_kept(folder: Path) -> list[int]:
    """The steps of the checkpoints."""
    return [int(path.name.removeprefix("step-")) for path in checkpoints.list_checkpoints(folder)]


def test_weights_are_averaged_in_float64(tmp_path: Path) -> None:
    trainer, seen = tiny_session("language").trainer([]), []
    (tmp_path / "checkpoints").mkdir()
    for _ in range(3):
        trainer.step()
        checkpoints.save(tmp_path, trainer)
        seen.append({name: tensor.clone() for name, tensor in trainer.model.state_dict().items()})
    mean = mean_weights([checkpoint_path(tmp_path, step) for step in (1, 2, 3)])
    assert list(mean) == sorted(seen[0])
    for name, tensor in mean.items():
        exact = torch.stack([state[name].double() for state in seen]).mean(dim=0)
        assert tensor.dtype == seen[0][name].dtype
        torch.testing.assert_close(tensor, exact.to(tensor.dtype), rtol=0, atol=0)


def test_integer_buffers_are_those_of_the_last_checkpoint(tmp_path: Path) -> None:
    trainer, norm = tiny_session("language").trainer([]), torch.nn.BatchNorm1d(2)
    trainer.model = norm  # type: ignore[assignment]
    (tmp_path / "checkpoints").mkdir()
    for step in (1, 2):
        norm(torch.randn(4, 2))
        trainer.progress.step = step
        checkpoints.save(tmp_path, trainer)
    assert mean_weights([checkpoint_path(tmp_path, 1), checkpoint_path(tmp_path, 2)])["num_batches_tracked"] == 2


def test_averaged_checkpoints_are_kept_until_the_end(
    whole: tuple[Experiment, Path],
) -> None:
    experiment, folder = whole
    before_the_end = folder.parent / "before"
    assert (steps_kept(before_the_end), steps_kept(folder)) == ([4, 6, 8], [8])
    (event,) = [line for line in lines(folder) if line["event"] == "average"]
    kept = experiment.train.lr == KEPT
    before = [line["scores"]["loss"] for line in lines(folder) if line["event"] == "valid"]
    assert (event["steps"], event["best"]) == ([4, 6, 8], kept)
    assert (event["scores"]["loss"] < min(before)) == kept
    scores = results(folder)["scores"]
    assert isinstance(scores, dict)
    assert scores["averaged"] == {"steps": [4, 6, 8], "score": event["scores"]["loss"], "kept": kept}
    assert scores["valid"]["loss"] == pytest.approx(min([*before, event["scores"]["loss"]]))
    model = verify(folder).model
    assert model is not None
    means = mean_weights([checkpoint_path(before_the_end, step) for step in (4, 6, 8)])
    weights = load_file(folder / model)
    assert all(tensor.equal(weights[name]) for name, tensor in means.items()) == kept


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_a_failure_at_every_write_after_the_last_step_loses_nothing(every: int, tmp_path: Path) -> None:
    """As after a kill, an unfinished write is repeated, bit for bit."""
    experiment, folder, ready = averaging_config(), tmp_path / "whole", tmp_path / "ready" / "run"
    start(experiment, folder)

    def interrupt(event: Event) -> None:
        if isinstance(event, Saved) and event.step == experiment.train.steps:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start(experiment, ready, [interrupt])
    assert not (ready / "scores.json").exists()
    shutil.copytree(ready.parent, tmp_path / "counted")
    count, error = run_with_fault("error", -1, experiment, tmp_path / "counted" / "run")
    assert (error, count > 20) == (None, True)
    for number in range(0, count, every):
        shutil.copytree(ready.parent, tmp_path / str(number))
        broken = tmp_path / str(number) / "run"
        if run_with_fault("error", number, experiment, broken)[1] is not None:
            start_or_resume(experiment, broken)
        assert_same(broken, results(folder))
        assert steps_kept(broken) == [8]


def test_a_failure_at_every_write_after_the_scores_loses_nothing(
    whole: tuple[Experiment, Path], tmp_path: Path
) -> None:
    """Nothing is trained or evaluated again; the averaged checkpoints are removed at the end."""
    experiment, folder = whole
    ready = tmp_path / "ready" / "run"
    shutil.copytree(folder, ready)
    shutil.copytree(folder.parent / "before" / "checkpoints", ready / "checkpoints", dirs_exist_ok=True)
    (ready / "report.html").unlink()
    shutil.copytree(ready.parent, tmp_path / "counted")
    count, error = run_with_fault("error", -1, experiment, tmp_path / "counted" / "run")
    assert (error, steps_kept(tmp_path / "counted" / "run")) == (None, [8])
    failed = 0
    for number in range(count):
        shutil.copytree(ready.parent, tmp_path / str(number))
        broken = tmp_path / str(number) / "run"
        if run_with_fault("error", number, experiment, broken)[1] is not None:
            failed += 1
            start_or_resume(experiment, broken)
        assert_same(broken, results(folder))
        assert steps_kept(broken) == [8]
        assert (broken / "scores.json").read_bytes() == (folder / "scores.json").read_bytes()
    assert failed > 5


def test_keep_checkpoints_applies_after_averaging(tmp_path: Path) -> None:
    start(averaging_config(keep_checkpoints=2), tmp_path / "run")
    assert steps_kept(tmp_path / "run") == [6, 8]


def test_a_run_resumes_between_all_validations(whole: tuple[Experiment, Path], tmp_path: Path) -> None:
    experiment, folder = whole

    def interrupt(event: Event) -> None:
        if event.name == "tick" and event.step in (1, 3, 5, 7) and event.step not in seen:
            seen.add(event.step)
            raise KeyboardInterrupt

    seen: set[int] = set()
    with pytest.raises(KeyboardInterrupt):
        start(experiment, tmp_path / "run", [interrupt])
    while len(seen) < 4:
        with pytest.raises(KeyboardInterrupt):
            resume(tmp_path / "run", listeners=[interrupt])
    resume(tmp_path / "run")
    assert_same(tmp_path / "run", results(folder))


def test_checkpoints_by_time_do_not_change_the_average(
    whole: tuple[Experiment, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment, folder = whole
    monkeypatch.setattr("seqloom.training.checkpointer.SECONDS", -1)
    start(experiment, tmp_path / "run")
    assert_same(tmp_path / "run", results(folder))


def test_a_single_validation_is_not_averaged(tmp_path: Path) -> None:
    run = start(averaging_config(steps=2), tmp_path / "run")
    assert "averaged" not in run.scores
    assert "average" not in {line["event"] for line in lines(tmp_path / "run")}


def test_without_averaging_no_more_checkpoints_are_kept(tmp_path: Path) -> None:
    run = start(averaging_config(average=None), tmp_path / "run")
    assert "averaged" not in run.scores
    assert steps_kept(tmp_path / "run") == [8]


def test_a_damaged_checkpoint_is_named_and_can_be_removed(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def interrupt(event: Event) -> None:
        if isinstance(event, Average):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start(averaging_config(), folder, [interrupt])
    (checkpoint_path(folder, 6) / WEIGHTS).unlink()
    with pytest.raises(RunError, match=r"step-000000006/weights.*Remove the checkpoint .*step-000000006\."):
        resume(folder)
    shutil.rmtree(checkpoint_path(folder, 6))
    assert resume(folder).scores["averaged"]["steps"] == [4, 8]
