"""Images with captions made ready: each image in one split with all its captions; what is left out is counted."""

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
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    draw()


def prepared(**data: Any) -> Caption:
    asked = chosen(**data)
    return Caption.prepare(asked, DataSource.resolve(asked.data, DATA_SPEC).hashed())


def made(rows: Rows = ROWS, **data: Any) -> Caption:
    return prepared(train=saved("a.tsv", rows), **data)


def told(task: Caption, split: str) -> Rows:
    """The rows of a split as they were."""
    part, images = task.data.splits[split], task.images
    return [(images.name(image_of(part, row)), part.text("target_texts", row)) for row in range(len(part))]


def test_every_caption_is_in_one_split_with_its_image() -> None:
    task = made(test_share=0.2)
    assert sorted(row for split in task.data.splits for row in told(task, split)) == sorted(ROWS)
    assert set(task.data.splits) == {TRAIN, VALID, TEST}
    images = task.images
    for part in task.data.splits.values():
        assert len(part) == len(part["target"]) == len(part["image"].flat)
        assert part["image"].lengths().tolist() == [1] * len(part)
        for row in range(len(part)):
            name, caption = images.name(image_of(part, row)), part.text("target_texts", row)
            assert np.array_equal(images[image_of(part, row)], read_image_or_features(name, 8))
            assert np.array_equal(part["target"][row], task.target.encode(caption))
            assert ROWS[part.line[row] - 1] == (name, caption)
            assert part.files[part.file[row]].name(["a.tsv"]) == "a.tsv"
    assert (images.features, task.data.skipped, task.data.notes["bad_images"], task.data.cut) == (0, 0, 0, 0)


def test_all_captions_of_an_image_are_in_one_split_and_are_its_references() -> None:
    task = made(sorted(ROWS, key=lambda row: row[1][-3:]))  # so that an image's captions are far apart
    splits = task.data.splits
    seen = [set(part["image"].flat.tolist()) for part in splits.values()]
    assert sum(map(len, seen)) == len(set.union(*seen)) == len(task.images) == IMAGES
    for part in splits.values():
        for row in range(len(part)):
            name = task.images.name(image_of(part, row))
            said = [caption for path, caption in ROWS if path == name]
            assert task.references(part, row) == task.captions_of(part, image_of(part, row)) == said
        elsewhere = next(iter(set(range(IMAGES)) - set(part["image"].flat.tolist())))
        assert task.captions_of(part, elsewhere) == []


def test_one_image_is_in_one_split_however_its_path_is_written() -> None:
    Path("else").mkdir()
    Path("link").symlink_to("photos")
    saved("a.tsv", ROWS)
    saved("else/b.tsv", [(f"../{image}", "elsewhere") for image, _ in ROWS[::2]])
    saved("c.tsv", [(f"{way}/{i}.png", way) for i in range(IMAGES) for way in ("else/../photos", "link", "photos")])
    task = prepared(train=["a.tsv", "else/b.tsv", "c.tsv"])
    assert len(task.images) == IMAGES
    assert list(shared_images(task.data)) == []
    for part in task.data.splits.values():
        for image in set(part["image"].flat.tolist()):
            said = [caption for path, caption in ROWS if path == task.images.name(image)]
            assert task.captions_of(part, image) == [*said, "elsewhere", "else/../photos", "link", "photos"]
    alone = made()
    for split in (TRAIN, VALID):  # the first writing decides, wherever the data lie
        assert {name for name, _ in told(task, split)} == {name for name, _ in told(alone, split)}


def test_a_link_that_leads_to_another_of_the_images_is_read_anew() -> None:
    Path("link.png").symlink_to("photos/1.png")
    rows = [*ROWS, ("link.png", "linked")]

    def linked() -> set[str]:
        task = made(rows)
        return {name for split in task.data.splits for name, caption in told(task, split) if caption == "linked"}

    assert linked() == {"photos/1.png"}
    Path("link.png").unlink()
    Path("link.png").symlink_to("photos/2.png")
    assert linked() == {"photos/2.png"}


def test_images_that_two_splits_have_are_counted() -> None:
    Path("sub").mkdir()
    valid, test = saved("sub/v.tsv", [("../photos/3.png", "x"), ("../photos/3.png", "y")]), saved("t.tsv", ROWS[5:8])
    task = made(ROWS[:8], valid=valid, test=test)
    assert list(shared_images(task.data)) == [(VALID, TRAIN, 2), (TEST, TRAIN, 3), (TEST, VALID, 2)]
    assert list(shared_images(made(ROWS[:8], valid=saved("v.tsv", ROWS[8:])).data)) == []


