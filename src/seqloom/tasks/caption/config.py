"""The config of a captioner."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from seqloom.core import names
from seqloom.core.config.data import TokenizedData
from seqloom.core.config.section import Section, Values, key, keys
from seqloom.core.problem import KeyName, Problem, conflict
from seqloom.core.registry import Registry
from seqloom.data import records
from seqloom.data.formats import TableData, column_key
from seqloom.data.spec import DataSpec, EmbeddedCorpus, Role
from seqloom.models.encoder_decoder import NO_ENCODER
from seqloom.models.family import Family, Width
from seqloom.tasks.experiment import Help
from seqloom.tasks.generation_config import GenerationConfig


def parse_image_path(field: records.Field, data: object) -> str:
    """The path of an image, normalized."""
    path = records.parse_stripped_text(field, data)
    return str(PurePath(path)) if path else ""


IMAGE_NAMES = ("image", "path", "file", "filename", "photo", "picture", "source", "features")
CAPTION_NAMES = ("caption", "description", "text", "sentence", "comment", "target", "title")

DATA_SPEC = DataSpec(
    "caption",
    "TSV, CSV or JSONL, with an image's path and its caption",
    ("table",),
    roles=(
        Role("image", "source", IMAGE_NAMES, languages=True, parse=parse_image_path, required=True, is_path=True),
        Role("caption", "target", CAPTION_NAMES, languages=True, parse=records.parse_stripped_text, required=True),
    ),
    corpora=Registry("corpus", {"scenes": EmbeddedCorpus("seqloom.data.corpora.scenes:captioned")}),
    suffix=".tsv",
)

# The sizes of an image's stem, and its pixels a side, by the model's size.
IMAGE: dict[str, Values] = {
    "tiny": {"stages": 3, "image_width": 8, "patch": 8},
    "small": {"stages": 3, "image_width": 32, "patch": 8},
    "base": {"stages": 4, "image_width": 64, "patch": 16},
}
IMAGE_SIZE = {"tiny": 48, "small": 48, "base": 224}


class CaptionData(TokenizedData, TableData):
    """Images and captions in, pixels and tokens out."""

    source: str | None = column_key("The column of the image's path; default: detected by its name, or else the first.")
    target: str | None = column_key("The column of the caption; default: detected by its name, or else the second.")
    on_bad_image: Literal["refuse", "skip"] = key(
        "refuse", "What to do with an image that can't be read: stop with an error, or skip and count it.", of_file=True
    )
    image_size: int = key(
        ..., "Images are cropped to a square and resized to this many pixels per side.", ge=8, le=1024
    )


class ImageKeys(Section):
    """How an image becomes regions."""

    stem: names.ImageStem = key("grid", "How an image is divided into regions: the grid of a CNN, or square patches.")
    stages: Annotated[int, Field(ge=1, le=8)] = key(
        ...,
        "The number of CNN stages, each of which halves height and width (stem grid).",
        only_with={"model.stem": ("grid",)},
    )
    image_width: Width = key(
        ...,
        "The number of channels of the first CNN stage; each later stage doubles it (stem grid).",
        only_with={"model.stem": ("grid",)},
    )
    patch: Annotated[int, Field(ge=1, le=1024)] = key(
        ...,
        "The side of a patch in pixels; it must divide data.image_size (stem patches).",
        only_with={"model.stem": ("patches",)},
    )


class Config(GenerationConfig):
    """Describe an image in words."""

    data_spec = DATA_SPEC
    answer = "caption"
    help = Help(
        "Learns to generate captions for images. Reads a table with the path of an image and a caption in each row "
        "(an image may have several captions), or with paths of .npy grids of features computed by another network. "
        "A small CNN computes the features of image regions, and the decoder attends to them at each word. The "
        "metrics are BLEU-1 to BLEU-4 and chrF, by sacreBLEU, and exact match. The trained model captions images "
        "with `seqloom predict`.",
        file="captions.tsv",
        option="--data.image-size 96",
        more="train.tsv --valid dev.tsv --data.on-bad-image skip",
        input_advice="Name an image's file",
        file_advice="Name one image's file per line",
    )
    architecture = "gru"
    sized: ClassVar[tuple[str, ...]] = ("stages", "image_width", "patch")
    scores = ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "chrf", "exact_match", "loss", "perplexity", "token_accuracy")

    data: CaptionData = key(..., "Files, splits and tokenization.")

    @classmethod
    def model_keys(cls, family: type[Family]) -> tuple[type[Section], ...]:
        return (*super().model_keys(family), ImageKeys)

    @classmethod
    def data_defaults(cls, family: type[Family], size: str, explicit: Values) -> Values:
        values = {"tokenizer": "word", "min_count": 2, "lowercase": True, "image_size": IMAGE_SIZE[size]}
        return super().data_defaults(family, size, explicit) | values

    @classmethod
    def model_defaults(cls, family: type[Family], size: str, explicit: Values) -> Values:
        values = super().model_defaults(family, size, explicit) | IMAGE[size]
        return values if family.cross_attends else values | {"encoder": NO_ENCODER}

    def conflicts(self) -> Iterator[Problem]:
        yield from super().conflicts()
        own, side = keys(self.model, ImageKeys), self.data.image_size
        if own.stem == "patches" and side % own.patch:
            message = (
                f"{KeyName('model.patch')} is {own.patch}, and does not divide {KeyName('data.image_size')}, {side}"
            )
            yield conflict("model.patch", message, "Give a divisor")
