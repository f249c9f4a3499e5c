"""Every path of an image is the same image, which is read once; a bad image is refused or skipped."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from seqloom.core.problem import DataError
from seqloom.data import image_store as module
from seqloom.data.image_store import ImageOptions, ImageStore, fill_store
from seqloom.data.images import read_image_or_features
from seqloom.data.records import Record
from seqloom.data.source import DataSource
from seqloom.data.split import TEST, TRAIN, VALID
from seqloom.data.text_io import SkipBadLines, raise_error
from seqloom.tasks.caption.config import DATA_SPEC
from tests.data.photos import IMAGES, ROWS, Rows, chosen, draw, features, saved, source, stored


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    draw()


def build_store(rows: Rows = ROWS, **data: Any) -> ImageStore:
    return stored(source(train=saved("a.tsv", rows), **data))


def numbered(store: ImageStore) -> list[tuple[str, Record]]:
    return list(store.examples(raise_error))


def names(store: ImageStore) -> set[str]:
    return {store.images.name(number) for number in range(len(store.images))}


def refusal(rows: Rows = ROWS, **data: Any) -> str:
    with pytest.raises(DataError) as error:
        build_store(rows, **data)
    return str(error.value)


# Which image is which -------------------------------------------------------------------------------------------------


def test_all_paths_of_a_file_are_one_image() -> None:
    for folder in ("sub", "else"):
        Path(folder).mkdir()
    Path("link").symlink_to("photos")
    saved("a.tsv", ROWS)
    saved("else/b.tsv", [(f"../{image}", "elsewhere") for image, _ in ROWS[::2]])
    saved(
        "c.tsv",
        [(f"{prefix}/{i}.png", prefix) for i in range(IMAGES) for prefix in ("sub/../photos", "link", "photos")],
    )
    store = stored(source(train=["a.tsv", "else/b.tsv", "c.tsv"]))
    assert len(store.images) == IMAGES
    captions_of: dict[int, list[str]] = {}
    for split, (values, _) in numbered(store):
        number, caption, name = values
        assert split == TRAIN
        assert name == store.images.name(number)  # the first path names the image, wherever the data are
        captions_of.setdefault(number, []).append(caption)
    for number, captions in captions_of.items():
        own = [caption for path, caption in ROWS if path == store.images.name(number)]
        assert captions == [*own, "elsewhere", "sub/../photos", "link", "photos"]
    assert names(store) == names(build_store()) == {image for image, _ in ROWS}


def test_each_example_has_its_image_and_its_location() -> None:
    valid = saved("v.tsv", ROWS[:4])
    store = build_store(valid=valid)
    expected = [(TRAIN, "a.tsv", ROWS), (VALID, "v.tsv", ROWS[:4])]
    rows_read = [(split, *values[1:], *location) for split, (values, location) in numbered(store)]
    assert rows_read == [
        (split, caption, image, file, line)
        for split, file, rows in expected
        for line, (image, caption) in enumerate(rows, 1)
    ]
    for _, (values, _) in numbered(store):
        assert np.array_equal(store.images[values[0]], read_image_or_features(values[2], 8))
    assert (store.images.features, store.skipped) == (0, 0)


def test_equal_tables_in_two_folders_have_their_own_images() -> None:
    for folder, color in (("one", "red"), ("two", "blue")):
        Path(folder, "photos").mkdir(parents=True)
        saved(f"{folder}/a.tsv", ROWS)
        for i in range(IMAGES):
            path = Path(folder, "photos", f"{i}.png")
            Image.new("RGB", (12, 9), color).save(path, "BMP")  # the size is the same in any color
            os.utime(path, ns=(1, 1))
    assert stored(source(train="one/a.tsv")).images[0][:, 0, 0].tolist() == [255, 0, 0]
    assert stored(source(train="two/a.tsv")).images[0][:, 0, 0].tolist() == [0, 0, 255]


def test_image_paths_are_relative_to_the_table() -> None:
    Path("else").mkdir()
    Path("photos").rename("else/photos")
    assert len(stored(source(train=saved("else/a.tsv", ROWS))).images) == IMAGES


def test_the_hash_of_all_images_depends_on_their_content() -> None:
    def image_hash() -> object:
        data_source = source(train=saved("a.tsv", ROWS))
        stored(data_source)
        return data_source.local()["images"]

    first = image_hash()
    Path("photos/3.png").touch()
    assert image_hash() == first  # from the cache, or read again
    os.utime("photos/3.png", ns=(1, 1))
    assert image_hash() == first
    Path("photos/3.png").write_bytes(Path("photos/4.png").read_bytes())
    assert image_hash() != first
    scenes = source(corpus="scenes", examples=60)
    stored(scenes)
    assert "images" not in scenes.local()


# The cache, and changes while it is filled ---------------------------------------------------------------------------


def test_each_image_is_read_once_and_then_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def record_path(path: Path, size: int) -> Any:
        read.append(str(path))
        return read_image_or_features(path, size)

    monkeypatch.setattr(module, "read_image_or_features", record_path)
    first = build_store()
    assert len(read) == len(set(read)) == IMAGES
    again = build_store()
    assert numbered(first) == numbered(again)
    build_store(lowercase=False)
    stored(source(train="a.tsv", seed=2))
    assert len(read) == IMAGES  # other words and other splits have the same images
    build_store(image_size=9)
    assert len(read) == 2 * IMAGES


def test_an_image_that_changes_is_read_again() -> None:
    name = build_store().images.name(3)
    Image.new("RGB", (8, 8), "green").save(name)
    os.utime(name, ns=(1, 1))
    assert build_store().images[3][:, 0, 0].tolist() == [0, 128, 0]


CHANGED = "a.tsv: one of its images changed while they were being read. Try again once they are complete."


def test_an_image_that_changes_while_it_is_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def fill_then_change(source: DataSource, folder: Path, options: ImageOptions) -> None:
        fill_store(source, folder, options)
        Path("photos/3.png").write_bytes(b"")

    monkeypatch.setattr(module, "fill_store", fill_then_change)
    assert refusal() == CHANGED
    assert not list(Path("cache").glob("[!.]*"))


def test_an_image_whose_link_changes_while_it_is_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("photos/3.png").rename("other.png")
    Path("photos/3.png").symlink_to("../other.png")

    def change_then_fill(source: DataSource, folder: Path, options: ImageOptions) -> None:
        Path("photos/3.png").unlink()
        Path("photos/3.png").symlink_to("4.png")
        fill_store(source, folder, options)

    monkeypatch.setattr(module, "fill_store", change_then_fill)
    assert refusal() == CHANGED


def test_a_table_that_changes_while_it_is_read_is_refused() -> None:
    data_source = source(train=saved("a.tsv", ROWS))
    saved("a.tsv", ROWS[:-1])
    with pytest.raises(DataError, match=r"^a\.tsv: the file changed while it was being read\. Try again"):
        stored(data_source)


def test_bad_rows_are_counted_once() -> None:
    store = stored(source(train=saved("a.tsv", [*ROWS, ("photos/1.png", "")]), on_bad_line="skip"))
    on_bad_line = SkipBadLines()
    assert len(list(store.examples(on_bad_line))) == len(ROWS)
    assert on_bad_line.count == 1
    assert str(on_bad_line.errors[0]).startswith(f"a.tsv:{len(ROWS) + 1}: the caption is empty")
    assert list(store.examples(on_bad_line)) == list(store.examples(on_bad_line))


# Images that can't be read --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "'photos/3.png' is not there"),
        (b"text", "'photos/3.png' is not an image (its content is none of JPEG, PNG, WEBP, BMP, GIF)"),
        (b"\x89PNG\r\n\x1a\n", "'photos/3.png' is not an image"),
    ],
)
def test_a_bad_image_is_refused_with_its_line_or_skipped(content: bytes | None, message: str) -> None:
    Path("photos/3.png").unlink()
    if content is not None:
        Path("photos/3.png").write_bytes(content)
    sentence = refusal()
    assert sentence.startswith(f"a.tsv:7: {message}")
    advice = "Replace it, name the column of images with data.source, or pass data.on_bad_image skip."
    assert sentence.endswith(f". {advice}")
    store = build_store(on_bad_image="skip")
    assert len(numbered(store)) == len(ROWS) - 2
    assert (store.skipped, len(store.images)) == (1, IMAGES - 1)


@pytest.mark.parametrize(("name", "text"), [("Dr. Smith waves.", True), ("two cats", True), ("cat.PNG", False)])
def test_the_error_of_pairs_of_texts_names_their_task(name: str, text: bool) -> None:
    sentence = refusal([(name, "deux chats"), *ROWS])
    assert sentence.startswith(f"a.tsv:1: {name!r} is not there. Replace it, ")
    assert sentence.endswith("data.on_bad_image skip; pairs of texts are for 'seqloom train translate'.") == text


def test_control_characters_of_a_path_are_escaped() -> None:
    Path("a.csv").write_text('"photos/1.png",one\n"\x1b[31m\nfine.png",two\n')
    with pytest.raises(DataError) as error:
        stored(source(train="a.csv"))
    assert str(error.value).startswith("a.csv:2: '\\x1b[31m\\nfine.png' is not there. ")


def test_an_invalid_path_is_refused() -> None:
    Path("a.jsonl").write_text('{"image": "photos/1\\u0000.png", "caption": "one"}\n')
    with pytest.raises(DataError) as error:
        stored(source(train="a.jsonl"))
    assert str(error.value).startswith("a.jsonl:1: 'photos/1\\x00.png' is not a file name. ")


def test_a_data_set_without_a_valid_image_is_refused() -> None:
    sentence = refusal([("none.png", "nothing")], on_bad_image="skip")
    assert sentence.startswith("a.tsv: none of its images can be used: 'none.png' is not there. ")


# Features -------------------------------------------------------------------------------------------------------------


def test_features_keep_the_shape_of_their_grid() -> None:
    shapes = [(2, 3, 5), (4, 5), (1, 1, 5)] * 8
    store = build_store(features(shapes))
    assert store.images.features == 5
    for number in range(len(store.images)):
        name = store.images.name(number)
        assert store.images[number].dtype == np.float32
        assert np.array_equal(store.images[number], read_image_or_features(name, 8))
    assert {store.images[number].shape for number in range(24)} == {(2, 3, 5), (1, 4, 5), (1, 1, 5)}


def test_features_of_another_width_and_images_among_them_are_refused_or_skipped() -> None:
    rows = features([(2, 3, 5)] * 20 + [(2, 3, 6)])
    expected = "'photos/20.npy' has vectors of 6, where vectors of 5 are expected. "
    assert refusal(rows).startswith(f"a.tsv:21: {expected}")
    assert build_store(rows, on_bad_image="skip").skipped == 1
    assert refusal([*rows[:20], ROWS[0]]).startswith(
        "a.tsv:21: 'photos/0.png' is an image, where vectors of 5 are expected"
    )
    assert "'photos/1.npy' has vectors of 5, where images are expected" in refusal([*ROWS, rows[1]])


# Test files -----------------------------------------------------------------------------------------------------------


def for_testing(rows: Rows, folder: Path, options: ImageOptions, **data: Any) -> ImageStore:
    data_source = DataSource.for_testing(chosen(train="a.tsv", **data).data, DATA_SPEC, [saved("b.tsv", rows)])
    fill_store(data_source, folder, options)
    return ImageStore.open(folder, data_source)


def test_test_images_must_be_of_the_kind_of_the_run(tmp_path: Path) -> None:
    store = for_testing(ROWS[:6], tmp_path / "test", ImageOptions(8, skip=False, features=0))
    assert len(store.images) == 3
    assert [(split, *values[1:]) for split, (values, _) in numbered(store)] == [
        (TEST, caption, image) for image, caption in ROWS[:6]
    ]
    with pytest.raises(DataError, match=r"b\.tsv:1: 'photos/0\.png' is an image, where vectors of 7 are expected"):
        for_testing(ROWS[:6], tmp_path / "other", ImageOptions(8, skip=False, features=7))


def test_test_images_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"can be used: 'photos/0\.npy' has vectors of 5, where images"):
        for_testing(features([(2, 3, 5)] * 3), tmp_path / "test", ImageOptions(8, skip=True, features=0))


def test_test_data_without_a_valid_image_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"b\.tsv: none of its images can be used: 'none\.png'"):
        for_testing([("none.png", "nothing")], tmp_path / "test", ImageOptions(8, skip=True, features=0))
