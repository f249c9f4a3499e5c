"""A run that receives a signal saves a checkpoint, and ends as the uninterrupted run after resume."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seqloom.api import resume, start
from seqloom.core.run_format import verify
from seqloom.tasks.experiment import Experiment
from seqloom.training import checkpoints
from seqloom.training.checkpointer import RunCheckpointer, Stopped
from seqloom.training.events import Event, Saved, Tick
from tests.training.small import lines, tiny
from tests.training.test_crash import assert_same, results

pytestmark = pytest.mark.usefixtures("unchecked")


def config_of(task: str = "language", **train: Any) -> Experiment:
    return tiny(task, train={"steps": 6, "validate_every": 4, "log_every": 4, **train})


def signal_at(step: int, number: int) -> Callable[[Event], None]:
    """A listener that sends this process a signal after a step."""

    def listen(event: Event) -> None:
        if isinstance(event, Tick) and event.step == step:
            os.kill(os.getpid(), number)

    return listen


@pytest.mark.parametrize("task", ["language", "classify", "tag", "translate", "caption"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_saves_a_checkpoint_and_the_run_resumes(task: str, number: signal.Signals, tmp_path: Path) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "run"
    start(config_of(task), whole)
    handlers = {signal_number: signal.getsignal(signal_number) for signal_number in (signal.SIGINT, signal.SIGTERM)}
    with pytest.raises(Stopped) as stopped:
        start(config_of(task), folder, [signal_at(3, number)])
    expected = f"stopped by {number.name} at step 3; the run is saved. Continue with `seqloom resume {folder}`."
    assert str(stopped.value) == expected
    assert stopped.value.number == number
    assert {signal_number: signal.getsignal(signal_number) for signal_number in handlers} == handlers
    assert [path.name for path in checkpoints.list_checkpoints(folder)] == ["step-000000003"]
    assert '"event": "stop"' in (folder / "metrics.jsonl").read_text().splitlines()[-1]
    assert (folder / "report.html").exists()
    resume(folder)
    assert_same(folder, results(whole))


def test_a_signal_at_every_step(tmp_path: Path) -> None:
    start(config_of(), tmp_path / "whole")
    with pytest.raises(Stopped, match="at step 1;"):
        start(config_of(), tmp_path / "run", [signal_at(1, signal.SIGTERM)])
    for step in range(2, 6):
        with pytest.raises(Stopped, match=f"at step {step};"):
            resume(tmp_path / "run", listeners=[signal_at(step, signal.SIGTERM)])
    resume(tmp_path / "run")
    assert_same(tmp_path / "run", results(tmp_path / "whole"))


def test_a_signal_at_the_last_step_does_not_stop_the_run(tmp_path: Path) -> None:
    run = start(config_of(), tmp_path / "run", [signal_at(6, signal.SIGTERM)])
    assert run.scores["cost"]["steps"] == 6


def test_a_second_signal_stops_at_once(tmp_path: Path) -> None:
    checkpointer = RunCheckpointer(tmp_path)

    def twice() -> None:
        with checkpointer.catch_signals():
            os.kill(os.getpid(), signal.SIGINT)
            assert checkpointer.signal_number == signal.SIGINT
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        twice()


def test_another_thread_leaves_signals_alone(tmp_path: Path) -> None:
    handler, seen = signal.getsignal(signal.SIGTERM), []

    def within() -> None:
        with RunCheckpointer(tmp_path).catch_signals():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=within)
    thread.start()
    thread.join()
    assert seen == [handler]


def test_checkpoints_are_saved_every_n_steps_and_at_validations(tmp_path: Path) -> None:
    saved: list[int] = []
    listen = lambda event: saved.append(event.step) if isinstance(event, Saved) else None  # noqa: E731
    start(config_of(checkpoint_every=3, keep_checkpoints=3), tmp_path / "run", [listen])
    assert saved == [3, 4, 6]
    assert [path.name for path in checkpoints.list_checkpoints(tmp_path / "run")] == [
        f"step-00000000{n}" for n in (3, 4, 6)
    ]


def test_checkpoints_are_saved_by_time_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.training.checkpointer.SECONDS", -1)
    saved: list[int] = []
    listen = lambda event: saved.append(event.step) if isinstance(event, Saved) else None  # noqa: E731
    start(config_of(), tmp_path / "run", [listen])
    assert saved == [1, 2, 3, 4, 5, 6]
    assert len(checkpoints.list_checkpoints(tmp_path / "run")) == 2  # train.keep_checkpoints


def test_the_log_has_no_ticks_and_can_be_truncated(tmp_path: Path) -> None:
    checkpointer = RunCheckpointer(tmp_path)
    checkpointer.log_event(Tick(1, 9, 0, 0.5, 3))
    checkpointer.log_event(Saved(1))
    assert not (tmp_path / "metrics.jsonl").exists()
    start(config_of(), tmp_path / "run")
    assert {line["event"] for line in lines(tmp_path / "run")} == {"start", "step", "valid", "sample", "end"}
    size = len((tmp_path / "run" / "metrics.jsonl").read_bytes().splitlines(keepends=True)[0])
    RunCheckpointer(tmp_path / "run").truncate_log(size)
    assert [line["event"] for line in lines(tmp_path / "run")] == ["start"]


def test_only_the_best_weights_are_kept(tmp_path: Path) -> None:
    start(config_of(validate_every=1), tmp_path / "run")
    (best,) = (tmp_path / "run").glob("model-*.safetensors")
    assert verify(tmp_path / "run").model == best.name
    assert not list((tmp_path / "run").rglob(".making-*"))
    assert not [file for file in (tmp_path / "run").rglob("*") if file.suffix in (".pt", ".pth", ".pkl", ".bin")]
