"""Each image of a data set read once, and written where a gallery finds it, however many captions it has."""

import hashlib
import json
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from jaxtyping import Shaped
from numpy import ndarray

from seqloom.data.arrays import Writer
from seqloom.data.cache import fingerprint
from seqloom.data.corpora.scenes import SIDE
from seqloom.data.examples import Captioned
from seqloom.data.gallery import IMAGES, NUMBERS, PRINT, Gallery, scenes
from seqloom.data.images import SUFFIXES, read_source
from seqloom.data.origin import Origin
from seqloom.data.readers.captions import RealPaths, image_path
from seqloom.data.split import PARTS
from seqloom.spec.errors import DataError


def hang(origin: Origin, folder: Path, features: int | None = None) -> Gallery:
    """All images that the files name, or that the corpus draws; those that can't be read stop everything, or are
    skipped.

    features: how long the vectors must be, or 0 for images; None for those of the first that is seen
    """
    with Hanging(folder, origin, features) as wall:
        for part in PARTS:
            for scene in scenes(origin, part):
                wall.drawn(f"scene {scene.number}", scene.image(wall.size))
            for example in origin.captions(part, origin.bad()):
                wall.add(example)
    if not wall.hung:
        why = f": {wall.why}" if wall.why else ""
        do = "Check their paths, which go on from its folder, and their kind"
        raise DataError(origin.name, f"none of its images can be used{why}", do)
    wall.note()
    return Gallery.within(folder)


class Hanging:
    """A gallery while it is filled."""

    def __init__(self, folder: Path, origin: Origin, features: int | None) -> None:
        self.folder, self.origin, self.features = folder, origin, features
        self.size = origin.data.image_size or SIDE
        self.real = RealPaths()
        self.numbers: dict[str, int | None] = {}  # by the real path; None is one that can't be read
        self.contents = hashlib.sha256()
        self.why = ""  # what is wrong with the first that can't be used
        self.hung = 0
        self._writer: Writer | None = None
        self._open = ExitStack()

    def __enter__(self) -> "Hanging":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def drawn(self, name: str, image: Shaped[ndarray, "first second third"]) -> None:
        """One that no file holds."""
        self.numbers[name] = self._hang(name, image)

    def add(self, example: Captioned) -> None:
        """An example's image, if it does not hang yet."""
        path = image_path(example)
        real = self.real[str(path)]
        if real in self.numbers:
            return
        try:
            image, content = read_source(path, self.size), fingerprint(path)
            self.numbers[real] = self._hang(example.image, image)
        except DataError as error:
            what = f"{example.image!r} {error.what}"
            if self.origin.data.on_bad_image == "refuse":
                raise DataError(example.place, what, self._advice(example)) from None
            self.numbers[real], content = None, "none"
            self.why = self.why or what
        self.contents.update(f"{content}\n".encode())

    def _advice(self, example: Captioned) -> str:
        """What to do about an image that can't be read, or about a text that is none."""
        do = "Replace it, name the column of images with --data.source, or pass --data.on-bad-image skip"
        texts = not self.hung and Path(example.image).suffix.lower() not in SUFFIXES
        return f"{do}; pairs of texts are for 'seqloom train translate'" if texts else do

    def _hang(self, name: str, image: Shaped[ndarray, "first second third"]) -> int:
        self._check_alike(name, image.shape[2] if image.dtype.kind == "f" else 0)
        if self._writer is None:
            types = {"values": image.dtype.name, "values_end": "int64", "shapes": "int32"}
            types |= {"names": "uint8", "names_end": "int64"}
            self._writer = self._open.enter_context(Writer(self.folder / IMAGES, types))
        self._writer.add_rows("values", [image.ravel()])
        self._writer.add("shapes", image.shape)
        self._writer.add_rows("names", [np.frombuffer(name.encode(), dtype=np.uint8)])
        self.hung += 1
        return self.hung - 1

    def _check_alike(self, name: str, features: int) -> None:
        """A model reads images, or vectors of one length."""
        if self.features is None:
            self.features = features
        if self.features != features:
            came = f"has vectors of {features:,}" if features else "is an image"
            expected = f"vectors of {self.features:,}" if self.features else "images"
            raise DataError(repr(name), f"{came}, where {expected} are expected", "Replace it")

    def note(self) -> None:
        """What a gallery must know besides."""
        skipped = sum(number is None for number in self.numbers.values())
        told = {"sha256": self.contents.hexdigest(), "skipped": skipped}
        (self.folder / PRINT).write_text(json.dumps(told), encoding="utf-8")
        (self.folder / NUMBERS).write_text(json.dumps(self.numbers), encoding="utf-8")
