"""Pictures to be described: images, or features that another network made of them."""

import base64
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import SupportsIndex

import numpy as np
import torch
from jaxtyping import Integer, Shaped, UInt8
from numpy import ndarray

from seqloom.core.config.section import keys
from seqloom.core.plurals import counted, printable
from seqloom.core.problem import DataError, KeyName, RunError, UserError
from seqloom.data.image_store import Images
from seqloom.data.images import MAX_VALUES, normalize_images, read_image_or_features
from seqloom.data.prepare import Dataset, Split
from seqloom.data.schema import Encoders
from seqloom.data.split import TEST, TRAIN, VALID
from seqloom.data.tokenizers import Tokenizer
from seqloom.models.encoder_decoder import encoder_section
from seqloom.models.family import Family
from seqloom.nn.layer import Layer
from seqloom.nn.positions import LearnedPositions, Sinusoidal
from seqloom.nn.stems import TokenEmbedding, frame_embedding
from seqloom.nn.vision import ImageCNN, ImageStem, PatchEmbedding
from seqloom.tasks.caption.config import CaptionData, ImageKeys
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.known_characters import Seen, characters
from seqloom.tasks.task import Answer
from seqloom.tasks.text_source import TARGET_FILE, Read, Source

KIND = "pictures.json"  # what a model looks at: the width of features, 0 for images; and the most regions
THUMBNAIL = 128  # pixels a side, in a report

Picture = Shaped[ndarray, "_ _ _"]  # of any size, each its own


