"""An image is one image, however rows write its path; others are others, and all are known again by their content."""

import os
from pathlib import Path

import pytest
from PIL import Image

from seqloom.data.captioned import captioned
from seqloom.data.split import TEST, TRAIN, VALID
from seqloom.spec.errors import DataError
from tests.data.photos import IMAGES, ROWS, draw, made, origin, saved


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    draw()


def test_one_image_is_one_however_its_path_is_written() -> None:
    for folder in ("sub", "else"):
        Path(folder).mkdir()
    Path("link").symlink_to("photos")
    saved("a.tsv", ROWS)
    saved("else/b.tsv", [(f"../{image}", "elsewhere") for image, _ in ROWS[::2]])
    saved("c.tsv", [(f"{way}/{i}.png", way) for i in range(IMAGES) for way in ("sub/../photos", "link", "photos")])
    data = captioned(origin(train=["a.tsv", "else/b.tsv", "c.tsv"]))
    assert len(data.images) == IMAGES
    assert list(data.shared()) == []
    for part in data.parts.values():
        for image in set(part.image.tolist()):
            said = [caption for path, caption in ROWS if path == data.images.name(image)]
            assert part.references(image) == [*said, "elsewhere", "sub/../photos", "link", "photos"]
    alone = made()
    for part in (TRAIN, VALID):  # the first writing decides, wherever the data lie
        names = {data.images.name(image) for image in data.parts[part].image}
        assert names == {alone.images.name(image) for image in alone.parts[part].image}


def test_images_that_two_parts_have_are_counted() -> None:
    Path("sub").mkdir()
    valid, test = saved("sub/v.tsv", [("../photos/3.png", "x"), ("../photos/3.png", "y")]), saved("t.tsv", ROWS[5:8])
    data = made(ROWS[:8], valid=valid, test=test)
    assert list(data.shared()) == [(VALID, TRAIN, 2), (TEST, TRAIN, 3), (TEST, VALID, 2)]
    assert list(made(ROWS[:8], valid=saved("v.tsv", ROWS[8:])).shared()) == []


def test_equal_tables_in_two_folders_have_their_own_images() -> None:
    for folder, colour in (("one", "red"), ("two", "blue")):
        Path(folder, "photos").mkdir(parents=True)
        saved(f"{folder}/a.tsv", ROWS)
        for i in range(IMAGES):
            path = Path(folder, "photos", f"{i}.png")
            Image.new("RGB", (12, 9), colour).save(path, "BMP")  # as long in any colour
            os.utime(path, ns=(1, 1))
    assert captioned(origin(train="one/a.tsv")).images[0][:, 0, 0].tolist() == [255, 0, 0]
    assert captioned(origin(train="two/a.tsv")).images[0][:, 0, 0].tolist() == [0, 0, 255]


def test_a_print_of_all_images_is_kept_that_goes_by_content() -> None:
    def found() -> object:
        read = origin(train=saved("a.tsv", ROWS))
        captioned(read.saying_columns())
        return read.local()["images"]

    first = found()
    Path("photos/3.png").touch()
    assert found() == first  # from the cache or not
    os.utime("photos/3.png", ns=(1, 1))
    assert found() == first
    Path("photos/3.png").write_bytes(Path("photos/4.png").read_bytes())
    assert found() != first
    drawn = origin(corpus="scenes", examples=60)
    captioned(drawn)
    assert "images" not in drawn.local()


def test_a_path_can_not_write_on_the_terminal() -> None:
    Path("a.csv").write_text('"photos/1.png",one\n"\x1b[31m\nfine.png",two\n')
    with pytest.raises(DataError) as error:
        captioned(origin(train="a.csv"))
    assert str(error.value).startswith("a.csv:2: '\\x1b[31m\\nfine.png' is not there. ")
