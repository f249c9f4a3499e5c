"""Thirty photographs with two captions each, and what is made of them."""

from pathlib import Path
from typing import Any

from PIL import Image

from seqloom.data.captioned import CaptionedData, captioned
from seqloom.data.origin import Origin
from seqloom.tasks.registry import experiment

IMAGES = 30
Rows = list[tuple[str, str]]
ROWS: Rows = [(f"photos/{i}.png", f"a photo of {i} {said}") for i in range(IMAGES) for said in ("one", "two")]


def draw() -> None:
    """Thirty images, each of one colour."""
    Path("photos").mkdir()
    for i in range(IMAGES):
        Image.new("RGB", (12, 9), (8 * i, 0, 255 - 8 * i)).save(f"photos/{i}.png")


def saved(name: str, rows: Rows) -> str:
    Path(name).write_text("".join(f"{image}\t{caption}\n" for image, caption in rows))
    return name


def origin(**data: Any) -> Origin:
    asked = {"image_size": 8, "min_count": 1, **data} | ({} if "valid" in data else {"valid_share": 0.3})
    return Origin.of(experiment({"task": "caption", "data": asked}))


def made(rows: Rows = ROWS, **data: Any) -> CaptionedData:
    return captioned(origin(train=saved("a.tsv", rows), **data))
