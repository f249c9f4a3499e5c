"""Runs that version 0.1.0 made before tasks had folders (`tests/fixtures/README.md`): they open, answer and go on."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import seqloom
from seqloom.runs.run import Run
from seqloom.tasks.registry import experiment
from seqloom.training.session import Session
from tests.runs.small import close

FIXTURES = Path(__file__).parent.parent / "fixtures"
TASKS = ("classify", "translate", "tag", "language")
STOPPED = ("translate", "tag", "language")  # at step 12 of 24


@pytest.fixture(params=TASKS)
def older(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, dict[str, Any]]:
    """A copy of a run beside its data, and what the version that made it said of it."""
    shutil.copytree(FIXTURES / "data", tmp_path / "data")
    shutil.copytree(FIXTURES / "runs" / request.param, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    return Path("run"), json.loads((FIXTURES / "runs" / f"{request.param}.json").read_text(encoding="utf-8"))


def test_it_answers_as_it_did(older: tuple[Path, dict[str, Any]]) -> None:
    folder, expected = older
    run = seqloom.load(folder)
    close(run.predict(expected["texts"]), expected["predict"])
    if "generate" in expected:
        assert run.generate("The ", temperature=0.5, seed=4, max_length=40) == expected["generate"]


def test_it_scores_as_it_did(older: tuple[Path, dict[str, Any]]) -> None:
    folder, expected = older
    evaluation = seqloom.load(folder).evaluate(expected["test"])
    close(evaluation.scores, expected["evaluate"])
    assert evaluation.details["data"] == expected["data"].replace(" to test on", " test")  # how it was put then


def test_it_goes_on_to_the_end_that_it_would_have_had(older: tuple[Path, dict[str, Any]]) -> None:
    """Its scores: the bits of its weights depend on the processor too."""
    folder, expected = older
    run = seqloom.resume(folder, data=["data"])
    assert run.scores["cost"]["steps"] == 24
    close({part: run.scores[part] for part in expected["finished_scores"]}, expected["finished_scores"])


def test_its_seed_is_that_of_its_data(older: tuple[Path, dict[str, Any]]) -> None:
    run = Run(older[0])
    assert (
        run.experiment.data.seed == run.experiment.seed == {"classify": 7, "translate": 3}.get(run.experiment.task, 1)
    )


def test_the_seed_of_a_run_decides_nothing_about_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FIXTURES)

    def rows(seed: int, data_seed: int) -> list[bytes]:
        raw = {"task": "classify", "seed": seed, "data": {"train": "data/reviews.csv", "seed": data_seed}}
        part = Session.prepare(experiment(raw)).task.data.splits["valid"]  # type: ignore[attr-defined]
        return [bytes(part["texts"][row]) for row in range(len(part))]

    assert rows(1, 1) == rows(2, 1) != rows(1, 2)
