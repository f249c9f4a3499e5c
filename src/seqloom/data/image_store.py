"""The images that a dataset names, each read once and stored in one memory-mapped file."""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Protocol, SupportsIndex, runtime_checkable

import numpy as np
from jaxtyping import Integer, Shaped
from numpy import ndarray

from seqloom.core.problem import DataError, KeyName
from seqloom.data.cache import find_or_create, fingerprint
from seqloom.data.images import SUFFIXES, read_image_or_features
from seqloom.data.records import Location, Record
from seqloom.data.row_store import ArrayWriter, Ragged, read_arrays
from seqloom.data.source import DataSource
from seqloom.data.text_io import OnBadLine

IMAGES, FINGERPRINT, NUMBERS = "images", "print.json", "numbers.json"
DRAWING_SIZE = 48  # pixels a side of an image that a corpus draws, by default

Pixels = Shaped[ndarray, "first second third"]
"""An image, as `read_image_or_features` returns it."""


@dataclass(frozen=True)
class ImageOptions:
    """How images are read.

    size: pixels a side of the resized images; None for features alone
    skip: whether an image that can't be read is left out with its examples
    features: the length of the vectors of regions, or 0 for images; None for those of the first image
    advice: for a person who named texts instead of images
    """

    size: int | None
    skip: bool
    features: int | None = None
    advice: str = ""


@runtime_checkable
class DrawnImage(Protocol):
    """An image that an embedded corpus draws."""

    @property
    def number(self) -> int:
        """Its number in the corpus, from 1."""

    def image(self, side: int) -> Integer[ndarray, "3 side side"]:
        """Its pixels at this size, in bytes."""


def image_path(image: str, location: Location) -> Path:
    """The path of an example's image, which is relative to the folder of its table.

    >>> str(image_path("photos/1.jpg", Location("flickr/train.tsv", 1)))
    'flickr/photos/1.jpg'
    """
    return Path(location.file).parent / image


class RealPaths(dict[str, str]):
    """The real path of each path, looked up once: an image is one image, whatever paths rows have for it.

    >>> real = RealPaths()
    >>> real["photos/../1.jpg"] == real["1.jpg"]
    True
    """

    def __missing__(self, path: str) -> str:
        try:
            self[path] = os.path.realpath(path)
        except ValueError:  # a NUL in it: reading it will fail
            self[path] = path
        return self[path]


def image_key(example: Record, real_paths: RealPaths) -> str:
    """What an example's image is stored under: its real path, or the number of a drawing."""
    image = example.values[0]
    if isinstance(image, DrawnImage):
        return f"scene {image.number}"
    return real_paths[str(image_path(image, example.location))]


def image_states(source: DataSource) -> str:
    """A hash of paths, sizes and times of all images that the files name, whether they exist or not."""
    states, real_paths = hashlib.sha256(), RealPaths()
    for _, (values, location) in source.examples(source.on_bad_line()):
        image = values[0]
        if isinstance(image, DrawnImage) or (path := str(image_path(image, location))) in real_paths:
            continue
        real = real_paths[path]
        try:
            stat = Path(real).stat()
            state = f"{stat.st_size} {stat.st_mtime_ns}"
        except (OSError, ValueError):
            state = "none"
        states.update(f"{image!r} {real!r} {state}\n".encode())
    return states.hexdigest()


@dataclass(frozen=True)
class Images:
    """Images by their numbers, and their paths as first written."""

    values: Ragged
    shapes: Integer[ndarray, "images 3"]
    names: Ragged  # UTF-8

    @staticmethod
    def open(folder: Path) -> "Images":
        arrays = read_arrays(folder / IMAGES)
        return Images(Ragged.of(arrays, "values"), arrays["shapes"].reshape(-1, 3), Ragged.of(arrays, "names"))

    def __len__(self) -> int:
        return len(self.shapes)

    def __getitem__(self, number: SupportsIndex) -> Pixels:
        return self.values[number].reshape(self.shapes[number])

    def name(self, number: SupportsIndex) -> str:
        return bytes(self.names[number]).decode()

    @property
    def features(self) -> int:
        """The length of the vectors of regions; 0 for images."""
        return int(self.shapes[0, 2]) if self.values.flat.dtype.kind == "f" else 0


@dataclass(frozen=True)
class ImageStore:
    """A folder of images, and the image of each example.

    numbers: by `image_key`; None for an image that can't be read
    state: `image_states` when they were read
    sha256: of all contents in the order of the examples, without images that can't be read
    skipped: images that can't be read
    """

    source: DataSource
    images: Images
    numbers: dict[str, int | None] = field(repr=False)
    state: str
    sha256: str
    skipped: int

    @staticmethod
    def open(folder: Path, source: DataSource, state: str = "") -> "ImageStore":
        metadata = json.loads((folder / FINGERPRINT).read_text(encoding="utf-8"))
        numbers = json.loads((folder / NUMBERS).read_text(encoding="utf-8"))
        return ImageStore(source, Images.open(folder), numbers, state, metadata["sha256"], metadata["skipped"])

    def examples(self, on_bad_line: OnBadLine) -> Iterator[tuple[str, Record]]:
        """The examples whose image is stored: its number, then the other values, then the image's name."""
        real_paths = RealPaths()
        for split, example in self.source.examples(on_bad_line):
            key = image_key(example, real_paths)
            if key not in self.numbers:
                raise images_changed(self.source)
            if (number := self.numbers[key]) is not None:
                yield split, Record((number, *example.values[1:], self.images.name(number)), example.location)


