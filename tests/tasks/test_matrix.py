"""Every architecture learns every task that it can: twenty steps, saved, loaded, asked; those that can't say so."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

import seqloom
from seqloom.runs.run import Run
from seqloom.spec.errors import ConfigError
from seqloom.spec.names import ARCHITECTURES, CELLS, TASKS
from seqloom.verbs import start
from tests.training.small import tiny

pytestmark = pytest.mark.usefixtures("unchecked")  # many runs, of shapes that other tests look at

CANNOT = {("mixer", "language")}
CELLS_OF_THE_MATRIX = [(arch, task) for arch in ARCHITECTURES for task in TASKS if (arch, task) not in CANNOT]
BRIEF = {"steps": 20, "validate_every": 20, "log_every": 20}


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The data are made ready once for all cells."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def answers(run: Run) -> list[object]:
    """What a run says to two texts, and what it writes if it can; and that it makes sense."""
    first, second = run.predict(["one two", "(())"])
    if run.task.name == "classify":
        assert first["label"] in first["probabilities"]
        assert sum(first["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    elif run.task.name == "tag":
        assert first["words"] == ["one", "two"]
        assert len(first["tags"]) == 2
        assert all(0 < p <= 1 for p in first["probabilities"])
    else:
        assert math.isfinite(first["perplexity"])
        written = run.generate("((", seed=1, length=7)
        assert 0 < len(written) <= 7  # the unknown token is written as nothing
        return [first, second, written]
    return [first, second]


@pytest.mark.parametrize(("arch", "task"), CELLS_OF_THE_MATRIX, ids=lambda name: name)
def test_a_cell_of_the_matrix(arch: str, task: str, tmp_path: Path) -> None:
    run = start(tiny(task, arch, train=BRIEF), tmp_path / "run")
    scores = run.scores
    assert scores["cost"]["steps"] == 20
    assert math.isfinite(scores["valid"][scores["chosen_by"]])
    assert all(isinstance(score, float) for score in scores["valid"].values())  # not a word, such as "nan"
    again = seqloom.load(tmp_path / "run")
    assert again.experiment.model.arch == arch
    assert answers(again) == answers(again)


@pytest.mark.parametrize(("arch", "task"), sorted(CANNOT), ids=lambda name: name)
def test_what_can_not_be_names_what_can(arch: str, task: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        tiny(task, arch)
    assert "\n" not in str(wrong.value)
    assert sum(name in str(wrong.value) for name in ("lstm", "gru", "transformer")) == 3


@pytest.mark.parametrize(
    ("arch", "model"),
    [*((cell, {"bidirectional": True}) for cell in CELLS), ("conv", {"centred": True}), ("conv", {"norm": "group"})],
)
def test_an_option_that_sees_the_future_can_not_write(arch: str, model: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"so it can't write.*(Leave|layer and rms can)") as wrong:
        tiny("language", arch, model=model)
    assert "\n" not in str(wrong.value)
