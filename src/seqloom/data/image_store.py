"""The images that a data set names, each read once and kept in one mapped file, however many examples have it."""

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
from seqloom.data.cache import create, find, fingerprint
from seqloom.data.images import SUFFIXES, read_source
from seqloom.data.records import Location, Record
from seqloom.data.row_store import Ragged, Writer, read
from seqloom.data.source import DataSource
from seqloom.data.split import TRAIN
from seqloom.data.text_io import OnBadLine

IMAGES, PRINT, NUMBERS = "images", "print.json", "numbers.json"
DRAWN = 48  # pixels a side of what a corpus draws, unless said

Example = tuple[str, Record]  # with the split of its file


@dataclass(frozen=True)
class ImageOptions:
    """How images are read.

    size: pixels a side that an image is brought to; None for features alone
    skip: whether an image that can't be read is left out with its examples
    features: how long the vectors of regions must be, or 0 for images; None for those of the first that is seen
    advice: for who named texts instead of images
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
        """Among all of the corpus, from 1."""

    def image(self, side: int) -> Integer[ndarray, "3 side side"]:
        """Drawn at this size: bytes [3, side, side]."""


def name_of(image: object) -> str:
    """What an image is called: its path as it is written, or its number."""
    return f"scene {image.number}" if isinstance(image, DrawnImage) else str(image)


def image_path(image: str, location: Location) -> Path:
    """Where an example's image lies: its path goes on from the folder of the table.

    >>> str(image_path("photos/1.jpg", Location("flickr/train.tsv", 1)))
    'flickr/photos/1.jpg'
    """
    return Path(location.file).parent / image


class RealPaths(dict[str, str]):
    """Where paths lead in the end, each looked up once: an image is one image, however rows write its path.

    >>> here = RealPaths()
    >>> here["photos/../1.jpg"] == here["1.jpg"]
    True
    """

    def __missing__(self, path: str) -> str:
        try:
            self[path] = os.path.realpath(path)
        except ValueError:  # a NUL in it: it leads nowhere, as reading it will say
            self[path] = path
        return self[path]


class ImageReader:
    """The examples of a source whose first value is an image: files are read once, and kept in a file of our own.

    What the images are must be known before it is known whether they are prepared already.
    """

    def __init__(self, source: DataSource) -> None:
        self.source, self.real = source, RealPaths()
        self._copy: IO[str] | None = None

    def __call__(self, on_bad_line: OnBadLine) -> Iterator[Example]:
        """All examples; what could not be read goes to `bad` each time."""
        if self.source.corpus:
            for example in self.source.made():
                yield TRAIN, example
        for line in self._lines():
            split, values, location, problem = json.loads(line)
            if problem:
                on_bad_line(DataError.of(Problem(**problem)))
            else:
                yield split, Record(tuple(values), Location(*location))

    def _lines(self) -> Iterator[str]:
        if self._copy is None:
            self._copy = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115 (closed below)
            weakref.finalize(self, self._copy.close)
            self._write(self._copy)
        self._copy.seek(0)
        yield from self._copy

    def _write(self, file: IO[str]) -> None:
        on_bad_line = self.source.on_bad_line()

        def note(error: DataError) -> None:
            on_bad_line(error)
            file.write(json.dumps((None, None, None, asdict(error.template))) + "\n")

        for each in self.source.inputs:
            for example in self.source.read(each, note):
                file.write(json.dumps((each.split, *example, None)) + "\n")

    def real_path(self, example: Record) -> str:
        """Where the image of an example from a file lies in the end."""
        return self.real[str(image_path(example.values[0], example.location))]

    def state(self) -> str:
        """One fingerprint for what the system says of all images that the files name, be they there or not."""
        state = hashlib.sha256()
        self.real = RealPaths()  # looked up anew: a link may lead elsewhere by now
        for _, example in self(lambda _: None):
            image = example.values[0]
            if isinstance(image, DrawnImage) or str(image_path(image, example.location)) in self.real:
                continue
            real = self.real_path(example)
            try:
                about = Path(real).stat()
                told = f"{about.st_size} {about.st_mtime_ns}"
            except (OSError, ValueError):
                told = "none"
            state.update(f"{image!r} {real!r} {told}\n".encode())
        return state.hexdigest()


@dataclass(frozen=True)
class Images:
    """Images by their numbers, each as `read_source` gives one; and their paths as they were first written."""

    values: Ragged
    shapes: Integer[ndarray, "images 3"]
    names: Ragged  # UTF-8

    @staticmethod
    def within(folder: Path) -> "Images":
        """Those that were stored there."""
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
class ImageStore:
    """A folder of images, and which example has which.

    state: what the system said of all images when they were read
    sha256: of all contents, in the order of their coming; an image that can't be read has none
    skipped: images that can't be read
    """

    examples: ImageReader
    images: Images
    numbers: dict[str, int | None] = field(repr=False)  # by real path, or name of a drawing
    state: str
    sha256: str
    skipped: int

    @staticmethod
    def within(folder: Path, examples: ImageReader, state: str) -> "ImageStore":
        """What was stored there."""
        about = json.loads((folder / PRINT).read_text(encoding="utf-8"))
        numbers = json.loads((folder / NUMBERS).read_text(encoding="utf-8"))
        return ImageStore(examples, Images.within(folder), numbers, state, about["sha256"], about["skipped"])

    def numbered(self, on_bad_line: OnBadLine) -> Iterator[Example]:
        """The examples whose image is here: its number, then the other values, then the image's name."""
        for split, example in self.examples(on_bad_line):
            image, *others = example.values
            key = name_of(image) if isinstance(image, DrawnImage) else self.examples.real_path(example)
            if key not in self.numbers:
                raise changed(self.examples.source)
            if (number := self.numbers[key]) is not None:
                yield split, Record((number, *others, self.images.name(number)), example.location)


