"""Images with captions made ready: each image once, in one part; whatever can't be read is a sentence or is counted."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from seqloom.data import captioned as module
from seqloom.data.captioned import CaptionedData, captioned, to_test
from seqloom.data.corpora import scenes
from seqloom.data.gallery import Gallery
from seqloom.data.images import read_source
from seqloom.data.origin import Origin
from seqloom.data.split import TEST, TRAIN, VALID
from seqloom.spec.errors import DataError
from seqloom.tasks.registry import experiment
from tests.data.photos import IMAGES, ROWS, Rows, draw, made, origin, saved


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    draw()


def told(data: CaptionedData, part: str) -> Rows:
    of = data.parts[part]
    return [(data.images.name(of.image[row]), of.text(row)) for row in range(len(of))]


def refusal(rows: Rows = ROWS, **data: Any) -> str:
    with pytest.raises(DataError) as error:
        made(rows, **data)
    return str(error.value)


def test_every_caption_is_in_one_part_with_its_image() -> None:
    data = made(test_share=0.2)
    assert sorted(row for part in data.parts for row in told(data, part)) == sorted(ROWS)
    assert set(data.parts) == {TRAIN, VALID, TEST}
    for part in data.parts.values():
        assert len(part) == len(part.rows) == len(part.image)
        for row in range(len(part)):
            name = data.images.name(part.image[row])
            assert np.array_equal(data.images[part.image[row]], read_source(name, 8))
            assert np.array_equal(part.target[row], data.target.encode(part.text(row)))
            assert ROWS[part.line[row] - 1] == (name, part.text(row))
            assert part.files[part.file[row]].name(["a.tsv"]) == "a.tsv"
    assert (data.features, data.skipped, data.bad_images, data.cut) == (0, 0, 0, 0)


def test_all_captions_of_an_image_are_in_one_part_and_are_its_references() -> None:
    data = made(sorted(ROWS, key=lambda row: row[1][-3:]))  # so that an image's captions are far apart
    seen = [set(part.image.tolist()) for part in data.parts.values()]
    assert sum(map(len, seen)) == len(set.union(*seen)) == len(data.images) == IMAGES
    for part in data.parts.values():
        for image in set(part.image.tolist()):
            name = data.images.name(image)
            assert part.references(image) == [caption for path, caption in ROWS if path == name]
        elsewhere = next(iter(set(range(IMAGES)) - set(part.image.tolist())))
        assert part.references(elsewhere) == []


def test_each_image_is_read_once_and_not_at_all_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(path: Path, size: int) -> Any:
        read.append(str(path))
        return read_source(path, size)

    monkeypatch.setattr("seqloom.data.hanging.read_source", counted)
    first = made()
    assert len(read) == len(set(read)) == IMAGES
    again = made()
    assert told(first, TRAIN) == told(again, TRAIN)
    made(lowercase=True)
    captioned(replace(origin(train="a.tsv"), seed=2))
    assert len(read) == IMAGES  # other words and other parts are no other images
    made(image_size=9)
    assert len(read) == 2 * IMAGES


def test_an_image_that_changes_is_read_again() -> None:
    number = made().parts[TRAIN].image[0]
    name = made().images.name(number)
    Image.new("RGB", (8, 8), "green").save(name)
    os.utime(name, ns=(1, 1))
    assert made().images[number][:, 0, 0].tolist() == [0, 128, 0]


def test_an_image_that_changes_meanwhile_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    make = module.make

    def meanwhile(origin: Origin, gallery: Gallery, folder: Path) -> None:
        make(origin, gallery, folder)
        Path("photos/3.png").write_bytes(b"")

    monkeypatch.setattr(module, "make", meanwhile)
    assert refusal() == (
        "a.tsv: one of its images changed while they were being read. Try again once they are complete."
    )


def test_an_image_whose_link_leads_elsewhere_meanwhile_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    make = module.make
    Path("photos/3.png").rename("other.png")
    Path("photos/3.png").symlink_to("../other.png")

    def before(origin: Origin, gallery: Gallery, folder: Path) -> None:
        Path("photos/3.png").unlink()
        make(origin, gallery, folder)

    monkeypatch.setattr(module, "make", before)
    assert refusal().startswith("a.tsv: one of its images changed while they were being read.")


def test_a_table_elsewhere_finds_its_images() -> None:
    Path("else").mkdir()
    Path("photos").rename("else/photos")
    data = captioned(origin(train=saved("else/a.tsv", ROWS)))
    assert len(data.images) == IMAGES


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (None, "'photos/3.png' is not there"),
        (b"text", "'photos/3.png' is not an image (its content is none of JPEG, PNG, WEBP, BMP, GIF)"),
        (b"\x89PNG\r\n\x1a\n", "'photos/3.png' is not an image"),
    ],
)
def test_a_bad_image_names_its_line_or_is_skipped(content: bytes | None, what: str) -> None:
    Path("photos/3.png").unlink()
    if content is not None:
        Path("photos/3.png").write_bytes(content)
    sentence = refusal()
    assert sentence.startswith(f"a.tsv:7: {what}")
    do = "Replace it, name the column of images with --data.source, or pass --data.on-bad-image skip."
    assert sentence.endswith(f". {do}")
    data = made(on_bad_image="skip")
    assert sum(map(len, data.parts.values())) == len(ROWS) - 2
    assert (data.bad_images, data.skipped, len(data.images)) == (1, 0, IMAGES - 1)


@pytest.mark.parametrize(("name", "text"), [("Dr. Smith waves.", True), ("two cats", True), ("cat.PNG", False)])
def test_pairs_of_texts_are_pointed_to_their_task(name: str, text: bool) -> None:
    sentence = refusal([(name, "deux chats"), *ROWS])
    assert sentence.startswith(f"a.tsv:1: {name!r} is not there. Replace it, ")
    assert sentence.endswith("--data.on-bad-image skip; pairs of texts are for 'seqloom train translate'.") == text


def test_bad_lines_and_bad_images_are_counted_apart() -> None:
    data = made([*ROWS, ("photos/1.png", ""), ("none.png", "nothing")], on_bad_line="skip", on_bad_image="skip")
    assert (data.skipped, data.bad_images) == (1, 1)


def test_a_data_set_without_one_good_image_is_a_sentence() -> None:
    sentence = refusal([("none.png", "nothing")], on_bad_image="skip")
    assert sentence.startswith("a.tsv: none of its images can be used: 'none.png' is not there. ")


def test_long_captions_are_cut_and_counted() -> None:
    data = made(max_length=4)
    assert data.cut == len(ROWS)
    assert max(part.target.lengths().max() for part in data.parts.values()) == 4


def features(shapes: list[tuple[int, ...]]) -> Rows:
    random = np.random.default_rng(0)
    for i, shape in enumerate(shapes):
        np.save(f"photos/{i}.npy", random.standard_normal(shape))
    return [(f"photos/{i}.npy", f"caption {i}") for i in range(len(shapes))]


def test_features_keep_the_shape_of_their_grid() -> None:
    shapes = [(2, 3, 5), (4, 5), (1, 1, 5)] * 8
    data = made(features(shapes))
    assert data.features == 5
    for number in range(len(data.images)):
        name = data.images.name(number)
        assert data.images[number].dtype == np.float32
        assert np.array_equal(data.images[number], read_source(name, 8))
    assert {data.images[number].shape for number in range(24)} == {(2, 3, 5), (1, 4, 5), (1, 1, 5)}


def test_features_of_another_width_and_images_among_them_are_refused_or_skipped() -> None:
    rows = features([(2, 3, 5)] * 20 + [(2, 3, 6)])
    expected = "'photos/20.npy' has vectors of 6, where vectors of 5 are expected. "
    assert refusal(rows).startswith(f"a.tsv:21: {expected}")
    assert made(rows, on_bad_image="skip").bad_images == 1
    assert refusal([*rows[:20], ROWS[0]]).startswith(
        "a.tsv:21: 'photos/0.png' is an image, where vectors of 5 are expected"
    )
    assert "'photos/1.npy' has vectors of 5, where images are expected" in refusal([*ROWS, rows[1]])


def test_a_file_to_test_on_of_another_kind_is_a_sentence_that_says_so(tmp_path: Path) -> None:
    config = experiment({"task": "caption", "data": {"train": "a.tsv", "image_size": 8, "on_bad_image": "skip"}})
    read = Origin.to_test(config, [saved("b.tsv", features([(2, 3, 5)] * 3))])
    with pytest.raises(DataError, match=r"can be used: 'photos/0\.npy' has vectors of 5, where images"):
        to_test(read, tmp_path / "test", made().target, 0)


def test_a_file_to_test_on_is_read_with_the_runs_tokeniser(tmp_path: Path) -> None:
    learnt = made()
    config = experiment({"task": "caption", "data": {"image_size": 8}})
    read = Origin.to_test(config, [saved("b.tsv", ROWS[:6])])
    data = to_test(read, tmp_path / "test", learnt.target, 0)
    assert told(data, TEST) == ROWS[:6]
    assert len(data.images) == 3
    with pytest.raises(DataError, match=r"b\.tsv:1: 'photos/0\.png' is an image, where vectors of 7 are expected"):
        to_test(read, tmp_path / "other", learnt.target, 7)


def test_a_file_to_test_on_without_one_good_image_is_a_sentence(tmp_path: Path) -> None:
    config = experiment({"task": "caption", "data": {"train": "a.tsv", "image_size": 8, "on_bad_image": "skip"}})
    read = Origin.to_test(config, [saved("b.tsv", [("none.png", "nothing")])])
    with pytest.raises(DataError, match=r"b\.tsv: none of its images can be used: 'none\.png'"):
        to_test(read, tmp_path / "test", made().target, 0)


def test_drawn_scenes_are_split_by_image_and_found_again_by_their_line() -> None:
    data = captioned(origin(corpus="scenes", examples=60, length=2, image_size=16))
    drawn = list(scenes.captioned(1, 2, 60))
    assert sum(map(len, data.parts.values())) == len(data.images) == 60
    for part in data.parts.values():
        for row in range(len(part)):
            scene = drawn[part.line[row] - 1]
            assert part.text(row) == scene.caption
            assert np.array_equal(data.images[part.image[row]], scene.image(16))
            assert part.references(part.image[row]) == [scene.caption]


def test_scenes_to_learn_from_and_photographs_to_choose_by() -> None:
    data = captioned(origin(corpus="scenes", examples=20, valid=saved("b.tsv", ROWS[:4])))
    assert (len(data.parts[VALID]), len(data.images)) == (4, 22)
    assert told(data, VALID) == ROWS[:4]
    assert sum(map(len, data.parts.values())) == 24