class Pictures(Source):
    """Regions of an image, or of a grid of features.

    features: how long the vectors are that stand for regions; 0 where there are images
    regions: the most of a picture
    """

    images: Images  # of the data, where there are any

    def __init__(
        self, experiment: Experiment, target: Tokenizer, features: int, regions: int, seen: Seen = Source.seen
    ) -> None:
        self.experiment, self.target, self.features, self.regions = experiment, target, features, regions
        self.seen = seen
        self.size = keys(experiment.data, CaptionData).image_size
        self._by_image: tuple[Split, Integer[ndarray, " rows"], Integer[ndarray, " rows"]] | None = None

    @classmethod
    def learned(cls, experiment: Experiment, data: Dataset, images: Images | None) -> "Pictures":
        assert images is not None
        regions = int(images.shapes[:, :2].prod(axis=1).max()) if images.features else 0
        target = data.encoders[TARGET_FILE]
        seen = Seen(target=characters(data.splits[TRAIN]["target_texts"], target))
        source = cls(experiment, target, images.features, regions, seen)
        source.images = images
        return source

    @classmethod
    def from_files(cls, experiment: Experiment, encoders: Encoders, files: Mapping[str, str]) -> "Pictures":
        saved = files[KIND]
        try:
            told = json.loads(saved)
            sizes = [told["features"], told["regions"]]
        except (ValueError, TypeError, LookupError, RecursionError):
            sizes = [None]
        if not all(type(size) is int and 0 <= size <= MAX_VALUES for size in sizes):
            raise RunError("not the sizes of pictures, so it is damaged", "Restore the file from a copy", location=KIND)
        return cls(experiment, encoders[TARGET_FILE], sizes[0], sizes[1], Seen.from_files(files))

    def files(self) -> dict[str, str]:
        kind = {"features": self.features, "regions": self.regions}
        return {KIND: json.dumps(kind), **self.seen.files()}

    def look_at(self, images: Images, data: Dataset, names: Sequence[str]) -> None:
        """The images of files to test on, all of which the model must have room for."""
        self.images = images
        for part in data.splits.values():
            sizes = self.lengths(part)
            row = int(sizes.argmax())
            place = f"{part.files[part.file[row]].name(names)}:{part.line[row]}"
            self.check_size(place, int(sizes[row]))

    def described(self) -> str:
        what = f"features of width {self.features:,}" if self.features else f"images of {self.size} pixels a side"
        return f"{what}, {len(self.target):,} {self.target.kind} tokens"

    def reported(self, data: Dataset, names: Sequence[str]) -> str:
        bad_images = data.notes.get("bad_images", 0)
        bad = f"; {counted(bad_images, 'image')} skipped, which can't be read" if bad_images else ""
        return bad + "".join(
            f"; {counted(count, 'caption')} of {split} with an image that {other} has too: its scores will be too good"
            for split, other, count in shared_images(data)
        )

    def longest(self) -> int:
        return self.regions if self.features else int(np.prod(self.grid(self.experiment.model)))

    def grid(self, part: Family) -> tuple[int, int]:
        """How many regions down and across an image has."""
        own = keys(part, ImageKeys)
        side = -(-self.size // (own.patch if own.stem == "patches" else 2**own.stages))
        return side, side

    def stems(self, part: Family) -> tuple[Layer | ImageStem, TokenEmbedding]:
        target = part.tokens(
            len(self.target) + 1, max_length=(keys(self.experiment.data, CaptionData).max_length or 128) + 1
        )
        return self.stem(part), target

    def stem(self, part: Family) -> Layer | ImageStem:
        """Vectors of regions, each of which knows where it is."""
        if self.features:
            positions = Sinusoidal(part.dim)
            return frame_embedding(self.features, part.dim, positions=positions, dropout=part.stem_dropout)
        placed = LearnedPositions(part.dim, self.longest())
        own = keys(part, ImageKeys)
        if own.stem == "patches":
            return PatchEmbedding(3, part.dim, own.patch, positions=placed)
        widths = [own.image_width * 2**stage for stage in range(own.stages)]
        return ImageCNN(3, part.dim, widths=widths, positions=placed)

    def lengths(self, part: Split) -> Integer[ndarray, " rows"]:
        if not self.features:
            return np.full(len(part), self.longest())
        regions: Integer[ndarray, " rows"] = self.images.shapes[:, :2].prod(axis=1)[image_numbers(part)]
        return regions

    def batch(self, part: Split, rows: Integer[ndarray, " batch"]) -> Read:
        return self.together([self.images[image_of(part, row)] for row in rows])

    def together(self, pictures: Sequence[Picture]) -> Read:
        """Pictures as one tensor: images of one size, or regions in a row, zeros after them."""
        if not self.features:
            return Read(torch.from_numpy(normalize_images(np.stack(pictures))), None)
        flat = [torch.from_numpy(np.array(picture)).flatten(0, 1) for picture in pictures]
        lengths = torch.tensor([len(regions) for regions in flat])
        return Read(torch.nn.utils.rnn.pad_sequence(flat, batch_first=True), lengths)

    def distinct(self, part: Split) -> Integer[ndarray, " sources"]:
        first: Integer[ndarray, " sources"] = np.unique(image_numbers(part), return_index=True)[1]
        return first

    def references(self, part: Split, row: int) -> list[str]:
        return self.captions_of(part, image_of(part, row))

    def captions_of(self, part: Split, image: int) -> list[str]:
        """All captions that an image has in this split, in the order of the file."""
        if self._by_image is None or self._by_image[0] is not part:
            order = np.argsort(image_numbers(part), kind="stable")
            self._by_image = part, order, image_numbers(part)[order]
        _, order, images = self._by_image
        first, end = np.searchsorted(images, [image, image + 1])
        return [part.text("target_texts", row) for row in order[first:end]]

    def shown(self, part: Split, row: int) -> dict[str, str]:
        number = image_of(part, row)
        told = {"image": self.images.name(number)}
        return told if self.features else {**told, "thumbnail": thumbnail(self.images[number])}

    def about(self, part: Split, row: int) -> Answer:
        return {"regions": list(self.shape(self.images[image_of(part, row)]))}

    def read(self, given: Sequence[str]) -> tuple[Read, list[Answer]]:
        pictures = [read_image_or_features(path, self.size) for path in given]
        for path, picture in zip(given, pictures, strict=True):
            self.check(printable(path), picture)
        about = [
            {"image": path, "regions": list(self.shape(picture))} for path, picture in zip(given, pictures, strict=True)
        ]
        return self.together(pictures), about

    def shape(self, picture: Picture) -> tuple[int, int]:
        """How many regions down and across."""
        return (picture.shape[0], picture.shape[1]) if self.features else self.grid(self.experiment.model)

    def check(self, path: str, picture: Picture) -> None:
        """A sentence for a picture of another kind than the run has learnt from."""
        came = picture.shape[2] if picture.dtype.kind == "f" else 0
        if came != self.features:
            kinds = [f"features of width {width:,}" if width else "an image" for width in (came, self.features)]
            raise UserError(f"{path} is {kinds[0]}, and this run looks at {kinds[1]}", "Name another file")
        self.check_size(path, math.prod(self.shape(picture)))

    def limit(self) -> int | None:
        """The most regions that the encoder can read; None for any number."""
        reads = encoder_section(self.experiment.model, self.longest())
        return self.longest() if reads is not None and reads.bounded_itself else None

    def check_size(self, place: str, regions: int) -> None:
        """A sentence for a grid with more regions than that."""
        limit = self.limit()
        if limit is not None and regions > limit:
            message = f"{regions:,} regions, and the model's positions allow {limit:,}"
            advice = f"Make the grid smaller, or train with another {KeyName('model.encoder')}, such as gru"
            raise DataError(place, message, advice, code="too-many-regions")


def image_numbers(part: Split) -> Integer[ndarray, " rows"]:
    """The image of each row, by its number."""
    numbers: Integer[ndarray, " rows"] = part["image"].flat
    return numbers


def image_of(part: Split, row: SupportsIndex) -> int:
    """The image of a row."""
    return int(image_numbers(part)[row])


def shared_images(data: Dataset) -> Iterator[tuple[str, str, int]]:
    """Two splits, and how many captions of the first are of images that the second has too, where there are any."""
    for split, other in ((VALID, TRAIN), (TEST, TRAIN), (TEST, VALID)):
        if split in data.splits and other in data.splits:
            count = int(np.isin(image_numbers(data.splits[split]), image_numbers(data.splits[other])).sum())
            if count:
                yield split, other, count


def thumbnail(image: UInt8[ndarray, "3 height width"]) -> str:
    """A small PNG as a data URI, for a page that stands by itself."""
    from PIL import Image

    small = Image.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0)))
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    file = io.BytesIO()
    small.save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
