"""The best weights of a run whose task has a margin of the loss: kept on disk while they may be needed, and resumed."""

import json
import math
import shutil
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from safetensors.torch import load_file
from torch import Tensor

from seqloom.api import resume, start
from seqloom.cli.progress import Progress as TerminalProgress
from seqloom.cli.run_summary import show_results
from seqloom.core.problem import RunError
from seqloom.core.run_format import sha256, verify
from seqloom.lens.report import read_report
from seqloom.runs.run import Run
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.task import Evaluation
from seqloom.training import checkpoints
from seqloom.training.checkpointer import RunCheckpointer
from seqloom.training.checkpoints import MANIFEST, PROGRESS, WEIGHTS, checkpoint_path
from seqloom.training.events import Event, Saved, Tick
from seqloom.training.loop import Trainer
from seqloom.training.session import Session
from seqloom.views.format import rounded
from tests.training.fault_injection import run_monitored, run_with_fault, start_or_resume
from tests.training.small import lines, tiny
from tests.training.test_crash import assert_same, results

pytestmark = pytest.mark.usefixtures("unchecked")

# Loss and chrF of the validation after each step. The best are 1, 1, 2, 2, 5 and 5.
VALIDATIONS = [(3.4, 30.0), (3.0, 28.0), (2.8, 25.0), (3.1, 27.0), (2.45, 26.0), (2.6, 25.5)]
AVERAGE = (2.5, 26.5)


@pytest.fixture(autouse=True)
def scores(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float]]:
    """Replace the scores of validations by `VALIDATIONS`, and of the average by the item that a test adds."""
    scores = [*VALIDATIONS, AVERAGE]

    def evaluate(trainer: Trainer, split: str) -> Evaluation:
        progress = trainer.progress
        pair = scores[-1] if progress.validated == progress.step else scores[progress.step - 1]
        return Evaluation(dict(zip(("loss", "chrf"), pair, strict=True)))

    monkeypatch.setattr(Trainer, "evaluate", evaluate)
    return scores


def config_of(**train: object) -> Experiment:
    return tiny("translate", train={"steps": 6, "validate_every": 1, "keep_checkpoints": 1, "log_every": 1, **train})


def best_weights(folder: Path) -> dict[str, Tensor]:
    model = verify(folder).model
    assert model is not None
    return load_file(folder / model)


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return all(tensor.equal(second[name]) for name, tensor in first.items())


def steps_kept(folder: Path) -> list[int]:
    return [int(path.name.removeprefix("step-")) for path in checkpoints.list_checkpoints(folder)]


def interrupt_at(step: int) -> Callable[[Event], None]:
    """A listener that interrupts the run in this step, before its validation."""

    def listen(event: Event) -> None:
        if isinstance(event, Tick) and event.step == step:
            raise KeyboardInterrupt

    return listen


def test_the_best_weights_are_those_of_the_best_validation(tmp_path: Path) -> None:
    kept, bests = [], []

    def listen(event: Event) -> None:
        if isinstance(event, Saved):
            kept.append(steps_kept(tmp_path / "run"))
            weights = best_weights(tmp_path / "run")
            saved = {
                step: load_file(checkpoint_path(tmp_path / "all", step) / WEIGHTS) for step in range(1, event.step)
            }
            bests.append([step for step, tensors in saved.items() if same(tensors, weights)])

    start(config_of(keep_checkpoints=9), tmp_path / "all")
    start(config_of(), tmp_path / "run", [listen])
    assert kept == [[1], [1, 2], [2, 3], [2, 3, 4], [5], [5, 6]]  # the newest, and its candidates
    assert bests == [[], [1], [2], [2], [], [5]]  # where no earlier one is the best, the current one is
    assert steps_kept(tmp_path / "run") == [6]
    content = json.loads((tmp_path / "run" / "scores.json").read_text(encoding="utf-8"))
    assert (content["chosen_by"], content["loss_margin"], content["best_step"]) == ("chrf", 0.5, 5)


def test_the_log_and_the_report_say_which_rule_decided(tmp_path: Path) -> None:
    start(config_of(), tmp_path / "run")
    log = lines(tmp_path / "run")
    assert [(line["chosen_by"], line["loss_margin"]) for line in log if line["event"] == "start"] == [("chrf", 0.5)]
    assert [line for line in log if line["event"] == "disqualified"] == [
        {
            "event": "disqualified",
            "step": 3,
            "former": 1,
            "former_loss": 3.4,
            "lowest_loss": 2.8,
            "loss_margin": 0.5,
            "best": 2,
            "scores": {"chrf": 28.0, "loss": 3.0},
        },
        {
            "event": "disqualified",
            "step": 5,
            "former": 2,
            "former_loss": 3.0,
            "lowest_loss": 2.45,
            "loss_margin": 0.5,
            "best": 5,
            "scores": {"chrf": 26.0, "loss": 2.45},
        },
    ]
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    rule = "Weights of step 5, selected by chrF, among validations whose loss is within 0.5 nats of the lowest."
    for sentence in (rule, "Disqualified by a later, lower loss: the weights of step 1 (loss 3.4) and 2 (loss 3)."):
        assert sentence in page
        assert sentence in "\n".join(read_report(tmp_path / "run").lines(200))


