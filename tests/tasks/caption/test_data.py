"""Prepared images with captions: each image is in one split with all its captions; skipped rows are counted."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqloom.core.problem import DataError
from seqloom.data.corpora import scenes
from seqloom.data.images import read_image_or_features
from seqloom.data.source import DataSource
from seqloom.data.split import TEST, TRAIN, VALID
from seqloom.tasks.caption.config import DATA_SPEC
from seqloom.tasks.caption.task import KIND_FILE, Caption, image_of, shared_images
from seqloom.tasks.registry import experiment
from tests.data.photos import IMAGES, ROWS, Rows, chosen, draw, features, saved


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    draw()


def prepare_task(**data: Any) -> Caption:
    config = chosen(**data)
    return Caption.prepare(config, DataSource.resolve(config.data, DATA_SPEC).hashed())


def task_of(rows: Rows = ROWS, **data: Any) -> Caption:
    return prepare_task(train=saved("a.tsv", rows), **data)


def decoded_rows(task: Caption, name: str) -> Rows:
    """The rows of a split, as in the file."""
    split, images = task.data.splits[name], task.images
    return [(images.name(image_of(split, row)), split.text("target_texts", row)) for row in range(len(split))]


def test_every_caption_is_in_one_split_with_its_image() -> None:
    task = task_of(test_share=0.2)
    assert sorted(row for split_name in task.data.splits for row in decoded_rows(task, split_name)) == sorted(ROWS)
    assert set(task.data.splits) == {TRAIN, VALID, TEST}
    images = task.images
    for split in task.data.splits.values():
        assert len(split) == len(split["target"]) == len(split["image"].flat)
        assert split["image"].lengths().tolist() == [1] * len(split)
        for row in range(len(split)):
            name, caption = images.name(image_of(split, row)), split.text("target_texts", row)
            assert np.array_equal(images[image_of(split, row)], read_image_or_features(name, 8))
            assert np.array_equal(split["target"][row], task.target.encode(caption))
            assert ROWS[split.line[row] - 1] == (name, caption)
            assert split.files[split.file[row]].name(["a.tsv"]) == "a.tsv"
    assert (images.features, task.data.skipped, task.data.notes["bad_images"], task.data.cut) == (0, 0, 0, 0)


def test_all_captions_of_an_image_are_in_one_split_and_are_its_references() -> None:
    task = task_of(sorted(ROWS, key=lambda row: row[1][-3:]))  # the captions of an image are far apart
    splits = task.data.splits
    seen = [set(split["image"].flat.tolist()) for split in splits.values()]
    assert sum(map(len, seen)) == len(set.union(*seen)) == len(task.images) == IMAGES
    for split in splits.values():
        for row in range(len(split)):
            name = task.images.name(image_of(split, row))
            captions = [caption for path, caption in ROWS if path == name]
            assert task.references(split, row) == task.captions_of(split, image_of(split, row)) == captions
        elsewhere = next(iter(set(range(IMAGES)) - set(split["image"].flat.tolist())))
        assert task.captions_of(split, elsewhere) == []


def test_one_image_is_in_one_split_however_its_path_is_written() -> None:
    Path("else").mkdir()
    Path("link").symlink_to("photos")
    saved("a.tsv", ROWS)
    saved("else/b.tsv", [(f"../{image}", "elsewhere") for image, _ in ROWS[::2]])
    saved("c.tsv", [(f"{way}/{i}.png", way) for i in range(IMAGES) for way in ("else/../photos", "link", "photos")])
    task = prepare_task(train=["a.tsv", "else/b.tsv", "c.tsv"])
    assert len(task.images) == IMAGES
    assert list(shared_images(task.data)) == []
    for split in task.data.splits.values():
        for image in set(split["image"].flat.tolist()):
            captions = [caption for path, caption in ROWS if path == task.images.name(image)]
            assert task.captions_of(split, image) == [*captions, "elsewhere", "else/../photos", "link", "photos"]
    alone = task_of()
    for split_name in (TRAIN, VALID):  # the first path decides, whatever the folder of the data
        assert {name for name, _ in decoded_rows(task, split_name)} == {
            name for name, _ in decoded_rows(alone, split_name)
        }


def test_a_symlink_with_a_new_target_is_read_again() -> None:
    Path("link.png").symlink_to("photos/1.png")
    rows = [*ROWS, ("link.png", "linked")]

    def linked() -> set[str]:
        task = task_of(rows)
        return {
            name for split in task.data.splits for name, caption in decoded_rows(task, split) if caption == "linked"
        }

    assert linked() == {"photos/1.png"}
    Path("link.png").unlink()
    Path("link.png").symlink_to("photos/2.png")
    assert linked() == {"photos/2.png"}


def test_images_in_two_splits_are_counted() -> None:
    Path("sub").mkdir()
    valid, test = saved("sub/v.tsv", [("../photos/3.png", "x"), ("../photos/3.png", "y")]), saved("t.tsv", ROWS[5:8])
    task = task_of(ROWS[:8], valid=valid, test=test)
    assert list(shared_images(task.data)) == [(VALID, TRAIN, 2), (TEST, TRAIN, 3), (TEST, VALID, 2)]
    assert list(shared_images(task_of(ROWS[:8], valid=saved("v.tsv", ROWS[8:])).data)) == []


def test_the_tokenizer_learns_from_the_training_split_alone() -> None:
    task = task_of([(image, f"{caption} {Path(image).stem}ω") for image, caption in ROWS])
    train, valid = (
        {f"{Path(name).stem}ω" for name in {name for name, _ in decoded_rows(task, split)}} for split in (TRAIN, VALID)
    )
    known = set(task.target.parameters.tokens)
    assert train <= known
    assert not valid & known


def test_bad_images_are_skipped_with_their_captions() -> None:
    Path("photos/3.png").unlink()
    task = task_of(on_bad_image="skip")
    assert sum(map(len, task.data.splits.values())) == len(ROWS) - 2
    assert (task.data.notes["bad_images"], task.data.skipped, len(task.images)) == (1, 0, IMAGES - 1)


def test_bad_lines_and_bad_images_are_counted_separately() -> None:
    rows = [*ROWS, ("photos/1.png", ""), ("none.png", "nothing")]
    for _ in range(2):  # the second preparation comes from the cache
        task = task_of(rows, on_bad_line="skip", on_bad_image="skip")
        assert (task.data.skipped, task.data.notes["bad_images"]) == (1, 1)
    with pytest.raises(DataError, match=rf"^a\.tsv:{len(ROWS) + 1}: the caption is empty\."):
        task_of(rows, on_bad_image="skip")


def test_another_seed_changes_the_split_and_lowercase_changes_the_tokenizer() -> None:
    first = task_of()
    assert decoded_rows(task_of(), TRAIN) == decoded_rows(first, TRAIN)
    assert decoded_rows(prepare_task(train="a.tsv", seed=2), TRAIN) != decoded_rows(first, TRAIN)
    assert first.target.parameters.lowercase
    assert not task_of(lowercase=False).target.parameters.lowercase


def test_long_captions_are_cut_and_counted() -> None:
    task = task_of(max_length=4)
    assert task.data.cut == len(ROWS)
    assert max(split["target"].lengths().max() for split in task.data.splits.values()) == 4


def test_too_few_images_leave_a_split_empty() -> None:
    with pytest.raises(DataError, match=r"^a\.tsv: no example is left for the (train|valid) split"):
        task_of(ROWS[:2])


# Test files -----------------------------------------------------------------------------------------------------------


def read_test_file(rows: Rows, folder: Path, features: int = 0, **data: Any) -> Caption:
    """A task, restored from the files of a run of photographs (or of features), with a test file."""
    config = experiment({"task": "caption", "data": {"train": "a.tsv", "image_size": 8, **data}})
    files = {**task_of().files(), KIND_FILE: json.dumps({"features": features, "regions": 6 if features else 0})}
    task = Caption.from_files(config, files)
    task.read_test_files([saved("b.tsv", rows)], folder)
    return task


def test_a_test_file_is_encoded_with_the_tokenizer_of_the_run(tmp_path: Path) -> None:
    task = read_test_file(ROWS[:6], tmp_path / "test")
    assert list(task.data.splits) == [TEST]
    assert decoded_rows(task, TEST) == ROWS[:6]
    assert task.target.to_json() == task_of().target.to_json()
    split = task.data.splits[TEST]
    assert [split["target"][row].tolist() for row in range(6)] == [
        task.target.encode(caption).tolist() for _, caption in ROWS[:6]
    ]
    assert len(task.images) == 3
    with pytest.raises(DataError, match=r"b\.tsv:1: 'photos/0\.png' is an image, where vectors of 7 are expected"):
        read_test_file(ROWS[:6], tmp_path / "other", features=7)


def test_a_test_file_of_features_for_a_run_of_images_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"can be used: 'photos/0\.npy' has vectors of 5, where images"):
        read_test_file(features([(2, 3, 5)] * 3), tmp_path / "test", on_bad_image="skip")


def test_a_test_file_without_a_readable_image_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"b\.tsv: none of its images can be used: 'none\.png'"):
        read_test_file([("none.png", "nothing")], tmp_path / "test", on_bad_image="skip")


# Rendered scenes ------------------------------------------------------------------------------------------------------


def test_rendered_scenes_are_split_by_image_and_located_by_their_line() -> None:
    task = prepare_task(corpus="scenes", examples=60, corpus_length=2, image_size=16)
    rendered = list(scenes.captioned(1, 2, 60))
    assert sum(map(len, task.data.splits.values())) == len(task.images) == 60
    for split in task.data.splits.values():
        for row in range(len(split)):
            scene, caption = rendered[split.line[row] - 1].values
            assert split.text("target_texts", row) == caption == scene.caption
            assert np.array_equal(task.images[image_of(split, row)], scene.image(16))
            assert task.references(split, row) == [scene.caption]


def test_scenes_for_training_and_photographs_for_validation() -> None:
    task = prepare_task(corpus="scenes", examples=20, valid=saved("b.tsv", ROWS[:4]))
    assert (len(task.data.splits[VALID]), len(task.images)) == (4, 22)
    assert decoded_rows(task, VALID) == ROWS[:4]
    assert sum(map(len, task.data.splits.values())) == 24