def store_images(source: DataSource, options: ImageOptions) -> ImageStore:
    """The images of a source, from the cache or now: apart from the rows, as they outlast seeds and tokenizers.

    An image counts as the same if where it lies, its size in bytes and the time of its last change are: all contents
    would have to be read to know more, at every start.
    """
    examples = ImageReader(source)
    state = examples.state()
    key: dict[str, object] = {"images": state, "options": repr(options)}
    if source.corpus:
        data = source.data
        key |= {
            "corpus": source.corpus,
            "made_with": source.data_spec.corpus_versions(source.corpus),
            "seed": data.seed,
        }
        key |= {"length": data.length, "examples": data.examples}
    folder = find(key)
    if folder is None:
        with create(key) as making:
            fill_store(examples, making, options)
            source.check_unchanged()
            if examples.state() != state:
                raise changed(source)
        folder = find(key)
        assert folder is not None
    store = ImageStore.within(folder, examples, state)
    if any(source.files.values()):
        source.named["images"] = store.sha256
    return store


def fill_store(examples: ImageReader, folder: Path, options: ImageOptions) -> None:
    """All images that the examples name; those that can't be read stop everything, or are skipped."""
    with ImageWriter(folder, examples, options) as writer:
        for _, example in examples(lambda _: None):
            writer.add(example)
    if not writer.count:
        message = f"none of its images can be used{f': {writer.why}' if writer.why else ''}"
        advice = "Check their paths, which go on from its folder, and their kind"
        raise DataError(examples.source.name, message, advice, code="no-images")
    writer.close()


class ImageWriter:
    """An image store while it is filled."""

    def __init__(self, folder: Path, examples: ImageReader, options: ImageOptions) -> None:
        self.folder, self.examples, self.options = folder, examples, options
        self.features = options.features
        self.size = options.size or DRAWN
        self.numbers: dict[str, int | None] = {}  # by the real path; None is one that can't be read
        self.contents = hashlib.sha256()
        self.why = ""  # what is wrong with the first that can't be used
        self.count = 0
        self._writer: Writer | None = None
        self._open = ExitStack()

    def __enter__(self) -> "ImageWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def add(self, example: Record) -> None:
        """An example's image, if it is not here yet."""
        image = example.values[0]
        if isinstance(image, DrawnImage):
            self.numbers[name_of(image)] = self._write(name_of(image), image.image(self.size))
            return
        real = self.examples.real_path(example)
        if real in self.numbers:
            return
        path = image_path(image, example.location)
        try:
            values, content = read_source(path, self.size), fingerprint(path)
            self.numbers[real] = self._write(image, values)
        except DataError as error:
            message = f"{image!r} {error.template.message}"
            if not self.options.skip:
                raise DataError(example.location, message, self._advice(image), code=error.template.code) from None
            self.numbers[real], content = None, "none"
            self.why = self.why or message
        self.contents.update(f"{content}\n".encode())

    def _advice(self, image: str) -> str:
        """What to do about an image that can't be read, or about a text that is none."""
        column, skip = KeyName("data.source"), KeyName("data.on_bad_image", "skip")
        advice = f"Replace it, name the column of images with {column}, or pass {skip}"
        texts = not self.count and Path(image).suffix.lower() not in SUFFIXES
        return f"{advice}; {self.options.advice}" if texts and self.options.advice else advice

    def _write(self, name: str, image: Shaped[ndarray, "first second third"]) -> int:
        self._check_alike(name, image.shape[2] if image.dtype.kind == "f" else 0)
        if self._writer is None:
            types = {"values": image.dtype.name, "values_end": "int64", "shapes": "int32"}
            types |= {"names": "uint8", "names_end": "int64"}
            self._writer = self._open.enter_context(Writer(self.folder / IMAGES, types))
        self._writer.add_rows("values", [image.ravel()])
        self._writer.add("shapes", image.shape)
        self._writer.add_rows("names", [np.frombuffer(name.encode(), dtype=np.uint8)])
        self.count += 1
        return self.count - 1

    def _check_alike(self, name: str, features: int) -> None:
        """A model reads images, or vectors of one length."""
        if self.features is None:
            self.features = features
        if self.features != features:
            came = f"has vectors of {features:,}" if features else "is an image"
            expected = f"vectors of {self.features:,}" if self.features else "images"
            message = f"{came}, where {expected} are expected"
            raise DataError(repr(name), message, "Replace it", code="image-kind")

    def close(self) -> None:
        """What the store must know besides."""
        skipped = sum(number is None for number in self.numbers.values())
        about = {"sha256": self.contents.hexdigest(), "skipped": skipped}
        (self.folder / PRINT).write_text(json.dumps(about), encoding="utf-8")
        (self.folder / NUMBERS).write_text(json.dumps(self.numbers), encoding="utf-8")


def changed(source: DataSource) -> DataError:
    """The message for an image that is another than it was a moment ago."""
    message = "one of its images changed while they were being read"
    return DataError(source.name, message, "Try again once they are complete", code="image-changed")
