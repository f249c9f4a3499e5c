"""Tiny trainings: a run that is loaded predicts what the trained model predicts in memory.

One architecture of each family is trained on every task, every other one on two tasks. Architectures that can't do a
task are refused.
"""

import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
import torch

import seqloom
from seqloom.api import start
from seqloom.core.config.decode import Decode
from seqloom.core.problem import ConfigError
from seqloom.data.corpora.scenes import captioned
from seqloom.data.images import write_png
from seqloom.models.registry import ARCHITECTURES
from seqloom.nn.cells import CELLS
from seqloom.nn.model import GenerativeModel
from seqloom.runs.run import Run
from seqloom.tasks.language.task import Language
from seqloom.tasks.registry import TASKS
from seqloom.tasks.task import Task
from seqloom.training.events import Average
from seqloom.training.loop import Trainer
from seqloom.training.session import Session
from tests.training.small import tiny

pytestmark = pytest.mark.usefixtures("unchecked")  # many runs, of shapes that other tests check

CANNOT = {("mixer", "language"), ("mixer", "translate"), ("mixer", "caption")}
FIRST_OF_FAMILY = {ARCHITECTURES[arch].family: arch for arch in reversed(list(ARCHITECTURES))}.values()
ALL_TASKS = tuple(TASKS)
PAIRS = [
    (arch, task)
    for number, arch in enumerate(ARCHITECTURES)
    for task in (ALL_TASKS if arch in FIRST_OF_FAMILY else (ALL_TASKS[number % 3], ALL_TASKS[3 + number % 2]))
    if (arch, task) not in CANNOT
]
SHORT = {"steps": 6, "validate_every": 6, "log_every": 6}  # one validation, so the last weights are the best
TEXTS = {"classify": ["one two", "(())"], "tag": ["one two", "(())"], "language": ["one two", "(())"]}
TEXTS |= {"translate": ["a b c", "t m"], "caption": ["0.png", "1.png"]}


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The data are prepared once for all pairs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True, scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Two images as inputs of captioning."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("pictures"))
        for number, record in enumerate(islice(captioned(7, 1, 10), 2)):
            write_png(f"{number}.png", record.values[0].image(48))
        yield


def answers(run: Run) -> list[object]:
    """Predictions for two inputs and, of a language model, a generated text; all are checked."""
    first, second = run.predict(TEXTS[run.task.name])
    if run.task.name == "classify":
        assert first["label"] in first["probabilities"]
        assert sum(first["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    elif run.task.name == "tag":
        assert first["words"] == ["one", "two"]
        assert len(first["tags"]) == 2
        assert all(0 < p <= 1 for p in first["probabilities"])
    elif run.task.name in ("translate", "caption"):
        assert first["log_prob"] == pytest.approx(sum(first["log_probs"]))
        assert len(first["log_probs"]) == len(first["tokens"]) + first["ended"]
        assert math.isfinite(first["score"])
    else:
        assert math.isfinite(first["perplexity"])
        generated = run.generate("((", seed=1, max_length=7)
        assert 0 < len(generated) <= 7  # the unknown token decodes to nothing
        return [first, second, generated]
    return [first, second]


def answers_in_memory(task: Task, model: GenerativeModel) -> list[object]:
    """The same answers of the trained model in memory."""
    device = torch.device("cpu")
    with torch.inference_mode():
        outputs: list[object] = list(task.predict(model.eval(), TEXTS[task.name], device))
        if isinstance(task, Language):
            options = (task.experiment.decode or Decode()).model_copy(update={"max_length": 7})
            outputs.append("".join(piece[0] for piece in task.stream(model, ["(("], options, 1, device)))
    return outputs


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Trainer]:
    """The trainers that completed their training."""
    trainers: list[Trainer] = []
    write_scores = Session._write_scores

    def recording(session: Session, run: Run, trainer: Trainer, average: Average | None) -> None:
        trainers.append(trainer)
        write_scores(session, run, trainer, average)

    monkeypatch.setattr(Session, "_write_scores", recording)
    return trainers


@pytest.mark.parametrize(("arch", "task"), PAIRS, ids=lambda name: name)
def test_a_loaded_run_predicts_as_the_trained_model(
    arch: str, task: str, trained: list[Trainer], tmp_path: Path
) -> None:
    run = start(tiny(task, arch, train=SHORT), tmp_path / "run")
    scores = run.scores
    assert scores["cost"]["steps"] == 6
    assert math.isfinite(scores["valid"][scores["chosen_by"]])
    assert all(isinstance(score, float) for score in scores["valid"].values())  # not a word, such as "nan"
    again = seqloom.load(tmp_path / "run")
    assert again.experiment.model.arch == arch
    assert again.experiment == run.experiment
    (trainer,) = trained
    assert [candidate.step for candidate in trainer.progress.candidates[:1]] == [6]
    assert answers(again) == answers_in_memory(trainer.task, trainer.model)


@pytest.mark.parametrize(("arch", "task"), sorted(CANNOT), ids=lambda name: name)
def test_the_error_of_an_unsupported_combination_names_the_supported_ones(arch: str, task: str) -> None:
    with pytest.raises(ConfigError) as caught:
        tiny(task, arch)
    assert "\n" not in str(caught.value)
    assert "window, conv, rnn and transformer can" in str(caught.value)


@pytest.mark.parametrize(
    ("arch", "model"),
    [*((cell, {"bidirectional": True}) for cell in CELLS), ("conv", {"centred": True}), ("conv", {"norm": "group"})],
)
def test_an_option_that_sees_the_future_is_refused_for_generation(arch: str, model: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"so it can't generate text.*(Leave|use layer or rms)") as caught:
        tiny("language", arch, model=model)
    assert "\n" not in str(caught.value)
