"""The best weights of a run whose task has a margin of the loss: kept on disk while they may be needed, and resumed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file
from torch import Tensor

from seqloom.api import resume, start
from seqloom.core.problem import RunError
from seqloom.core.run_format import sha256, verify
from seqloom.lens.report import read_report
from seqloom.runs.run import Run
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.task import Evaluation
from seqloom.training import checkpoints
from seqloom.training.checkpoints import MANIFEST, PROGRESS, WEIGHTS, checkpoint_path
from seqloom.training.events import Event, Saved, Tick
from seqloom.training.loop import Trainer
from seqloom.training.session import Session
from seqloom.views.format import rounded
from tests.training.fault_injection import run_with_fault, start_or_resume
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
    assert kept == [[1], [2], [3], [3, 4], [5], [6]]  # the best one's weights are in the run folder
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
            "best": 2,
            "scores": {"chrf": 28.0, "loss": 3.0},
        },
        {
            "event": "disqualified",
            "step": 5,
            "former": 2,
            "former_loss": 3.0,
            "lowest_loss": 2.45,
            "best": 5,
            "scores": {"chrf": 26.0, "loss": 2.45},
        },
    ]
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    rule = "Weights of step 5, selected by chrF, among validations whose loss is within 0.5 nats of the lowest."
    for sentence in (rule, "Disqualified by a later, lower loss: the weights of step 1 (loss 3.4) and 2 (loss 3)."):
        assert sentence in page
        assert sentence in "\n".join(read_report(tmp_path / "run").lines(200))


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


# The average ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("average", "kept", "best_step"),
    [
        ((2.5, 26.5), True, 5),
        ((2.5, 25.5), False, 5),
        ((2.99, 99.0), False, 5),  # its loss is out of the margin
        ((2.05, 26.5), True, 5),
        ((2.05, 25.0), False, 5),
        ((1.94, 1.0), True, 5),  # its loss disqualifies all others
    ],
)
def test_the_average_is_kept_if_it_is_the_best(
    average: tuple[float, float], kept: bool, best_step: int, scores: list[tuple[float, float]], tmp_path: Path
) -> None:
    scores[-1] = average
    run = start(config_of(average_checkpoints=3), tmp_path / "run")
    assert run.scores["averaged"] == {"steps": [4, 5, 6], "score": average[1], "kept": kept}
    assert run.scores["best_step"] == best_step


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
    assert steps_kept(tmp_path / "run") == [2, 3]
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


def test_a_run_with_an_older_checkpoint_resumes(tmp_path: Path) -> None:
    """It knows the best validation alone, which had been selected by its score."""
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        start(config_of(), folder, [interrupt_at(3)])
    path = checkpoint_path(folder, 2)
    content = json.loads((path / PROGRESS).read_text(encoding="utf-8"))
    for name in ("candidates", "lowest_loss"):
        del content["progress"][name]
    content["progress"] |= {"best": 30.0, "best_loss": 3.4, "best_step": 1, "since_best": 1}
    (path / PROGRESS).write_text(json.dumps(content), encoding="utf-8")
    hashes = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    (path / MANIFEST).write_text(json.dumps({**hashes, PROGRESS: sha256(path / PROGRESS)}), encoding="utf-8")
    assert resume(folder).scores["best_step"] == 5
    assert best_steps(folder) == [3, 5]
