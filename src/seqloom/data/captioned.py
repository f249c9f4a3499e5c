"""Images with captions: each image once, its captions as rows of tokens, split by image, each with its place."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from operator import index
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.data.arrays import Ragged, read, smallest_type
from seqloom.data.cache import cached
from seqloom.data.corpora.versions import made_with
from seqloom.data.examples import Hung
from seqloom.data.gallery import Gallery, Images, changed
from seqloom.data.hanging import hang
from seqloom.data.lines import Skipped, skipped
from seqloom.data.origin import Origin
from seqloom.data.parted import ReadOnce
from seqloom.data.readers.captions import RealPaths, image_path
from seqloom.data.rows import Row, Within, files_beside, write_rows
from seqloom.data.split import PARTS, TEST, TRAIN, VALID, batched, check_filled
from seqloom.data.tokenisers import Tokeniser, train_tokeniser

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

    def shared(self) -> Iterator[tuple[str, str, int]]:
        """Two parts, and how many captions of the first are of images that the second has too, where there are any."""
        for part, other in ((VALID, TRAIN), (TEST, TRAIN), (TEST, VALID)):
            if part in self.parts and other in self.parts:
                count = int(np.isin(self.parts[part].image, self.parts[other].image).sum())
                if count:
                    yield part, other, count


def captioned(origin: Origin) -> CaptionedData:
    """Images and captions made ready, from the cache or now; the images apart, as they outlast seeds and tokenisers.

    An image counts as the same if where it lies, its size in bytes and the time of its last change are: all contents
    would have to be read to know more, at every start.
    """
    before = images_state(origin)

    def fill(make: Callable[[Path], object]) -> Callable[[Path], None]:
        def filled(folder: Path) -> None:
            make(folder)
            origin.check_unchanged()
            if images_state(origin) != before:
                raise changed(origin)

        return filled

    hung = cached(images_ingredients(origin, before), fill(lambda folder: hang(origin, folder)))
    gallery = Gallery.within(hung)
    rows = {**origin.ingredients(), "images": before, "sha256": gallery.sha256}
    folder = cached(rows, fill(lambda folder: make(origin, gallery, folder)))
    if any(origin.files.values()):
        origin.named["images"] = gallery.sha256
    told = json.loads((folder / META).read_text(encoding="utf-8"))
    return open_all(folder, gallery, Tokeniser.from_json((folder / TARGET).read_text(encoding="utf-8")), told)


def to_test(origin: Origin, folder: Path, target: Tokeniser, features: int) -> CaptionedData:
    """The part to test on, in a run's tokens; its images are written into the folder.

    features: how long the vectors are that the run's model looks at; 0 where it looks at images
    """
    bad, gallery = origin.bad(), hang(origin, folder, features)
    told = write(origin, folder, target, ((TEST, example) for example in gallery.examples(origin, TEST, bad)))
    return open_all(folder, gallery, target, told | {"skipped": skipped(bad)})


def images_ingredients(origin: Origin, state: str) -> dict[str, object]:
    """All that decides what hangs, for the cache."""
    data = origin.data
    told: dict[str, object] = {"gallery": state, "image_size": data.image_size, "on_bad_image": data.on_bad_image}
    if origin.corpus:
        told |= {"corpus": origin.corpus, "made_with": made_with(origin.corpus), "seed": origin.seed}
        told |= {"length": data.length, "examples": data.examples}
    return told


def images_state(origin: Origin) -> str:
    """One fingerprint for what the system says of all images that the files name, be they there or not."""
    told, real = hashlib.sha256(), RealPaths()
    for part in PARTS:
        for example in origin.captions(part, Skipped()):
            path = str(image_path(example))
            if path in real:
                continue
            try:
                about = Path(real[path]).stat()
                state = f"{about.st_size} {about.st_mtime_ns}"
            except (OSError, ValueError):
                state = "none"
            told.update(f"{example.image!r} {real[path]!r} {state}\n".encode())
    return told.hexdigest()


def open_all(folder: Path, gallery: Gallery, target: Tokeniser, told: dict[str, Any]) -> CaptionedData:
    """All that `write` wrote into a folder, mapped into memory, with the images."""
    parts = {part: open_part(folder / part, gallery.images) for part in told["parts"]}
    return CaptionedData(target, parts, gallery.images, told["cut"], told["skipped"], gallery.skipped)


def open_part(folder: Path, images: Images) -> CaptionedPart:
    """One part, mapped into memory."""
    arrays = read(folder)
    target, texts = (Ragged.of(arrays, name) for name in ("target", "target_texts"))
    return CaptionedPart(arrays["image"], target, texts, images, files_beside(folder), arrays["file"], arrays["line"])


def make(origin: Origin, gallery: Gallery, folder: Path) -> None:
    """Read the files once; then learn a tokeniser and write the tokens."""
    data = origin.data
    captions = ReadOnce(origin, partial(gallery.examples, origin), Hung, folder / COPY)
    check_filled(origin.names()[0], captions.sizes())
    target = train_tokeniser(
        data.tokeniser or "word",
        (caption.target for part, caption in captions if part == TRAIN),
        vocabulary=data.vocabulary or 8000,
        min_count=data.min_count,
        lowercase=data.lowercase,
        sample=data.sample or 20_000_000,
    )
    told = write(origin, folder, target, captions) | {"skipped": skipped(captions.bad)}
    (folder / TARGET).write_text(target.to_json(), encoding="utf-8")
    (folder / META).write_text(json.dumps(told), encoding="utf-8")
    captions.copy.unlink()


def write(origin: Origin, folder: Path, target: Tokeniser, captions: Iterable[tuple[str, Hung]]) -> dict[str, Any]:
    """The rows of each part; what there was to tell."""
    types = {"image": "int64", "target": smallest_type(len(target)), "target_texts": "uint8"}
    most = origin.data.max_length

    def rows() -> Iterator[Row]:
        for group in batched(captions, TOGETHER, lambda each: 1 + len(each[1].target)):
            encoded = target.encode_batch([caption.target for _, caption in group])
            for (part, caption), tokens in zip(group, encoded, strict=True):
                numbers = {
                    "image": np.array([caption.number]),
                    "target": tokens[:most],
                    "target_texts": np.frombuffer(caption.target.encode(), dtype=np.uint8),
                }
                yield Row(part, caption.place, len(tokens) > len(numbers["target"]), numbers)

    return write_rows(folder, origin.names(), types, rows())
