"""An image is one image, however rows write its path, and is read once; what can't be read is refused or skipped."""

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
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    draw()


def made(rows: Rows = ROWS, **data: Any) -> ImageStore:
    return stored(source(train=saved("a.tsv", rows), **data))


def numbered(store: ImageStore) -> list[tuple[str, Record]]:
    return list(store.examples(raise_error))


def names(store: ImageStore) -> set[str]:
    return {store.images.name(number) for number in range(len(store.images))}


def refusal(rows: Rows = ROWS, **data: Any) -> str:
    with pytest.raises(DataError) as error:
        made(rows, **data)
    return str(error.value)


# Which image is which -------------------------------------------------------------------------------------------------


def test_one_image_is_one_however_its_path_is_written() -> None:
    for folder in ("sub", "else"):
        Path(folder).mkdir()
    Path("link").symlink_to("photos")
    saved("a.tsv", ROWS)
    saved("else/b.tsv", [(f"../{image}", "elsewhere") for image, _ in ROWS[::2]])
    saved("c.tsv", [(f"{way}/{i}.png", way) for i in range(IMAGES) for way in ("sub/../photos", "link", "photos")])
    store = stored(source(train=["a.tsv", "else/b.tsv", "c.tsv"]))
    assert len(store.images) == IMAGES
    said: dict[int, list[str]] = {}
    for split, (values, _) in numbered(store):
        number, caption, name = values
        assert split == TRAIN
        assert name == store.images.name(number)  # the first writing decides, wherever the data lie
        said.setdefault(number, []).append(caption)
    for number, captions in said.items():
        own = [caption for path, caption in ROWS if path == store.images.name(number)]
        assert captions == [*own, "elsewhere", "sub/../photos", "link", "photos"]
    assert names(store) == names(made()) == {image for image, _ in ROWS}


def test_each_example_has_its_image_and_its_place() -> None:
    valid = saved("v.tsv", ROWS[:4])
    store = made(valid=valid)
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
            Image.new("RGB", (12, 9), color).save(path, "BMP")  # as long in any color
            os.utime(path, ns=(1, 1))
    assert stored(source(train="one/a.tsv")).images[0][:, 0, 0].tolist() == [255, 0, 0]
    assert stored(source(train="two/a.tsv")).images[0][:, 0, 0].tolist() == [0, 0, 255]


def test_a_table_elsewhere_finds_its_images() -> None:
    Path("else").mkdir()
    Path("photos").rename("else/photos")
    assert len(stored(source(train=saved("else/a.tsv", ROWS))).images) == IMAGES


def test_a_print_of_all_images_is_kept_that_goes_by_content() -> None:
    def data_source() -> object:
        read = source(train=saved("a.tsv", ROWS))
        stored(read)
        return read.local()["images"]

    first = data_source()
    Path("photos/3.png").touch()
    assert data_source() == first  # from the cache or not
    os.utime("photos/3.png", ns=(1, 1))
    assert data_source() == first
    Path("photos/3.png").write_bytes(Path("photos/4.png").read_bytes())
    assert data_source() != first
    drawn = source(corpus="scenes", examples=60)
    stored(drawn)
    assert "images" not in drawn.local()


# The cache, and what changes meanwhile --------------------------------------------------------------------------------


def test_each_image_is_read_once_and_not_at_all_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(path: Path, size: int) -> Any:
        read.append(str(path))
        return read_image_or_features(path, size)

    monkeypatch.setattr(module, "read_image_or_features", counted)
    first = made()
    assert len(read) == len(set(read)) == IMAGES
    again = made()
    assert numbered(first) == numbered(again)
    made(lowercase=False)
    stored(source(train="a.tsv", seed=2))
    assert len(read) == IMAGES  # other words and other splits are no other images
    made(image_size=9)
    assert len(read) == 2 * IMAGES


def test_an_image_that_changes_is_read_again() -> None:
    name = made().images.name(3)
    Image.new("RGB", (8, 8), "green").save(name)
    os.utime(name, ns=(1, 1))
    assert made().images[3][:, 0, 0].tolist() == [0, 128, 0]


MEANWHILE = "a.tsv: one of its images changed while they were being read. Try again once they are complete."


def test_an_image_that_changes_meanwhile_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def meanwhile(source: DataSource, folder: Path, options: ImageOptions) -> None:
        fill_store(source, folder, options)
        Path("photos/3.png").write_bytes(b"")

    monkeypatch.setattr(module, "fill_store", meanwhile)
    assert refusal() == MEANWHILE
    assert not list(Path("cache").glob("[!.]*"))


def test_an_image_whose_link_leads_elsewhere_meanwhile_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("photos/3.png").rename("other.png")
    Path("photos/3.png").symlink_to("../other.png")

    def before(source: DataSource, folder: Path, options: ImageOptions) -> None:
        Path("photos/3.png").unlink()
        Path("photos/3.png").symlink_to("4.png")
        fill_store(source, folder, options)

    monkeypatch.setattr(module, "fill_store", before)
    assert refusal() == MEANWHILE