def test_a_best_validation_may_be_the_best_again(scores: list[tuple[float, float]], tmp_path: Path) -> None:
    """A later one with a better score and a higher loss is the best until a lower loss disqualifies it."""
    scores[:] = [(3.0, 28.0), (3.1, 20.0), (3.4, 30.0), (2.8, 10.0), (2.9, 9.0), (2.9, 9.0)]
    start(config_of(keep_checkpoints=9), tmp_path / "all")
    assert start(config_of(), tmp_path / "run").scores["best_step"] == 1
    assert best_steps(tmp_path / "run") == [1]
    assert same(best_weights(tmp_path / "run"), load_file(checkpoint_path(tmp_path / "all", 1) / WEIGHTS))


def test_the_report_of_an_unfinished_run_has_the_best_validation(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        start(config_of(), tmp_path / "run", [interrupt_at(5)])
    report = read_report(tmp_path / "run")
    assert (report.best_step, report.history.best) == (2, {"chrf": 28.0, "loss": 3.0})
    assert report.selection == "by chrF, among validations whose loss is within 0.5 nats of the lowest"


@pytest.mark.parametrize("step", range(2, 7))
@pytest.mark.parametrize("average", [None, 2])
def test_a_run_that_is_interrupted_between_any_two_validations_ends_the_same(
    step: int, average: int | None, tmp_path: Path
) -> None:
    config = config_of(average_checkpoints=average)
    start(config, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        start(config, tmp_path / "run", [interrupt_at(step)])
    resume(tmp_path / "run")
    assert_same(tmp_path / "run", results(tmp_path / "whole"))


@pytest.mark.parametrize("every", [17, pytest.param(1, marks=pytest.mark.slow)])
def test_a_failure_at_any_write_loses_nothing(every: int, tmp_path: Path) -> None:
    config = config_of()
    (tmp_path / "counted").mkdir()
    count, _ = run_with_fault("error", -1, config, tmp_path / "counted" / "run")
    for number in range(0, count, every):
        (tmp_path / str(number)).mkdir()
        folder = tmp_path / str(number) / "run"
        if run_with_fault("error", number, config, folder)[1] is not None:
            start_or_resume(config, folder)
        assert_same(folder, results(tmp_path / "counted" / "run"))
        shutil.rmtree(folder.parent)


@pytest.mark.parametrize("average", [None, 3])
@pytest.mark.parametrize("kind", ["kill", "full"])
def test_a_fault_while_the_weights_of_an_earlier_validation_are_saved_loses_nothing(
    kind: str,
    average: int | None,
    scores: list[tuple[float, float]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At each write of `save_best_of`, and at the next ones: the log and the checkpoint, or the scores."""
    if average is not None:  # the loss of the average disqualifies the best
        scores[:] = [(3.4, 10.0), (3.0, 30.0), (2.8, 25.0), (2.8, 24.0), (2.9, 23.0), (2.9, 23.0), (2.4, 1.0)]
    config, folder, writes = config_of(average_checkpoints=average), tmp_path / "0" / "run", list[int]()
    save_best_of, monitored = RunCheckpointer.save_best_of, False

    def save_and_monitor(checkpointer: RunCheckpointer, step: int) -> None:
        nonlocal monitored
        monitored = True
        save_best_of(checkpointer, step)

    def note(index: int) -> None:
        if monitored and len(writes) < 16:
            writes.append(index)
            if kind == "kill":  # the files as a kill leaves them
                shutil.copytree(folder.parent, tmp_path / f"at-{index}")

    monkeypatch.setattr(RunCheckpointer, "save_best_of", save_and_monitor)
    folder.parent.mkdir()
    run_monitored(note, config, folder)
    expected = results(folder)
    assert len(writes) == 16
    for index in writes:
        broken = tmp_path / f"at-{index}" / "run"
        if kind == "full":
            broken.parent.mkdir()
            error = run_with_fault(kind, index, config, broken)[1]
            assert error is None or error.startswith("WriteError: ")
        start_or_resume(config, broken)
        assert_same(broken, expected)
        shutil.rmtree(broken.parent)


# The average ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("average", "kept"),
    [
        ((2.5, 26.5), True),
        ((2.5, 25.5), False),
        ((2.99, 99.0), False),  # its loss is out of the margin
        ((2.05, 26.5), True),
        ((2.05, 25.0), False),
        ((1.94, 1.0), True),  # its loss disqualifies all others
    ],
)
def test_the_average_is_kept_if_it_is_the_best(
    average: tuple[float, float], kept: bool, scores: list[tuple[float, float]], tmp_path: Path
) -> None:
    scores[-1] = average
    run = start(config_of(average_checkpoints=3), tmp_path / "run")
    assert run.scores["averaged"] == {"steps": [4, 5, 6], "score": average[1], "kept": kept}
    assert run.scores["best_step"] == (None if kept else 5)
    report = read_report(tmp_path / "run")
    assert (report.best_step, report.history.best_step) == ((None, None) if kept else (5, 5))
    weights = "Average of the weights of steps 4, 5, 6, " if kept else "Weights of step 5, "
    assert weights in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_an_average_that_disqualifies_all_validations_is_named_as_the_best(
    scores: list[tuple[float, float]], tmp_path: Path
) -> None:
    scores[-1] = (1.94, 1.0)
    out = StringIO()
    progress = TerminalProgress(Console(file=out, width=200))
    run = start(config_of(average_checkpoints=3), tmp_path / "run", [progress])
    event = [line for line in lines(tmp_path / "run") if line["event"] == "disqualified"][-1]
    assert (event["former"], event["best"], event["scores"]) == (5, None, {"chrf": 1.0, "loss": 1.94})
    reason = "its loss of 2.45 is more than 0.5 above the lowest, 1.94"
    assert f"the average, no longer epoch 1: {reason}" in out.getvalue()
    assert read_report(tmp_path / "run").history.best == {"chrf": 1.0, "loss": 1.94}
    out.truncate(0)
    show_results(Console(file=out, width=200), run, progress)
    assert "best     average weights of 3 validations" in out.getvalue()


def test_the_loss_of_an_average_that_is_not_kept_may_disqualify_the_best(
    scores: list[tuple[float, float]], tmp_path: Path
) -> None:
    scores[:] = [(3.4, 10.0), (3.0, 30.0), (2.8, 25.0), (2.8, 24.0), (2.9, 23.0), (2.9, 23.0), (2.4, 1.0)]
    start(config_of(keep_checkpoints=9), tmp_path / "all")
    run = start(config_of(average_checkpoints=3), tmp_path / "run")
    assert run.scores["averaged"]["kept"] is False
    assert run.scores["best_step"] == 3
    assert same(best_weights(tmp_path / "run"), load_file(checkpoint_path(tmp_path / "all", 3) / WEIGHTS))
    assert best_steps(tmp_path / "run") == [3]


# Greedy search and the beam -------------------------------------------------------------------------------------------


def greedy_chrf(run: Run) -> float:
    return Session.prepare(run.experiment).task.validate(run.model, "valid", run.device).scores["chrf"]


def report_text(run: Path) -> str:
    return (run / "report.html").read_text(encoding="utf-8")


def test_the_run_says_that_greedy_search_is_better_than_its_beam(tmp_path: Path) -> None:
    run = start(config_of(), tmp_path / "run")
    beam = run.scores["valid"]["chrf"]
    assert run.scores["greedy"] == {"score": 26.0, "better": True}
    options = "with greedy search: predict and evaluate with --beam 1"
    assert f"chrF is {rounded(beam)} with the run's beam, and 26 {options}" in "\n".join(
        read_report(tmp_path / "run").lines(200)
    )
    assert options in report_text(tmp_path / "run")


def test_nothing_is_said_of_a_beam_that_is_as_good(scores: list[tuple[float, float]], tmp_path: Path) -> None:
    scores[:] = [(3.0, 0.0)] * 7
    start(config_of(), tmp_path / "run")
    assert json.loads((tmp_path / "run" / "scores.json").read_text())["greedy"] == {"score": 0.0, "better": False}
    assert "with greedy search:" not in report_text(tmp_path / "run")
    greedy = tiny("translate", train={"steps": 2, "validate_every": 1}, decode={"beam_size": 1})
    assert "greedy" not in start(greedy, tmp_path / "greedy").scores


def test_greedy_search_is_compared_in_float32(tmp_path: Path) -> None:
    run = start(config_of(precision="bf16"), tmp_path / "run")
    assert run.scores["greedy"]["score"] == pytest.approx(greedy_chrf(run)) != 26.0


def test_the_average_is_compared_with_its_own_score(tmp_path: Path) -> None:
    run = start(config_of(average_checkpoints=2), tmp_path / "run")
    assert (run.scores["averaged"]["kept"], run.scores["greedy"]["score"]) == (True, 26.5)


# Checkpoints that are damaged, removed or older -----------------------------------------------------------------------


@pytest.fixture
def interrupted(scores: list[tuple[float, float]], tmp_path: Path) -> Path:
    """A run before its fourth validation, whose loss disqualifies the first; the second is the next best."""
    scores[1:4] = [(3.0, 28.0), (3.1, 20.0), (2.8, 25.0)]
    with pytest.raises(KeyboardInterrupt):
        start(config_of(), tmp_path / "run", [interrupt_at(4)])
    assert steps_kept(tmp_path / "run") == [1, 2, 3]
    return tmp_path / "run"


def best_steps(folder: Path) -> list[int]:
    return [line["best"] for line in lines(folder) if line["event"] == "disqualified"]


def test_the_weights_of_an_earlier_validation_are_those_of_its_checkpoint(interrupted: Path) -> None:
    weights = load_file(checkpoint_path(interrupted, 2) / WEIGHTS)
    with pytest.raises(KeyboardInterrupt):
        resume(interrupted, listeners=[interrupt_at(5)])
    assert best_steps(interrupted) == [2]
    assert same(best_weights(interrupted), weights)


def test_a_damaged_checkpoint_is_named_and_can_be_removed(interrupted: Path) -> None:
    (checkpoint_path(interrupted, 2) / WEIGHTS).unlink()
    with pytest.raises(RunError, match=r"step-000000002/weights.*Remove the checkpoint .*step-000000002\."):
        resume(interrupted)
    shutil.rmtree(checkpoint_path(interrupted, 2))
    resume(interrupted)
    assert best_steps(interrupted) == [4]  # the next best


@pytest.mark.parametrize(
    "pairs",
    [
        [(3.4, 30.0), (3.0, 28.0), (3.1, 20.0), (2.8, 25.0), (2.8, 24.0), (2.8, 24.0)],
        [(3.0, 28.0), (3.1, 20.0), (3.2, 20.0), (3.4, 30.0), (2.8, 24.0), (2.8, 24.0)],  # the best again
        [(3.4, 30.0), (3.0, 28.0), (2.8, 25.0), (3.3, 29.0), (2.45, 20.0), (2.6, 25.5)],
    ],
)
@pytest.mark.parametrize("step", range(3, 7))
def test_a_run_whose_newest_checkpoint_is_damaged_ends_the_same(
    step: int, pairs: list[tuple[float, float]], scores: list[tuple[float, float]], tmp_path: Path
) -> None:
    """It continues from the one before, whose candidates are still on disk."""
    scores[:] = pairs
    start(config_of(keep_checkpoints=2), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        start(config_of(keep_checkpoints=2), tmp_path / "run", [interrupt_at(step)])
    (checkpoint_path(tmp_path / "run", step - 1) / WEIGHTS).write_bytes(b"damaged")
    resume(tmp_path / "run")
    assert_same(tmp_path / "run", results(tmp_path / "whole"))


def test_a_damaged_checkpoint_beside_the_newest_does_not_matter(tmp_path: Path) -> None:
    start(config_of(keep_checkpoints=2), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        start(config_of(keep_checkpoints=2), tmp_path / "run", [interrupt_at(6)])
    (checkpoint_path(tmp_path / "run", 4) / PROGRESS).write_text("damaged", encoding="utf-8")
    resume(tmp_path / "run")
    assert (tmp_path / "run" / "report.html").exists()
    assert same(best_weights(tmp_path / "run"), best_weights(tmp_path / "whole"))


def make_older(folder: Path, best_loss: float) -> None:
    """Make the checkpoint of step 2 one of an older version: the best validation alone, selected by its score."""
    path = checkpoint_path(folder, 2)
    content = json.loads((path / PROGRESS).read_text(encoding="utf-8"))
    for name in ("candidates", "lowest_loss"):
        del content["progress"][name]
    content["progress"] |= {"best": 30.0, "best_loss": best_loss, "best_step": 1, "since_best": 1}
    (path / PROGRESS).write_text(json.dumps(content), encoding="utf-8")
    hashes = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    (path / MANIFEST).write_text(json.dumps({**hashes, PROGRESS: sha256(path / PROGRESS)}), encoding="utf-8")
    shutil.rmtree(checkpoint_path(folder, 1))


@pytest.mark.parametrize("best_loss", [3.4, math.nan])
def test_a_run_with_an_older_checkpoint_resumes(best_loss: float, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        start(config_of(), folder, [interrupt_at(3)])
    make_older(folder, best_loss)
    assert resume(folder).scores["best_step"] == 5
    assert best_steps(folder) == [3, 5]


def test_the_best_validation_of_an_older_checkpoint_is_not_the_best_again(
    scores: list[tuple[float, float]], tmp_path: Path
) -> None:
    """Its weights are in the run folder alone, where those of a better validation replace them."""
    scores[2:4], folder = [(3.5, 31.0), (2.95, 10.0)], tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        start(config_of(), folder, [interrupt_at(3)])
    make_older(folder, 3.4)
    assert resume(folder).scores["best_step"] == 5
    assert best_steps(folder) == [4]
