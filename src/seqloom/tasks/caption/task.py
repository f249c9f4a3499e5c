"""Captioning: from an image, or a grid of features that another network computed, to a text."""

import base64
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self, SupportsIndex

import numpy as np
import torch
from jaxtyping import Integer, Shaped, UInt8
from numpy import ndarray

from seqloom.core.config.section import keys
from seqloom.core.problem import DataError, KeyName, RunError, UserError
from seqloom.core.wording import counted, printable
from seqloom.data.image_store import ImageOptions, Images, ImageStore, fill_store, store_images
from seqloom.data.images import MAX_VALUES, normalize_images, read_image_or_features, write_png
from seqloom.data.prepare import Dataset, Split, prepare, prepare_test
from seqloom.data.schema import NumberColumn, Schema, TextColumn, TokenColumn, tokenizer_learner
from seqloom.data.source import DataSource
from seqloom.data.split import TEST, TRAIN, VALID
from seqloom.models.encoder_decoder import encoder_section
from seqloom.models.family import Family
from seqloom.nn.layer import Layer
from seqloom.nn.positions import LearnedPositions, Sinusoidal
from seqloom.nn.stems import TokenEmbedding, frame_embedding
from seqloom.nn.vision import ImageCNN, ImageStem, PatchEmbedding
from seqloom.tasks.caption.config import CaptionData, ImageKeys
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.generation_task import TARGET_FILE, GenerationTask, SourceBatch
from seqloom.tasks.metrics.text_overlap import CaptionOverlap, TextOverlap
from seqloom.tasks.row_task import Rows
from seqloom.tasks.task import Answer