def store_images(source: DataSource, options: ImageOptions) -> ImageStore:
    """The images of a source, from the cache or new; the cache keeps them apart from the rows, since they do not depend
    on seeds and tokenizers.

    An image is taken to be unchanged if its path, size in bytes and modification time are: to hash all contents at
    every start would take too long.
    """
    state = image_states(source)
    key: dict[str, object] = {"images": state, "options": repr(options)}
    if source.corpus:
        data = source.data
        key |= {"corpus": source.corpus, "made_with": source.data_spec.corpus_versions(source.corpus)}
        key |= {"seed": data.seed, "length": data.corpus_length, "examples": data.examples}

    def fill(folder: Path) -> None:
        fill_store(source, folder, options)
        source.check_unchanged()
        if image_states(source) != state:
            raise images_changed(source)

    store = ImageStore.open(find_or_create(key, fill), source, state)
    if any(source.files.values()):
        source.referenced["images"] = store.sha256
    return store


def fill_store(source: DataSource, folder: Path, options: ImageOptions) -> None:
    """Store all images of the examples; one that can't be read is an error, or skipped."""
    usable = UsableImages(source, options)
    images = iter(usable)
    if (first := next(images, None)) is None:
        message = f"none of its images can be used{f': {usable.first_error}' if usable.first_error else ''}"
        advice = "Check their paths (relative to the folder of the table) and their formats"
        raise DataError(source.name, message, advice, code="no-images")
    types = {"values": first[1].dtype.name, "values_end": "int64", "shapes": "int32"}
    with ArrayWriter(folder / IMAGES, {**types, "names": "uint8", "names_end": "int64"}) as writer:
        for name, image in chain([first], images):
            writer.append_rows("values", [image.ravel()])
            writer.append("shapes", image.shape)
            writer.append_rows("names", [np.frombuffer(name.encode(), dtype=np.uint8)])
    metadata = {"sha256": usable.sha256.hexdigest(), "skipped": list(usable.numbers.values()).count(None)}
    (folder / FINGERPRINT).write_text(json.dumps(metadata), encoding="utf-8")
    (folder / NUMBERS).write_text(json.dumps(usable.numbers), encoding="utf-8")


class UsableImages:
    """The distinct images of the examples that can be read, each with the name that the data first have for it.

    numbers, sha256: see `ImageStore`; complete once all images were read
    first_error: the message about the first image that can't be read
    """

    def __init__(self, source: DataSource, options: ImageOptions) -> None:
        self.source, self.options, self.features = source, options, options.features
        self.numbers: dict[str, int | None] = {}
        self.sha256 = hashlib.sha256()
        self.first_error = ""

    def __iter__(self) -> Iterator[tuple[str, Pixels]]:
        count, size, real_paths = 0, self.options.size or DRAWING_SIZE, RealPaths()
        for _, example in self.source.examples(self.source.on_bad_line()):
            image, key = example.values[0], image_key(example, real_paths)
            if key in self.numbers:
                continue
            self.numbers[key] = None
            if isinstance(image, DrawnImage):
                name, pixels = key, image.image(size)
            else:
                name, path, content = image, image_path(image, example.location), "none"
                try:
                    pixels = self.check_kind(name, read_image_or_features(path, size))
                    content = fingerprint(path)
                except DataError as error:
                    message = f"{name!r} {error.template.message}"
                    if not self.options.skip:
                        advice = self.advice(name, is_first=not count)
                        raise DataError(example.location, message, advice, code=error.template.code) from None
                    self.first_error = self.first_error or message
                    continue
                finally:
                    self.sha256.update(f"{content}\n".encode())
            self.numbers[key] = count
            count += 1
            yield name, pixels

    def check_kind(self, name: str, image: Pixels) -> Pixels:
        """The image, if it is of the kind of the others: a model reads images, or vectors of one length."""
        features = image.shape[2] if image.dtype.kind == "f" else 0
        if self.features is None:
            self.features = features
        if self.features != features:
            actual = f"has vectors of {features:,}" if features else "is an image"
            expected = f"vectors of {self.features:,}" if self.features else "images"
            message = f"{actual}, where {expected} are expected"
            raise DataError(repr(name), message, "Replace it", code="image-kind")
        return image

    def advice(self, image: str, *, is_first: bool) -> str:
        column, skip = KeyName("data.source"), KeyName("data.on_bad_image", "skip")
        advice = f"Replace it, name the column of images with {column}, or pass {skip}"
        may_be_text = is_first and Path(image).suffix.lower() not in SUFFIXES
        return f"{advice}; {self.options.advice}" if may_be_text and self.options.advice else advice


def images_changed(source: DataSource) -> DataError:
    message = "one of its images changed while they were being read"
    return DataError(source.name, message, "Try again once they are complete", code="image-changed")