def test_a_table_that_changes_meanwhile_is_refused() -> None:
    data_source = source(train=saved("a.tsv", ROWS))
    saved("a.tsv", ROWS[:-1])
    with pytest.raises(DataError, match=r"^a\.tsv: the file changed while it was being read\. Try again"):
        stored(data_source)


def test_bad_rows_are_counted_once_for_each_reading_of_the_examples() -> None:
    store = stored(source(train=saved("a.tsv", [*ROWS, ("photos/1.png", "")]), on_bad_line="skip"))
    on_bad_line = SkipBadLines()
    assert len(list(store.examples(on_bad_line))) == len(ROWS)
    assert on_bad_line.count == 1
    assert str(on_bad_line.errors[0]).startswith(f"a.tsv:{len(ROWS) + 1}: the caption is empty")
    assert list(store.examples(on_bad_line)) == list(store.examples(on_bad_line))


# What can't be read ---------------------------------------------------------------------------------------------------


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
    do = "Replace it, name the column of images with data.source, or pass data.on_bad_image skip."
    assert sentence.endswith(f". {do}")
    store = made(on_bad_image="skip")
    assert len(numbered(store)) == len(ROWS) - 2
    assert (store.skipped, len(store.images)) == (1, IMAGES - 1)


@pytest.mark.parametrize(("name", "text"), [("Dr. Smith waves.", True), ("two cats", True), ("cat.PNG", False)])
def test_pairs_of_texts_are_pointed_to_their_task(name: str, text: bool) -> None:
    sentence = refusal([(name, "deux chats"), *ROWS])
    assert sentence.startswith(f"a.tsv:1: {name!r} is not there. Replace it, ")
    assert sentence.endswith("data.on_bad_image skip; pairs of texts are for 'seqloom train translate'.") == text


def test_a_path_can_not_write_on_the_terminal() -> None:
    Path("a.csv").write_text('"photos/1.png",one\n"\x1b[31m\nfine.png",two\n')
    with pytest.raises(DataError) as error:
        stored(source(train="a.csv"))
    assert str(error.value).startswith("a.csv:2: '\\x1b[31m\\nfine.png' is not there. ")


def test_a_path_that_is_none_is_no_image() -> None:
    Path("a.jsonl").write_text('{"image": "photos/1\\u0000.png", "caption": "one"}\n')
    with pytest.raises(DataError) as error:
        stored(source(train="a.jsonl"))
    assert str(error.value).startswith("a.jsonl:1: 'photos/1\\x00.png' is not a file name. ")


def test_a_data_set_without_one_good_image_is_a_sentence() -> None:
    sentence = refusal([("none.png", "nothing")], on_bad_image="skip")
    assert sentence.startswith("a.tsv: none of its images can be used: 'none.png' is not there. ")


# Features -------------------------------------------------------------------------------------------------------------


def test_features_keep_the_shape_of_their_grid() -> None:
    shapes = [(2, 3, 5), (4, 5), (1, 1, 5)] * 8
    store = made(features(shapes))
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
    assert made(rows, on_bad_image="skip").skipped == 1
    assert refusal([*rows[:20], ROWS[0]]).startswith(
        "a.tsv:21: 'photos/0.png' is an image, where vectors of 5 are expected"
    )
    assert "'photos/1.npy' has vectors of 5, where images are expected" in refusal([*ROWS, rows[1]])


# Files to test on -----------------------------------------------------------------------------------------------------


def for_testing(rows: Rows, folder: Path, options: ImageOptions, **data: Any) -> ImageStore:
    data_source = DataSource.for_testing(chosen(train="a.tsv", **data).data, DATA_SPEC, [saved("b.tsv", rows)])
    fill_store(data_source, folder, options)
    return ImageStore.open(folder, data_source)


def test_images_to_test_on_are_of_the_runs_kind(tmp_path: Path) -> None:
    store = for_testing(ROWS[:6], tmp_path / "test", ImageOptions(8, skip=False, features=0))
    assert len(store.images) == 3
    assert [(split, *values[1:]) for split, (values, _) in numbered(store)] == [
        (TEST, caption, image) for image, caption in ROWS[:6]
    ]
    with pytest.raises(DataError, match=r"b\.tsv:1: 'photos/0\.png' is an image, where vectors of 7 are expected"):
        for_testing(ROWS[:6], tmp_path / "other", ImageOptions(8, skip=False, features=7))


def test_images_of_another_kind_are_a_sentence_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"can be used: 'photos/0\.npy' has vectors of 5, where images"):
        for_testing(features([(2, 3, 5)] * 3), tmp_path / "test", ImageOptions(8, skip=True, features=0))


def test_not_one_good_image_to_test_on_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"b\.tsv: none of its images can be used: 'none\.png'"):
        for_testing([("none.png", "nothing")], tmp_path / "test", ImageOptions(8, skip=True, features=0))
