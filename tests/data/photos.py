"""Thirty images with two captions each, their tables and their image store."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from seqloom.data.image_store import ImageStore, store_images
from seqloom.data.source import DataSource
from seqloom.tasks.caption.config import DATA_SPEC
from seqloom.tasks.caption.task import image_options
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import experiment

IMAGES = 30
Rows = list[tuple[str, str]]
ROWS: Rows = [(f"photos/{i}.png", f"a photo of {i} {caption}") for i in range(IMAGES) for caption in ("one", "two")]


def draw() -> None:
    """Draw thirty images, each of one color."""
    Path("photos").mkdir()
    for i in range(IMAGES):
        Image.new("RGB", (12, 9), (8 * i, 0, 255 - 8 * i)).save(f"photos/{i}.png")


def features(shapes: list[tuple[int, ...]]) -> Rows:
    """Write grids of features of these shapes, each with a caption."""
    random = np.random.default_rng(0)
    for i, shape in enumerate(shapes):
        np.save(f"photos/{i}.npy", random.standard_normal(shape))
    return [(f"photos/{i}.npy", f"caption {i}") for i in range(len(shapes))]


def saved(name: str, rows: Rows) -> str:
    Path(name).write_text("".join(f"{image}\t{caption}\n" for image, caption in rows))
    return name


def chosen(**data: Any) -> Experiment:
    values = {"image_size": 8, "min_count": 1, **data} | ({} if "valid" in data else {"valid_share": 0.3})
    return experiment({"task": "caption", "data": values})


def source(**data: Any) -> DataSource:
    return DataSource.resolve(chosen(**data).data, DATA_SPEC).hashed()


def stored(data_source: DataSource) -> ImageStore:
    return store_images(data_source, image_options(data_source.data))
