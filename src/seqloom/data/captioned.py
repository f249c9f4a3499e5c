"""Images with captions: each image once, its captions as rows of tokens, split by image, each with its place."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import index
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.data.arrays import Ragged, read, smallest_type
from seqloom.data.cache import cached
from seqloom.data.examples import Captioned
from seqloom.data.gallery import Gallery, Images
from seqloom.data.lines import Skipped, skipped
from seqloom.data.origin import Origin
from seqloom.data.parted import ReadOnce
from seqloom.data.readers.captions import image_path
from seqloom.data.rows import Row, Within, files_beside, write_rows
from seqloom.data.split import PARTS, TEST, TRAIN, batched, check_filled
from seqloom.data.tokenisers import Tokeniser, train_tokeniser
from seqloom.spec.errors import DataError

META, TARGET, COPY = "meta.json", "target.json", "copy.jsonl"
TOGETHER = 1 << 20  # characters given to a tokeniser at a time, about


@dataclass(frozen=True)
class CaptionedPart:
    """A row for each caption: its image by number, its tokens, where it stood and what it said."""

    image: Integer[ndarray, " rows"]
    target: Ragged
    target_texts: Ragged  # UTF-8
    images: Images  # of all parts
    files: tuple[Within, ...]
    file: Integer[ndarray, " rows"]
    line: Integer[ndarray, " rows"]

    @property
    def rows(self) -> Ragged:
        """What has a length: an image has none."""
        return self.target

    def __len__(self) -> int:
        return len(self.target)

    def text(self, row: SupportsIndex) -> str:
        """A caption as it was written."""
        return bytes(self.target_texts[row]).decode()

    def references(self, image: SupportsIndex) -> list[str]:
        """All captions that an image has in this part, in the order of the file."""
        order, sorted_images = self._by_image
        first, end = np.searchsorted(sorted_images, [index(image), index(image) + 1])
        return [self.text(row) for row in order[first:end]]

    @cached_property
    def _by_image(self) -> tuple[Integer[ndarray, " rows"], Integer[ndarray, " rows"]]:
        order = np.argsort(self.image, kind="stable")
        return order, self.image[order]


@dataclass(frozen=True)
class CaptionedData:
    """All parts, and what they are told in."""

    target: Tokeniser
    parts: dict[str, CaptionedPart]
    images: Images
    cut: int  # captions that were longer than max_length
    skipped: int  # lines that could not be read
    bad_images: int  # images that could not be read, and are left out with their captions

    @property
    def features(self) -> int:
        """How long the vectors are that stand for regions; 0 where there are images."""
        return self.images.features

    @property
    def kind(self) -> str:
        """What a model looks at: "image" or "features"."""
        return "features" if self.features else "image"


def captioned(origin: Origin) -> CaptionedData:
    """Images and captions made ready, from the cache or now.

    An image counts as the same if its path, its size in bytes and the time of its last change are: all contents would
    have to be read to know more, at every start.
    """
    before = images_state(origin)

    def fill(folder: Path) -> None:
        make(origin, folder)
        origin.check_unchanged()
        if images_state(origin) != before:
            what = "one of its images changed while they were being read"
            raise DataError(origin.name, what, "Try again once they are complete")

    folder = cached({**origin.ingredients(), "images": before}, fill)
    told = json.loads((folder / META).read_text(encoding="utf-8"))
    return open_all(folder, Tokeniser.from_json((folder / TARGET).read_text(encoding="utf-8")), told)


def to_test(origin: Origin, folder: Path, target: Tokeniser, features: int) -> CaptionedData:
    """The part to test on, in a run's tokens; its images are written into the folder.

    features: how long the vectors are that the run's model looks at; 0 where it looks at images
    """
    bad = origin.bad()
    with Gallery(folder, origin, features) as gallery:
        told = write(gallery, folder, target, ((TEST, example) for example in gallery.examples(TEST, bad)))
        told |= {"skipped": skipped(bad), "bad_images": gallery.skipped}
    if not told["parts"]:
        raise DataError(origin.name, "none of its images can be read", "Check their paths, which go on from its folder")
    return open_all(folder, target, told)


def images_state(origin: Origin) -> str:
    """One fingerprint for what the system says of all images that the files name, be they there or not."""
    told, seen = hashlib.sha256(), set[str]()
    for part in PARTS:
        for example in origin.captions(part, Skipped()):
            path = image_path(example)
            if str(path) in seen:
                continue
            seen.add(str(path))
            try:
                about = path.stat()
                state = f"{about.st_size} {about.st_mtime_ns}"
            except (OSError, ValueError):
                state = "none"
            told.update(f"{example.image}\n{state}\n".encode())
    return told.hexdigest()


def open_all(folder: Path, target: Tokeniser, told: dict[str, Any]) -> CaptionedData:
    """All that `write` wrote into a folder, mapped into memory."""
    images = Images.within(folder)
    parts = {part: open_part(folder / part, images) for part in told["parts"]}
    return CaptionedData(target, parts, images, told["cut"], told["skipped"], told["bad_images"])


def open_part(folder: Path, images: Images) -> CaptionedPart:
    """One part, mapped into memory."""
    arrays = read(folder)
    target, texts = (Ragged.of(arrays, name) for name in ("target", "target_texts"))
    return CaptionedPart(arrays["image"], target, texts, images, files_beside(folder), arrays["file"], arrays["line"])


def make(origin: Origin, folder: Path) -> None:
    """Read the files once, and each image; then learn a tokeniser and write the tokens."""
    data = origin.data
    with Gallery(folder, origin) as gallery:
        captions = ReadOnce(origin, gallery.examples, Captioned, folder / COPY)
        check_filled(origin.names()[0], captions.sizes())
        target = train_tokeniser(
            data.tokeniser or "word",
            (caption.target for part, caption in captions if part == TRAIN),
            vocabulary=data.vocabulary or 8000,
            min_count=data.min_count,
            lowercase=data.lowercase,
            sample=data.sample or 20_000_000,
        )
        told = write(gallery, folder, target, captions)
    (folder / TARGET).write_text(target.to_json(), encoding="utf-8")
    told |= {"skipped": skipped(captions.bad), "bad_images": gallery.skipped}
    (folder / META).write_text(json.dumps(told), encoding="utf-8")
    captions.copy.unlink()


def write(
    gallery: Gallery, folder: Path, target: Tokeniser, captions: Iterable[tuple[str, Captioned]]
) -> dict[str, Any]:
    """The rows of each part; what there was to tell."""
    types = {"image": "int64", "target": smallest_type(len(target)), "target_texts": "uint8"}
    most = gallery.origin.data.max_length

    def rows() -> Iterator[Row]:
        for group in batched(captions, TOGETHER, lambda each: 1 + len(each[1].target)):
            encoded = target.encode_batch([caption.target for _, caption in group])
            for (part, caption), tokens in zip(group, encoded, strict=True):
                numbers = {
                    "image": np.array([gallery.number(caption)]),
                    "target": tokens[:most],
                    "target_texts": np.frombuffer(caption.target.encode(), dtype=np.uint8),
                }
                yield Row(part, caption.place, len(tokens) > len(numbers["target"]), numbers)

    return write_rows(folder, gallery.origin.names(), types, rows())
