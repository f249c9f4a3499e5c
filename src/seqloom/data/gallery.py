"""The images of a data set, each once, mapped into memory; and which of them each caption is of."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import SupportsIndex

from jaxtyping import Integer, Shaped
from numpy import ndarray

from seqloom.data.arrays import Ragged, read
from seqloom.data.corpora import CORPORA
from seqloom.data.corpora.scenes import Scene
from seqloom.data.examples import Hung, Place
from seqloom.data.lines import Bad
from seqloom.data.origin import Origin
from seqloom.data.readers.captions import RealPaths, image_path
from seqloom.data.split import TRAIN
from seqloom.spec.errors import DataError

IMAGES, PRINT, NUMBERS = "images", "print.json", "numbers.json"


@dataclass(frozen=True)
class Images:
    """Images by their numbers, each as `read_source` gives one; and their paths as they were first written."""

    values: Ragged
    shapes: Integer[ndarray, "images 3"]
    names: Ragged  # UTF-8

    @staticmethod
    def within(folder: Path) -> "Images":
        """Those that were hung there."""
        arrays = read(folder / IMAGES)
        return Images(Ragged.of(arrays, "values"), arrays["shapes"].reshape(-1, 3), Ragged.of(arrays, "names"))

    def __len__(self) -> int:
        return len(self.shapes)

    def __getitem__(self, number: SupportsIndex) -> Shaped[ndarray, "first second third"]:
        return self.values[number].reshape(self.shapes[number])

    def name(self, number: SupportsIndex) -> str:
        """The path as it was first written."""
        return bytes(self.names[number]).decode()

    @property
    def features(self) -> int:
        """How long the vectors are that stand for regions; 0 where there are images."""
        return int(self.shapes[0, 2]) if self.values.flat.dtype.kind == "f" else 0


@dataclass(frozen=True)
class Gallery:
    """A folder that `hang` has filled."""

    folder: Path
    images: Images
    sha256: str  # of all contents, in the order of their hanging; an image that can't be read has none
    skipped: int  # images that can't be read
    real: RealPaths = field(default_factory=RealPaths)

    @staticmethod
    def within(folder: Path) -> "Gallery":
        """What hangs there."""
        told = json.loads((folder / PRINT).read_text(encoding="utf-8"))
        return Gallery(folder, Images.within(folder), told["sha256"], told["skipped"])

    def examples(self, origin: Origin, part: str, bad: Bad) -> Iterator[Hung]:
        """The captions of a part whose images hang here."""
        numbers: dict[str, int | None] = json.loads((self.folder / NUMBERS).read_text(encoding="utf-8"))
        for scene in scenes(origin, part):
            name = f"scene {scene.number}"
            yield Hung(numbers[name] or 0, name, scene.caption, Place(str(origin.corpus), scene.number))
        for example in origin.captions(part, bad):
            real = self.real[str(image_path(example))]
            if real not in numbers:
                raise changed(origin)
            if (number := numbers[real]) is not None:
                yield Hung(number, self.images.name(number), example.target, example.place)


def scenes(origin: Origin, part: str) -> Iterator[Scene]:
    """What the corpus draws for a part, if there is one."""
    if part == TRAIN and origin.corpus:
        yield from CORPORA[origin.corpus].scenes(origin.seed, origin.data.length, origin.data.examples)


def changed(origin: Origin) -> DataError:
    """The sentence for an image that is another than it was a moment ago."""
    what = "one of its images changed while they were being read"
    return DataError(origin.name, what, "Try again once they are complete")
