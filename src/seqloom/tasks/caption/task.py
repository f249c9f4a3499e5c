"""Captioning: from an image, or a grid of features that another network computed, to a text."""

import base64
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self, SupportsIndex

import numpy as np
import torch
from jaxtyping import Integer, Shaped, UInt8
from numpy import ndarray

from seqloom.core.config.section import keys
from seqloom.core.plurals import counted, printable
from seqloom.core.problem import DataError, KeyName, RunError, UserError
from seqloom.data.image_store import ImageReader, Images, ImageStore, fill_store, store_images
from seqloom.data.images import MAX_VALUES, normalize_images, read_image_or_features, write_png
from seqloom.data.prepare import Dataset, Split, prepare, prepare_test
from seqloom.data.schema import Schema
from seqloom.data.source import DataSource
from seqloom.data.split import TEST, TRAIN, VALID
from seqloom.models.encoder_decoder import encoder_section
from seqloom.models.family import Family
from seqloom.nn.layer import Layer
from seqloom.nn.positions import LearnedPositions, Sinusoidal
from seqloom.nn.stems import TokenEmbedding, frame_embedding
from seqloom.nn.vision import ImageCNN, ImageStem, PatchEmbedding
from seqloom.tasks.caption.config import CaptionData, ImageKeys
from seqloom.tasks.caption.data import image_options, schema
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.generation_task import TARGET_FILE, GenerationTask, SourceBatch
from seqloom.tasks.known_characters import KnownCharacters, find_characters
from seqloom.tasks.metrics.text_overlap import CaptionOverlap, TextOverlap
from seqloom.tasks.row_task import Rows
from seqloom.tasks.task import Answer

KIND_FILE = "pictures.json"  # what a model reads: the width of features, 0 for images; and the most regions
THUMBNAIL = 128  # pixels a side, in a report
DRAWN = "scene.png"  # in a run folder: an image of an embedded corpus, to try the run with

ImageArray = Shaped[ndarray, "_ _ _"]  # of any size, each its own