def test_the_tokenizer_learns_from_the_training_split_alone() -> None:
    task = made([(image, f"{caption} {Path(image).stem}ω") for image, caption in ROWS])
    train, valid = (
        {f"{Path(name).stem}ω" for name in {name for name, _ in told(task, split)}} for split in (TRAIN, VALID)
    )
    known = set(task.target.parameters.tokens)
    assert train <= known
    assert not valid & known


def test_bad_images_are_left_out_with_their_captions() -> None:
    Path("photos/3.png").unlink()
    task = made(on_bad_image="skip")
    assert sum(map(len, task.data.splits.values())) == len(ROWS) - 2
    assert (task.data.notes["bad_images"], task.data.skipped, len(task.images)) == (1, 0, IMAGES - 1)


def test_bad_lines_and_bad_images_are_counted_apart() -> None:
    rows = [*ROWS, ("photos/1.png", ""), ("none.png", "nothing")]
    for _ in range(2):  # the second time from the cache
        task = made(rows, on_bad_line="skip", on_bad_image="skip")
        assert (task.data.skipped, task.data.notes["bad_images"]) == (1, 1)
    with pytest.raises(DataError, match=rf"^a\.tsv:{len(ROWS) + 1}: the caption is empty\."):
        made(rows, on_bad_image="skip")


def test_a_seed_splits_anew_and_a_case_learns_anew() -> None:
    first = made()
    assert told(made(), TRAIN) == told(first, TRAIN)
    assert told(prepared(train="a.tsv", seed=2), TRAIN) != told(first, TRAIN)
    assert first.target.parameters.lowercase
    assert not made(lowercase=False).target.parameters.lowercase


def test_long_captions_are_cut_and_counted() -> None:
    task = made(max_length=4)
    assert task.data.cut == len(ROWS)
    assert max(part["target"].lengths().max() for part in task.data.splits.values()) == 4


def test_too_few_images_leave_a_split_empty() -> None:
    with pytest.raises(DataError, match=r"^a\.tsv: no example is left for the (train|valid) split"):
        made(ROWS[:2])


# Files to test on -----------------------------------------------------------------------------------------------------


def to_test(rows: Rows, folder: Path, features: int = 0, **data: Any) -> Caption:
    """What a run of photographs (or of features) makes of another file."""
    asked = experiment({"task": "caption", "data": {"train": "a.tsv", "image_size": 8, **data}})
    files = {**made().files(), KIND_FILE: json.dumps({"features": features, "regions": 6 if features else 0})}
    task = Caption.from_files(asked, files)
    task.read_test_files([saved("b.tsv", rows)], folder)
    return task


def test_a_file_to_test_on_is_read_with_the_runs_tokenizer(tmp_path: Path) -> None:
    task = to_test(ROWS[:6], tmp_path / "test")
    assert list(task.data.splits) == [TEST]
    assert told(task, TEST) == ROWS[:6]
    assert task.target.to_json() == made().target.to_json()
    part = task.data.splits[TEST]
    assert [part["target"][row].tolist() for row in range(6)] == [
        task.target.encode(caption).tolist() for _, caption in ROWS[:6]
    ]
    assert len(task.images) == 3
    with pytest.raises(DataError, match=r"b\.tsv:1: 'photos/0\.png' is an image, where vectors of 7 are expected"):
        to_test(ROWS[:6], tmp_path / "other", features=7)


def test_a_file_to_test_on_of_another_kind_is_a_sentence_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"can be used: 'photos/0\.npy' has vectors of 5, where images"):
        to_test(features([(2, 3, 5)] * 3), tmp_path / "test", on_bad_image="skip")


def test_a_file_to_test_on_without_one_good_image_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"b\.tsv: none of its images can be used: 'none\.png'"):
        to_test([("none.png", "nothing")], tmp_path / "test", on_bad_image="skip")


# Drawn scenes ---------------------------------------------------------------------------------------------------------


def test_drawn_scenes_are_split_by_image_and_found_again_by_their_line() -> None:
    task = prepared(corpus="scenes", examples=60, corpus_length=2, image_size=16)
    drawn = list(scenes.captioned(1, 2, 60))
    assert sum(map(len, task.data.splits.values())) == len(task.images) == 60
    for part in task.data.splits.values():
        for row in range(len(part)):
            scene, caption = drawn[part.line[row] - 1].values
            assert part.text("target_texts", row) == caption == scene.caption
            assert np.array_equal(task.images[image_of(part, row)], scene.image(16))
            assert task.references(part, row) == [scene.caption]


def test_scenes_to_learn_from_and_photographs_to_choose_by() -> None:
    task = prepared(corpus="scenes", examples=20, valid=saved("b.tsv", ROWS[:4]))
    assert (len(task.data.splits[VALID]), len(task.images)) == (4, 22)
    assert told(task, VALID) == ROWS[:4]
    assert sum(map(len, task.data.splits.values())) == 24
