"""The check of images with captions reports images that can't be read."""

from pathlib import Path

from PIL import Image

from tests.tasks.checks import check, names, only, says, write


def image_table(tmp_path: Path, images: int = 40) -> str:
    for number in range(images):
        Image.new("RGB", (9, 9), (number, 0, 0)).save(tmp_path / f"{number}.png")
    rows = (f"{number}.png\ta picture of {word}\n" for number in range(images) for word in ("red", "colour"))
    return "image\tcaption\n" + "".join(rows)


def test_clean_data_have_no_findings(tmp_path: Path) -> None:
    inspection = check("caption", train=write(tmp_path / "a.tsv", image_table(tmp_path)))
    assert inspection.ok
    assert inspection.findings == []
    summary = dict(inspection.summary)
    assert summary["columns"].startswith("image: 'image', caption: 'caption'")
    assert summary["images"] == "40, with 80 captions"


def test_unreadable_images_are_errors(tmp_path: Path) -> None:
    write(tmp_path / "broken.png", b"no image")
    train = write(
        tmp_path / "a.tsv", image_table(tmp_path) + "absent.png\tnothing\nbroken.png\tone\nbroken.png\ttwo\n5.png\t\n"
    )
    inspection = check("caption", train=train)
    assert not inspection.ok
    assert names(only(inspection, "'absent.png'").locations) == ["a.tsv:82"]
    assert names(only(inspection, "'broken.png'").locations) == ["a.tsv:83"]
    assert names(only(inspection, "the caption is empty").locations) == ["a.tsv:85"]
    assert check("caption", train=train, on_bad_image="skip", on_bad_line="skip").ok


def test_an_image_in_two_splits_is_a_warning(tmp_path: Path) -> None:
    train = write(tmp_path / "a.tsv", image_table(tmp_path))
    inspection = check("caption", train=train, valid=write(tmp_path / "v.tsv", "image\tcaption\n3.png\tthe third\n"))
    assert only(inspection, "1 caption of valid (100%) is in train too").kind == "warning"


def test_an_image_under_two_paths_is_one_image(tmp_path: Path) -> None:
    rows = image_table(tmp_path)
    (tmp_path / "sub").mkdir()
    other = "".join(f"sub/../{row}\n" for row in rows.splitlines()[1:])
    once = dict(check("caption", train=write(tmp_path / "a.tsv", rows)).summary)
    twice = dict(check("caption", train=write(tmp_path / "a.tsv", rows + other)).summary)
    assert twice["images"] == "40, with 160 captions"
    assert [int(twice[split].split()[0]) for split in ("train", "valid")] == [
        2 * int(once[split].split()[0]) for split in ("train", "valid")
    ]


def test_rendered_scenes_have_no_errors() -> None:
    inspection = check("caption", examples=20)
    assert inspection.ok
    assert dict(inspection.summary)["scenes"] == "20"
    assert says(check("caption", corpus_length=9), "objects")
