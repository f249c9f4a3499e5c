"""The images that a dataset names, each read once and stored in one memory-mapped file."""

import hashlib
import json
import os
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Protocol, SupportsIndex, runtime_checkable

import numpy as np
from jaxtyping import Integer, Shaped
from numpy import ndarray

from seqloom.core.problem import DataError, KeyName, Problem
from seqloom.data.cache import find_or_create, fingerprint
from seqloom.data.images import SUFFIXES, read_image_or_features
from seqloom.data.records import Location, Record
from seqloom.data.row_store import ArrayWriter, Ragged, read_arrays
from seqloom.data.source import DataSource
from seqloom.data.split import TRAIN
from seqloom.data.text_io import OnBadLine

IMAGES, FINGERPRINT, NUMBERS = "images", "print.json", "numbers.json"
DRAWING_SIZE = 48  # pixels a side of an image that a corpus draws, by default


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


class ImageReader:
    """The examples of a source whose first value is an image; files are read once, and copied to a temporary file.

    Two readings are needed: the images decide whether the dataset is in the cache.
    """

    def __init__(self, source: DataSource) -> None:
        self.source, self.real = source, RealPaths()
        self._copy: IO[str] | None = None

    def __call__(self, on_bad_line: OnBadLine) -> Iterator[tuple[str, Record]]:
        """All examples; the errors of the first reading go to `on_bad_line` each time."""
        if self.source.corpus:
            for example in self.source.generate():
                yield TRAIN, example
        if self._copy is None:
            self._copy = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115 (closed below)
            weakref.finalize(self, self._copy.close)
            self._write_copy(self._copy)
        self._copy.seek(0)
        for line in self._copy:
            split, values, location, problem = json.loads(line)
            if problem:
                on_bad_line(DataError.of(Problem(**problem)))
            else:
                yield split, Record(tuple(values), Location(*location))

    def _write_copy(self, file: IO[str]) -> None:
        on_bad_line = self.source.on_bad_line()

        def note(error: DataError) -> None:
            on_bad_line(error)
            file.write(json.dumps((None, None, None, asdict(error.template))) + "\n")

        for each in self.source.inputs:
            for example in self.source.read(each, note):
                file.write(json.dumps((each.split, *example, None)) + "\n")

    def real_path(self, example: Record) -> str:
        return self.real[str(image_path(example.values[0], example.location))]

    def state(self) -> str:
        """A hash of paths, sizes and times of all images that the files name, whether they exist or not."""
        state = hashlib.sha256()
        self.real = RealPaths()  # looked up again, since a link may have changed
        for _, example in self(lambda _: None):
            image = example.values[0]
            if isinstance(image, DrawnImage) or str(image_path(image, example.location)) in self.real:
                continue
            real = self.real_path(example)
            try:
                stat = Path(real).stat()
                about = f"{stat.st_size} {stat.st_mtime_ns}"
            except (OSError, ValueError):
                about = "none"
            state.update(f"{image!r} {real!r} {about}\n".encode())
        return state.hexdigest()


@dataclass(frozen=True)
class Images:
    """Images by their numbers, each as `read_image_or_features` returns it; and their paths as first written."""

    values: Ragged
    shapes: Integer[ndarray, "images 3"]
    names: Ragged  # UTF-8

    @staticmethod
    def open(folder: Path) -> "Images":
        arrays = read_arrays(folder / IMAGES)
        return Images(Ragged.of(arrays, "values"), arrays["shapes"].reshape(-1, 3), Ragged.of(arrays, "names"))

    def __len__(self) -> int:
        return len(self.shapes)

    def __getitem__(self, number: SupportsIndex) -> Shaped[ndarray, "first second third"]:
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

    numbers: by real path, or by the name of a drawing; None for an image that can't be read
    state: `ImageReader.state` when they were read
    sha256: of all contents in the order of the examples, without images that can't be read
    skipped: images that can't be read
    """

    reader: ImageReader
    images: Images
    numbers: dict[str, int | None] = field(repr=False)
    state: str
    sha256: str
    skipped: int

    @staticmethod
    def open(folder: Path, reader: ImageReader, state: str) -> "ImageStore":
        about = json.loads((folder / FINGERPRINT).read_text(encoding="utf-8"))
        numbers = json.loads((folder / NUMBERS).read_text(encoding="utf-8"))
        return ImageStore(reader, Images.open(folder), numbers, state, about["sha256"], about["skipped"])

    def examples(self, on_bad_line: OnBadLine) -> Iterator[tuple[str, Record]]:
        """The examples whose image is stored: its number, then the other values, then the image's name."""
        for split, example in self.reader(on_bad_line):
            image, *others = example.values
            key = drawing_name(image) if isinstance(image, DrawnImage) else self.reader.real_path(example)
            if key not in self.numbers:
                raise images_changed(self.reader.source)
            if (number := self.numbers[key]) is not None:
                yield split, Record((number, *others, self.images.name(number)), example.location)


