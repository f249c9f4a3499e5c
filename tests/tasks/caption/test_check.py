"""A look at images with captions finds those that can't be read."""

from pathlib import Path

from PIL import Image

from tests.tasks.checks import check, names, only, says, write


def gallery(tmp_path: Path, images: int = 40) -> str:
    for number in range(images):
        Image.new("RGB", (9, 9), (number, 0, 0)).save(tmp_path / f"{number}.png")
    rows = (f"{number}.png\ta picture of {word}\n" for number in range(images) for word in ("red", "colour"))
    return "image\tcaption\n" + "".join(rows)


def test_clean_data_have_no_findings(tmp_path: Path) -> None:
    found = check("caption", train=write(tmp_path / "a.tsv", gallery(tmp_path)))
    assert found.ok
    assert found.findings == []
    summary = dict(found.summary)
    assert summary["columns"].startswith("image: 'image', caption: 'caption'")
    assert summary["images"] == "40, with 80 captions"


def test_images_that_can_not_be_read(tmp_path: Path) -> None:
    write(tmp_path / "broken.png", b"no image")
    train = write(
        tmp_path / "a.tsv", gallery(tmp_path) + "absent.png\tnothing\nbroken.png\tone\nbroken.png\ttwo\n5.png\t\n"
    )
    found = check("caption", train=train)
    assert not found.ok
    assert names(only(found, "'absent.png'").locations) == ["a.tsv:82"]
    assert names(only(found, "'broken.png'").locations) == ["a.tsv:83"]
    assert names(only(found, "the caption is empty").locations) == ["a.tsv:85"]
    assert check("caption", train=train, on_bad_image="skip", on_bad_line="skip").ok


def test_an_image_in_two_parts(tmp_path: Path) -> None:
    train = write(tmp_path / "a.tsv", gallery(tmp_path))
    found = check("caption", train=train, valid=write(tmp_path / "v.tsv", "image\tcaption\n3.png\tthe third\n"))
    assert only(found, "1 caption of valid (100%) is in train too").kind == "warning"


def test_an_image_under_two_names(tmp_path: Path) -> None:
    rows = gallery(tmp_path)
    (tmp_path / "sub").mkdir()
    other = "".join(f"sub/../{row}\n" for row in rows.splitlines()[1:])
    one = dict(check("caption", train=write(tmp_path / "a.tsv", rows)).summary)
    two = dict(check("caption", train=write(tmp_path / "a.tsv", rows + other)).summary)
    assert two["images"] == "40, with 160 captions"
    assert [int(two[part].split()[0]) for part in ("train", "valid")] == [
        2 * int(one[part].split()[0]) for part in ("train", "valid")
    ]


def test_drawn_scenes() -> None:
    found = check("caption", examples=20)
    assert found.ok
    assert dict(found.summary)["scenes"] == "20"
    assert says(check("caption", corpus_length=9), "objects")
