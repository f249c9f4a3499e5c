"""Runs that version 0.1.0 made before tasks had folders (`tests/fixtures/README.md`): they load, predict and resume."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import seqloom
from seqloom.api import start
from seqloom.core.run_format import EXPERIMENT, read_manifest, sha256, write_manifest
from seqloom.models.encoder_decoder import build_decoder, build_encoder
from seqloom.nn.bridges import LastBridge, LearnedBridge
from seqloom.nn.pooling import LastPool, LastStepPool
from seqloom.runs.folder import save_best
from seqloom.runs.run import Run
from seqloom.tasks.registry import experiment, read_config
from seqloom.training.session import Session
from tests.runs.small import assert_close
from tests.training.small import tiny

FIXTURES = Path(__file__).parent.parent / "fixtures"
TASKS = ("classify", "translate", "tag", "language")
STOPPED = ("translate", "tag", "language")  # at step 12 of 24


@pytest.fixture(params=TASKS)
def older_run(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, dict[str, Any]]:
    """A copy of a run with its data, and the results of the version that made it."""
    shutil.copytree(FIXTURES / "data", tmp_path / "data")
    shutil.copytree(FIXTURES / "runs" / request.param, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    return Path("run"), json.loads((FIXTURES / "runs" / f"{request.param}.json").read_text(encoding="utf-8"))


def test_an_older_run_gives_the_same_predictions(older_run: tuple[Path, dict[str, Any]]) -> None:
    folder, expected = older_run
    run = seqloom.load(folder)
    assert_close(run.predict(expected["texts"]), expected["predict"])
    if "generate" in expected:
        assert run.generate("The ", temperature=0.5, seed=4, max_length=40) == expected["generate"]


def test_an_older_run_gives_the_same_scores(older_run: tuple[Path, dict[str, Any]]) -> None:
    folder, expected = older_run
    evaluation = seqloom.load(folder).evaluate(expected["test"])
    assert_close(evaluation.scores, expected["evaluate"])
    assert evaluation.details["data"] == expected["data"].replace(" to test on", " test")  # the wording of that version


def test_an_older_run_resumes_to_the_same_scores(older_run: tuple[Path, dict[str, Any]]) -> None:
    """It has the same scores; the bits of its weights depend on the processor too."""
    folder, expected = older_run
    run = seqloom.resume(folder, data=["data"])
    assert run.scores["cost"]["steps"] == 24
    assert_close({split: run.scores[split] for split in expected["finished_scores"]}, expected["finished_scores"])


def test_an_older_run_without_a_checkpoint_starts_from_the_same_weights(older_run: tuple[Path, dict[str, Any]]) -> None:
    """As if it had been killed before its first checkpoint; later defaults of weights are not used."""
    folder, expected = older_run
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    for name in ("scores.json", "metrics.jsonl"):
        (folder / name).unlink(missing_ok=True)
    run = seqloom.resume(folder, data=["data"])
    assert run.scores["cost"]["steps"] == 24
    assert_close({split: run.scores[split] for split in expected["finished_scores"]}, expected["finished_scores"])


def test_the_seed_of_an_older_run_is_that_of_its_data(older_run: tuple[Path, dict[str, Any]]) -> None:
    run = Run(older_run[0])
    assert (
        run.experiment.data.seed == run.experiment.seed == {"classify": 7, "translate": 3}.get(run.experiment.task, 1)
    )


def test_data_do_not_depend_on_the_seed_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FIXTURES)

    def rows(seed: int, data_seed: int) -> list[bytes]:
        raw = {"task": "classify", "seed": seed, "data": {"train": "data/reviews.csv", "seed": data_seed}}
        split = Session.prepare(experiment(raw)).task.data.splits["valid"]  # type: ignore[attr-defined]
        return [bytes(split["texts"][row]) for row in range(len(split))]

    assert rows(1, 1) == rows(2, 1) != rows(1, 2)


LAST = {
    "classify": ({"pool": "last-step"}, "head.pool"),
    "translate": ({"attention": "none", "context_pool": "last-step"}, "decoder.context.pool"),
}


@pytest.mark.parametrize("task", LAST)
def test_last_was_the_last_step_of_both_directions(task: str, tmp_path: Path) -> None:
    """In runs of format 1. Their weights were trained with it, and they say so when they are continued."""
    model, pool = LAST[task]
    folder, texts = tmp_path / "run", ["one", "two", "three"]
    expected = start(tiny(task, model=model, train={"steps": 2, "validate_every": 2}), folder).predict(texts)
    config = (folder / EXPERIMENT).read_text()
    assert config.count('"last-step"') == 1
    (folder / EXPERIMENT).write_text(config.replace('"last-step"', '"last"'))
    manifest = read_manifest(folder)
    files = {**manifest.files, EXPERIMENT: sha256(folder / EXPERIMENT)}
    for number, kind in ((2, LastPool), (1, LastStepPool)):
        write_manifest(folder, replace(manifest, format=number, files=files))
        assert type(seqloom.load(folder).model.get_submodule(pool)) is kind
    assert seqloom.load(folder).predict(texts) == expected
    save_best(folder, seqloom.load(folder).model.state_dict(), manifest.parameters)
    assert read_manifest(folder).format == 1
    assert type(seqloom.load(folder).model.get_submodule(pool)) is LastStepPool


def test_the_initial_state_of_an_older_decoder_is_that_of_its_bridge(tmp_path: Path) -> None:
    """`source`: a copy where encoder and decoder agree, otherwise a map of the mean."""
    for bidirectional, kind in ((True, LearnedBridge), (False, LastBridge)):
        (tmp_path / EXPERIMENT).write_text(
            f"task = 'translate'\n[model]\narch = 'gru'\nattention = 'none'\nbridge = 'source'\n"
            f"bidirectional = {str(bidirectional).lower()}\n"
        )
        config = experiment(read_config(tmp_path / EXPERIMENT, run_format=1))
        encoder = build_encoder(config.model, 8, max_length=9)
        assert type(build_decoder(config.model, encoder, 8).bridge) is kind