KIND_FILE = "pictures.json"  # what a model reads: the width of features, 0 for images; and the most regions
THUMBNAIL = 128  # pixels a side, in a report
DRAWN = "scene.png"  # in a run folder: an image of an embedded corpus, to try the run with
FOR_TEXTS = "pairs of texts are for 'seqloom train translate'"
IMAGE, CAPTION, NAME = 0, 1, 2  # indices of the values of an example, once its image has a number

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
    features = regions = 0
    images: Images
    _by_image: tuple[Split, Rows, Rows] | None = None

    @classmethod
    def schema(cls, experiment: Experiment) -> Schema:
        """Images as numbers in their store, and captions; all captions of an image are in one split."""
        data = keys(experiment.data, CaptionData)
        tokens = TokenColumn("target", CAPTION, data.max_length, encoder=TARGET_FILE)
        columns = (NumberColumn("image", IMAGE, dtype="int64"), tokens, TextColumn("target_texts", CAPTION))
        return Schema(columns, {TARGET_FILE: tokenizer_learner((CAPTION,), data, "word")}, content=NAME)

    @classmethod
    def prepare(cls, experiment: Experiment, source: DataSource) -> Self:
        experiment = experiment.model_copy(update={"data": source.data})
        store = store_images(source, image_options(keys(experiment.data, CaptionData)))
        key = {"images": store.state, "sha256": store.sha256}
        data = prepare(source, cls.schema(experiment), store.examples, key)
        data.notes["bad_images"] = store.skipped
        task = cls(experiment, data.encoders, data, source)
        task.images = store.images
        task.learn(data)
        return task

    def learn(self, data: Dataset) -> None:
        super().learn(data)
        self.features = self.images.features
        self.regions = int(self.images.shapes[:, :2].prod(axis=1).max()) if self.features else 0

    def load(self, files: Mapping[str, str]) -> None:
        super().load(files)
        try:
            saved = json.loads(files[KIND_FILE])
            sizes = [saved["features"], saved["regions"]]
        except (ValueError, TypeError, LookupError, RecursionError):
            sizes = [None]
        if not all(type(size) is int and 0 <= size <= MAX_VALUES for size in sizes):
            message = "not the sizes of images, so it is damaged"
            raise RunError(message, "Restore the file from a copy", location=KIND_FILE)
        self.features, self.regions = sizes

    def files(self) -> dict[str, str]:
        return super().files() | {KIND_FILE: json.dumps({"features": self.features, "regions": self.regions})}

    def read_test_files(self, files: Sequence[str], folder: Path) -> None:
        self._data_source = source = self.test_source(files)
        fill_store(source, folder, image_options(self.config, self.features))
        store = ImageStore.open(folder, source)
        self._data = data = prepare_test(source, self.schema(self.experiment), self.encoders, folder, store.examples)
        data.notes["bad_images"], self.images = store.skipped, store.images
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
        size = self.config.image_size
        source = f"features of width {self.features:,}" if self.features else f"images of {size}×{size} pixels"
        text = f"{source}, {len(self.target):,} {self.target.kind} tokens"
        if bad := self.data.notes.get("bad_images", 0):
            text += f"; {counted(bad, 'unreadable image')} skipped"
        for split, other, count in shared_images(self.data):
            text += f"; {counted(count, 'caption')} of {split} with an image that is also in {other}"
            text += ": its scores will be too high"
        return text

    # Images as sources -----------------------------------------------------------------------------------------

    @property
    def config(self) -> CaptionData:
        return keys(self.experiment.data, CaptionData)

    @property
    def max_source_length(self) -> int:
        return self.regions if self.features else math.prod(self.image_grid())

    def image_grid(self) -> tuple[int, int]:
        """How many regions an image has, down and across."""
        own = keys(self.experiment.model, ImageKeys)
        side = -(-self.config.image_size // (own.patch if own.stem == "patches" else 2**own.stages))
        return side, side

    def grid(self, image: ImageArray) -> tuple[int, int]:
        """How many regions an image or a grid of features has, down and across."""
        return (image.shape[0], image.shape[1]) if self.features else self.image_grid()

    def stems(self, model: Family) -> tuple[Layer | ImageStem, TokenEmbedding]:
        longest = (self.config.max_length or 128) + 1  # and the end
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
        lengths: Integer[ndarray, " rows"] = self.images.shapes[:, :2].prod(axis=1)[split["image"].flat]
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
        return np.unique(split["image"].flat, return_index=True)[1]

    def references(self, split: Split, row: int) -> list[str]:
        return self.captions_of(split, image_of(split, row))

    def captions_of(self, split: Split, image: int) -> list[str]:
        """All captions that an image has in this split, in the order of the file."""
        if self._by_image is None or self._by_image[0] is not split:
            order = np.argsort(split["image"].flat, kind="stable")
            self._by_image = split, order, split["image"].flat[order]
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
        images = [self.read_input(path) for path in inputs]
        grids = [list(self.grid(image)) for image in images]
        return self.stack(images), [{"image": path, "regions": grid} for path, grid in zip(inputs, grids, strict=True)]

    def read_input(self, path: str) -> ImageArray:
        """An image of the kind that the run was trained on."""
        image, name = read_image_or_features(path, self.config.image_size), printable(path)
        width = image.shape[2] if image.dtype.kind == "f" else 0
        if width != self.features:
            kinds = [f"features of width {size:,}" if size else "an image" for size in (width, self.features)]
            raise UserError(f"{name} is {kinds[0]}, but this run was trained on {kinds[1]}", "Name another file")
        self.check_regions(name, math.prod(self.grid(image)))
        return image

    def check_regions(self, location: str, regions: int) -> None:
        limit = self.max_source_length
        encoder = encoder_section(self.experiment.model, limit)
        if encoder is not None and encoder.layers_have_max_length and regions > limit:
            message = f"{regions:,} regions, but the model reads at most {limit:,}"
            advice = f"Make the grid smaller, or train with another {KeyName('model.encoder')}, such as gru"
            raise DataError(location, message, advice, code="too-many-regions")


def image_options(data: CaptionData, features: int | None = None) -> ImageOptions:
    return ImageOptions(data.image_size, data.on_bad_image == "skip", features, FOR_TEXTS)


def image_of(split: Split, row: SupportsIndex) -> int:
    return int(split["image"].flat[row])


def shared_images(data: Dataset) -> Iterator[tuple[str, str, int]]:
    """Pairs of splits, and how many captions of the first are of images that the second has too, if any are."""
    for split, other in ((VALID, TRAIN), (TEST, TRAIN), (TEST, VALID)):
        if split in data.splits and other in data.splits:
            images, others = (data.splits[name]["image"].flat for name in (split, other))
            if count := int(np.isin(images, others).sum()):
                yield split, other, count


def thumbnail(image: UInt8[ndarray, "3 height width"]) -> str:
    from PIL import Image

    small = Image.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0)))
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    file = io.BytesIO()
    small.save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


TASK = Caption