def store_images(source: DataSource, options: ImageOptions) -> ImageStore:
    """The images of a source, from the cache or new; apart from the rows, since seeds and tokenizers don't change them.

    An image is taken to be unchanged if its path, size in bytes and modification time are: to hash all contents at
    every start would take too long.
    """
    reader = ImageReader(source)
    state = reader.state()
    key: dict[str, object] = {"images": state, "options": repr(options)}
    if source.corpus:
        data = source.data
        key |= {"corpus": source.corpus, "made_with": source.data_spec.corpus_versions(source.corpus)}
        key |= {"seed": data.seed, "length": data.corpus_length, "examples": data.examples}

    def fill(folder: Path) -> None:
        fill_store(reader, folder, options)
        source.check_unchanged()
        if reader.state() != state:
            raise images_changed(source)

    store = ImageStore.open(find_or_create(key, fill), reader, state)
    if any(source.files.values()):
        source.referenced["images"] = store.sha256
    return store


def fill_store(reader: ImageReader, folder: Path, options: ImageOptions) -> None:
    """Store all images of the examples; one that can't be read is an error, or skipped."""
    with ExitStack() as stack:
        writer = ImageWriter(folder, reader, options, stack)
        for _, example in reader(lambda _: None):
            writer.add(example)
    if not writer.count:
        message = f"none of its images can be used{f': {writer.first_error}' if writer.first_error else ''}"
        advice = "Check their paths (relative to the folder of the table) and their formats"
        raise DataError(reader.source.name, message, advice, code="no-images")
    skipped = sum(number is None for number in writer.numbers.values())
    about = {"sha256": writer.sha256.hexdigest(), "skipped": skipped}
    (folder / FINGERPRINT).write_text(json.dumps(about), encoding="utf-8")
    (folder / NUMBERS).write_text(json.dumps(writer.numbers), encoding="utf-8")


class ImageWriter:
    def __init__(self, folder: Path, reader: ImageReader, options: ImageOptions, stack: ExitStack) -> None:
        self.folder, self.reader, self.options, self.stack = folder, reader, options, stack
        self.features = options.features
        self.size = options.size or DRAWING_SIZE
        self.numbers: dict[str, int | None] = {}
        self.sha256 = hashlib.sha256()
        self.first_error = ""
        self.count = 0
        self._arrays: ArrayWriter | None = None

    def add(self, example: Record) -> None:
        """Write an example's image, unless it is there already."""
        image = example.values[0]
        if isinstance(image, DrawnImage):
            self.numbers[drawing_name(image)] = self._write(drawing_name(image), image.image(self.size))
            return
        real = self.reader.real_path(example)
        if real in self.numbers:
            return
        path = image_path(image, example.location)
        try:
            values, content = read_image_or_features(path, self.size), fingerprint(path)
            self.numbers[real] = self._write(image, values)
        except DataError as error:
            message = f"{image!r} {error.template.message}"
            if not self.options.skip:
                raise DataError(example.location, message, self._advice(image), code=error.template.code) from None
            self.numbers[real], content = None, "none"
            self.first_error = self.first_error or message
        self.sha256.update(f"{content}\n".encode())

    def _advice(self, image: str) -> str:
        column, skip = KeyName("data.source"), KeyName("data.on_bad_image", "skip")
        advice = f"Replace it, name the column of images with {column}, or pass {skip}"
        may_be_text = not self.count and Path(image).suffix.lower() not in SUFFIXES
        return f"{advice}; {self.options.advice}" if may_be_text and self.options.advice else advice

    def _write(self, name: str, image: Shaped[ndarray, "first second third"]) -> int:
        features = image.shape[2] if image.dtype.kind == "f" else 0
        if self.features is None:
            self.features = features
        if self.features != features:  # a model reads images, or vectors of one length
            actual = f"has vectors of {features:,}" if features else "is an image"
            expected = f"vectors of {self.features:,}" if self.features else "images"
            message = f"{actual}, where {expected} are expected"
            raise DataError(repr(name), message, "Replace it", code="image-kind")
        if self._arrays is None:
            types = {"values": image.dtype.name, "values_end": "int64", "shapes": "int32"}
            types |= {"names": "uint8", "names_end": "int64"}
            self._arrays = self.stack.enter_context(ArrayWriter(self.folder / IMAGES, types))
        self._arrays.append_rows("values", [image.ravel()])
        self._arrays.append("shapes", image.shape)
        self._arrays.append_rows("names", [np.frombuffer(name.encode(), dtype=np.uint8)])
        self.count += 1
        return self.count - 1


def drawing_name(image: DrawnImage) -> str:
    return f"scene {image.number}"


def images_changed(source: DataSource) -> DataError:
    message = "one of its images changed while they were being read"
    return DataError(source.name, message, "Try again once they are complete", code="image-changed")
