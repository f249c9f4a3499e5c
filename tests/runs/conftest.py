"""A run of each task, and a copy of it that a test may damage."""

import shutil
from pathlib import Path

import pytest

import seqloom
from seqloom.runs.run import Run
from tests.runs.small import KINDS, train_run


@pytest.fixture(scope="session", params=list(KINDS))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp(request.param)
    train_run(request.param, folder)
    return seqloom.load(folder / "run")


@pytest.fixture
def copy(run: Run, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run.folder, tmp_path / "far" / "copy"))
