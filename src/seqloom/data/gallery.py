"""The images of a data set: each one read and written once, then mapped into memory."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import SupportsIndex

import numpy as np
from jaxtyping import Integer, Shaped
from numpy import ndarray

from seqloom.data.arrays import Ragged, Writer, read
from seqloom.data.corpora import CORPORA
from seqloom.data.corpora.scenes import SIDE
from seqloom.data.examples import Captioned, Place
from seqloom.data.images import read_source
from seqloom.data.lines import Bad
from seqloom.data.origin import Origin
from seqloom.data.readers.captions import image_path
from seqloom.data.split import TRAIN
from seqloom.spec.errors import DataError

IMAGES = "images"


@dataclass(frozen=True)
class Images:
    """Images by their numbers, each as `read_source` gives one; and their paths as they were written."""

    values: Ragged
    shapes: Integer[ndarray, "images 3"]
    names: Ragged  # UTF-8

    @staticmethod
    def within(folder: Path) -> "Images":
        """Those that a gallery has written there."""
        arrays = read(folder / IMAGES)
        return Images(Ragged.of(arrays, "values"), arrays["shapes"].reshape(-1, 3), Ragged.of(arrays, "names"))

    def __len__(self) -> int:
        return len(self.shapes)

    def __getitem__(self, number: SupportsIndex) -> Shaped[ndarray, "first second third"]:
        return self.values[number].reshape(self.shapes[number])

    def name(self, number: SupportsIndex) -> str:
        """The path as it was written."""
        return bytes(self.names[number]).decode()

    @property
    def features(self) -> int:
        """How long the vectors are that stand for regions; 0 where there are images."""
        return int(self.shapes[0, 2]) if self.values.flat.dtype.kind == "f" else 0


class Gallery:
    """Where images are hung, each once however many captions it has; `close` makes the folder readable.

    features: how long the vectors must be, or 0 for images; None for those of the first that is seen
    """

    def __init__(self, folder: Path, origin: Origin, features: int | None = None) -> None:
        self.folder, self.origin, self.features = folder, origin, features
        self.size = origin.data.image_size or SIDE
        self.numbers: dict[str, int | None] = {}  # by the path; None is one that can't be read
        self.hung = 0
        self._writer: Writer | None = None
        self._open = ExitStack()

    def __enter__(self) -> "Gallery":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def skipped(self) -> int:
        """How many images can't be read."""
        return sum(number is None for number in self.numbers.values())

    def examples(self, part: str, bad: Bad) -> Iterator[Captioned]:
        """The captions of a part whose images can be read; those that can't be stop everything, or are skipped."""
        if part == TRAIN and self.origin.corpus:
            data = self.origin.data
            for scene in CORPORA[self.origin.corpus].scenes(self.origin.seed, data.length, data.examples):
                drawn = Captioned(f"scene {scene.number}", scene.caption, Place(self.origin.corpus, scene.number))
                self.numbers[str(image_path(drawn))] = self._hang(drawn, scene.image(self.size))
                yield drawn
        for example in self.origin.captions(part, bad):
            if self.number(example) is not None:
                yield example

    def number(self, example: Captioned) -> int | None:
        """Of an example's image, which is read if it is not hung yet."""
        path = str(image_path(example))
        if path not in self.numbers:
            try:
                self.numbers[path] = self._hang(example, read_source(path, self.size))
            except DataError as error:
                if self.origin.data.on_bad_image == "refuse":
                    do = "Replace it, or pass --data.on-bad-image skip"
                    raise DataError(example.place, f"{example.image} {error.what}", do) from None
                self.numbers[path] = None
        return self.numbers[path]

    def _hang(self, example: Captioned, image: Shaped[ndarray, "first second third"]) -> int:
        self._check_alike(example, image.shape[2] if image.dtype.kind == "f" else 0)
        if self._writer is None:
            types = {"values": image.dtype.name, "values_end": "int64", "shapes": "int32"}
            types |= {"names": "uint8", "names_end": "int64"}
            self._writer = self._open.enter_context(Writer(self.folder / IMAGES, types))
        self._writer.add_rows("values", [image.ravel()])
        self._writer.add("shapes", image.shape)
        self._writer.add_rows("names", [np.frombuffer(example.image.encode(), dtype=np.uint8)])
        self.hung += 1
        return self.hung - 1

    def _check_alike(self, example: Captioned, features: int) -> None:
        """A model reads images, or vectors of one length."""
        if self.features is None:
            self.features = features
        if self.features != features:
            came = f"has vectors of {features:,}" if features else "is an image"
            expected = f"vectors of {self.features:,}" if self.features else "images"
            raise DataError(example.image, f"{came}, where {expected} are expected", "Replace it")