class Caption(GenerationTask):
    """p(caption | image), where the image is read as a sequence of regions.

    features: the width of the vectors in files of features; 0 for images
    regions: the most regions of an image of features
    images: those that the data name
    """

    row_noun: ClassVar[str] = "captions"
    metrics: ClassVar[type[TextOverlap]] = CaptionOverlap
    chosen_by = "bleu_4"  # long nonsense has a high chrF against short captions
    images: Images

    def __init__(self, *arguments: Any, features: int, regions: int, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.features, self.regions = features, regions
        self.size = keys(self.experiment.data, CaptionData).image_size
        self._by_image: tuple[Split, Rows, Rows] | None = None

    @classmethod
    def schema(cls, experiment: Experiment) -> Schema:
        return schema(keys(experiment.data, CaptionData))

    @classmethod
    def prepare(cls, experiment: Experiment, source: DataSource) -> Self:
        experiment = experiment.model_copy(update={"data": source.data})
        store = store_images(source, image_options(keys(experiment.data, CaptionData)))
        key = {"images": store.state, "sha256": store.sha256}
        data = note_bad_images(prepare(source, cls.schema(experiment), store.examples, key), store)
        images, encoders = store.images, data.encoders
        regions = int(images.shapes[:, :2].prod(axis=1).max()) if images.features else 0
        known = KnownCharacters(target=find_characters(data.splits[TRAIN]["target_texts"], encoders[TARGET_FILE]))
        task = cls(experiment, encoders, data, source, known=known, features=images.features, regions=regions)
        task.images = images
        return task

    @classmethod
    def from_files(cls, experiment: Experiment, files: Mapping[str, str]) -> Self:
        try:
            saved = json.loads(files[KIND_FILE])
            sizes = [saved["features"], saved["regions"]]
        except (ValueError, TypeError, LookupError, RecursionError):
            sizes = [None]
        if not all(type(size) is int and 0 <= size <= MAX_VALUES for size in sizes):
            message = "not the sizes of pictures, so it is damaged"
            raise RunError(message, "Restore the file from a copy", location=KIND_FILE)
        encoders, known = cls.load_encoders(experiment, files), KnownCharacters.from_files(files)
        return cls(experiment, encoders, known=known, features=sizes[0], regions=sizes[1])

    def files(self) -> dict[str, str]:
        return super().files() | {KIND_FILE: json.dumps({"features": self.features, "regions": self.regions})}

    def read_test_files(self, files: Sequence[str], folder: Path) -> None:
        self._data_source = source = self.test_source(files)
        reader = ImageReader(source)
        fill_store(reader, folder, image_options(keys(self.experiment.data, CaptionData), self.features))
        store = ImageStore.open(folder, reader, "")
        data = prepare_test(source, self.schema(self.experiment), self.encoders, folder, store.examples)
        self._data, self.images = note_bad_images(data, store), store.images
        for split in data.splits.values():
            lengths = self.source_lengths(split)
            longest = int(lengths.argmax())
            self.check_regions(self.location(split, longest), int(lengths[longest]))

    def example_input(self, folder: Path) -> str:
        split, source = self.data.splits[VALID], self.data_source
        table, image = source.names()[split.files[split.file[0]].number], image_of(split, 0)
        if table != source.corpus:
            return str(Path(table).parent / self.images.name(image))
        path = folder / DRAWN
        write_png(path, self.images[image])
        return str(path)

    def describe_encoders(self) -> str:
        source = (
            f"features of width {self.features:,}" if self.features else f"images of {self.size}×{self.size} pixels"
        )
        text = f"{source}, {len(self.target):,} {self.target.kind} tokens"
        if bad := self.data.notes.get("bad_images", 0):
            text += f"; {counted(bad, 'unreadable image')} skipped"
        for split, other, count in shared_images(self.data):
            text += f"; {counted(count, 'caption')} of {split} with an image that is also in {other}"
            text += ": its scores will be too high"
        return text

    # Images as sources -----------------------------------------------------------------------------------------

    @property
    def max_source_length(self) -> int:
        return self.regions if self.features else math.prod(self.image_grid())

    def image_grid(self) -> tuple[int, int]:
        """How many regions an image has, down and across."""
        own = keys(self.experiment.model, ImageKeys)
        side = -(-self.size // (own.patch if own.stem == "patches" else 2**own.stages))
        return side, side

    def grid(self, image: ImageArray) -> tuple[int, int]:
        """How many regions an image or a grid of features has, down and across."""
        return (image.shape[0], image.shape[1]) if self.features else self.image_grid()

    def stems(self, model: Family) -> tuple[Layer | ImageStem, TokenEmbedding]:
        longest = (keys(self.experiment.data, CaptionData).max_length or 128) + 1  # and the end
        return self.image_stem(model), model.tokens(len(self.target) + 1, max_length=longest)

    def image_stem(self, model: Family) -> Layer | ImageStem:
        """Vectors of regions, with their positions."""
        if self.features:
            positions = Sinusoidal(model.dim)
            return frame_embedding(self.features, model.dim, positions=positions, dropout=model.stem_dropout)
        learned = LearnedPositions(model.dim, self.max_source_length)
        own = keys(model, ImageKeys)
        if own.stem == "patches":
            return PatchEmbedding(3, model.dim, own.patch, positions=learned)
        widths = [own.image_width * 2**stage for stage in range(own.stages)]
        return ImageCNN(3, model.dim, widths=widths, positions=learned)

    def source_lengths(self, split: Split) -> Integer[ndarray, " rows"]:
        if not self.features:
            return np.full(len(split), self.max_source_length)
        lengths: Integer[ndarray, " rows"] = self.images.shapes[:, :2].prod(axis=1)[image_numbers(split)]
        return lengths

    def source_batch(self, split: Split, rows: Rows) -> SourceBatch:
        return self.stack([self.images[image_of(split, row)] for row in rows])

    def stack(self, images: Sequence[ImageArray]) -> SourceBatch:
        """Images of one size as one tensor, or the regions of features as rows with padding."""
        if not self.features:
            return SourceBatch(torch.from_numpy(normalize_images(np.stack(images))), None)
        rows = [torch.from_numpy(np.array(image)).flatten(0, 1) for image in images]
        lengths = torch.tensor([len(row) for row in rows])
        return SourceBatch(torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), lengths)

    def distinct_rows(self, split: Split) -> Rows:
        rows: Rows = np.unique(image_numbers(split), return_index=True)[1]
        return rows

    def references(self, split: Split, row: int) -> list[str]:
        return self.captions_of(split, image_of(split, row))

    def captions_of(self, split: Split, image: int) -> list[str]:
        """All captions that an image has in this split, in the order of the file."""
        if self._by_image is None or self._by_image[0] is not split:
            order = np.argsort(image_numbers(split), kind="stable")
            self._by_image = split, order, image_numbers(split)[order]
        _, order, images = self._by_image
        start, end = np.searchsorted(images, [image, image + 1])
        return [split.text("target_texts", other) for other in order[start:end]]

    def source_details(self, split: Split, row: int) -> dict[str, str]:
        image = image_of(split, row)
        details = {"image": self.images.name(image)}
        return details if self.features else {**details, "thumbnail": thumbnail(self.images[image])}

    def source_positions(self, split: Split, row: int) -> Answer:
        return {"regions": list(self.grid(self.images[image_of(split, row)]))}

    def encode_inputs(self, inputs: Sequence[str]) -> tuple[SourceBatch, list[Answer]]:
        images = [read_image_or_features(path, self.size) for path in inputs]
        for path, image in zip(inputs, images, strict=True):
            self.check_image(printable(path), image)
        answers = [
            {"image": path, "regions": list(self.grid(image))} for path, image in zip(inputs, images, strict=True)
        ]
        return self.stack(images), answers

    def check_image(self, path: str, image: ImageArray) -> None:
        """Refuse an image of another kind than the run has learned from."""
        width = image.shape[2] if image.dtype.kind == "f" else 0
        if width != self.features:
            kinds = [f"features of width {size:,}" if size else "an image" for size in (width, self.features)]
            raise UserError(f"{path} is {kinds[0]}, but this run was trained on {kinds[1]}", "Name another file")
        self.check_regions(path, math.prod(self.grid(image)))

    def check_regions(self, location: str, regions: int) -> None:
        limit = self.max_source_length
        encoder = encoder_section(self.experiment.model, limit)
        if encoder is not None and encoder.layers_have_max_length and regions > limit:
            message = f"{regions:,} regions, but the model reads at most {limit:,}"
            advice = f"Make the grid smaller, or train with another {KeyName('model.encoder')}, such as gru"
            raise DataError(location, message, advice, code="too-many-regions")


def note_bad_images(data: Dataset, store: ImageStore) -> Dataset:
    """The data, with the number of images that can't be read among their notes."""
    return replace(data, notes={**data.notes, "bad_images": store.skipped})


def image_numbers(split: Split) -> Rows:
    numbers: Rows = split["image"].flat
    return numbers


def image_of(split: Split, row: SupportsIndex) -> int:
    return int(image_numbers(split)[row])


def shared_images(data: Dataset) -> Iterator[tuple[str, str, int]]:
    """Pairs of splits, and how many captions of the first are of images that the second has too, if any are."""
    for split, other in ((VALID, TRAIN), (TEST, TRAIN), (TEST, VALID)):
        if split in data.splits and other in data.splits:
            count = int(np.isin(image_numbers(data.splits[split]), image_numbers(data.splits[other])).sum())
            if count:
                yield split, other, count


def thumbnail(image: UInt8[ndarray, "3 height width"]) -> str:
    from PIL import Image

    small = Image.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0)))
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    file = io.BytesIO()
    small.save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


TASK = Caption
