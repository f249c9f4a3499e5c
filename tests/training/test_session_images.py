"""A run goes on with the images that it began with, wherever they lie."""

import shutil
from pathlib import Path

import pytest
from PIL import Image

from seqloom.api import resume, start
from seqloom.core.problem import RunError
from seqloom.tasks.experiment import Experiment
from tests.training.small import tiny
from tests.training.test_crash import assert_same, results
from tests.training.test_session import NO_CORPUS, broken_off

pytestmark = pytest.mark.usefixtures("unchecked")


def with_images(folder: Path) -> Experiment:
    """Photographs with captions."""
    (folder / "photos").mkdir(parents=True)
    for i in range(30):
        Image.new("RGB", (9, 9), (8 * i, 0, 0)).save(folder / f"photos/{i}.png")
    rows = [f"photos/{i}.png\ta photo of {i % 4}\n" for i in range(30)]
    (folder / "captions.tsv").write_text("".join(rows), encoding="utf-8")
    data = {"train": [str(folder / "captions.tsv")], "image_size": 8, "corpus": None, **NO_CORPUS}
    return tiny("caption", data=data, train={"steps": 4, "validate_every": 2})


def test_changed_images_are_refused(tmp_path: Path) -> None:
    broken_off(with_images(tmp_path / "data"), tmp_path / "run")
    for photo in (tmp_path / "data" / "photos").iterdir():
        Image.new("RGB", (9, 9)).save(photo)
    with pytest.raises(
        RunError, match=r"captions\.tsv: its images changed since the run began\. Put the old ones back"
    ):
        resume(tmp_path / "run")


def test_moved_images_are_known_by_their_content(tmp_path: Path) -> None:
    chosen = with_images(tmp_path / "data")
    start(chosen, tmp_path / "whole")
    broken_off(chosen, tmp_path / "run")
    shutil.copytree(tmp_path / "data", tmp_path / "moved", copy_function=shutil.copy)  # with other times
    shutil.rmtree(tmp_path / "data")
    resume(tmp_path / "run", [str(tmp_path / "moved")])
    assert_same(tmp_path / "run", results(tmp_path / "whole"))
