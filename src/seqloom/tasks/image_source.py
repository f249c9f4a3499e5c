"""Pictures to be described: images, or features that another network made of them."""

import base64
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Integer, Shaped, UInt8
from numpy import ndarray

from seqloom.data.captioned import TARGET, CaptionedData, CaptionedPart, captioned, to_test
from seqloom.data.images import MOST_VALUES, normalised, read_source
from seqloom.data.origin import Origin
from seqloom.data.split import TRAIN
from seqloom.data.tokenisers import Tokeniser
from seqloom.data.wording import counted, named
from seqloom.nn.layer import Layer
from seqloom.nn.positions import LearnedPositions, Sinusoidal
from seqloom.nn.stems import Tokens, frames
from seqloom.nn.vision import ImageGrid, ImageStem, Patches
from seqloom.spec.config.encoder import encoder_of
from seqloom.spec.config.model import AnyModel, Mixer
from seqloom.spec.errors import DataError, RunError, UserError
from seqloom.tasks.bodies import stem_dropout, tokens
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.seen import Seen, characters
from seqloom.tasks.text_source import Read, Source

KIND = "pictures.json"  # what a model looks at: the width of features, 0 for images; and the most regions
THUMBNAIL = 128  # pixels a side, in a report

Picture = Shaped[ndarray, "_ _ _"]  # of any size, each its own


class Pictures(Source[CaptionedPart]):
    """Regions of an image, or of a grid of features.

    features: how long the vectors are that stand for regions; 0 where there are images
    regions: the most of a picture
    """

    answer = "caption"

    def __init__(
        self, experiment: Experiment, target: Tokeniser, features: int, regions: int, seen: Seen = Source.seen
    ) -> None:
        self.experiment, self.target, self.features, self.regions = experiment, target, features, regions
        self.seen = seen
        self.size = experiment.data.image_size or 0

    @classmethod
    def prepare(cls, experiment: Experiment, origin: Origin) -> tuple["Pictures", CaptionedData]:
        data = captioned(origin)
        regions = int(data.images.shapes[:, :2].prod(axis=1).max()) if data.features else 0
        seen = Seen(target=characters(data.parts[TRAIN].target_texts, data.target))
        return cls(experiment, data.target, data.features, regions, seen), data

    @classmethod
    def from_files(cls, experiment: Experiment, files: Mapping[str, str]) -> "Pictures":
        saved = files[KIND]
        try:
            told = json.loads(saved)
            sizes = [told["features"], told["regions"]]
        except (ValueError, TypeError, LookupError, RecursionError):
            sizes = [None]
        if not all(type(size) is int and 0 <= size <= MOST_VALUES for size in sizes):
            raise RunError(f"{KIND}: not the sizes of pictures, so it is damaged. Restore the file from a copy.")
        return cls(experiment, Tokeniser.from_json(files[TARGET], TARGET), sizes[0], sizes[1], Seen.from_files(files))

    def files(self) -> dict[str, str]:
        kind = {"features": self.features, "regions": self.regions}
        return {TARGET: self.target.to_json(), KIND: json.dumps(kind), **self.seen.files()}

    def to_test(self, origin: Origin, folder: Path) -> CaptionedData:
        data = to_test(origin, folder, self.target, self.features)
        for part in data.parts.values():
            sizes = self.lengths(part)
            row = int(sizes.argmax())
            place = f"{part.files[part.file[row]].name(origin.names())}:{part.line[row]}"
            self.check_size(place, int(sizes[row]))
        return data

    def described(self) -> str:
        what = f"features of width {self.features:,}" if self.features else f"images of {self.size} pixels a side"
        return f"{what}, {len(self.target):,} {self.target.kind} tokens"

    def reported(self, data: CaptionedData) -> str:
        bad = f"; {counted(data.bad_images, 'image')} skipped, which can't be read" if data.bad_images else ""
        return bad + "".join(
            f"; {counted(count, 'caption')} of {part} with an image that {other} has too: its scores will be too good"
            for part, other, count in data.shared()
        )

    def longest(self) -> int:
        return self.regions if self.features else int(np.prod(self.grid(self.experiment.model)))

    def grid(self, part: AnyModel) -> tuple[int, int]:
        """How many regions down and across an image has."""
        side = -(-self.size // (part.patch or 1 if part.stem == "patches" else 2 ** (part.stages or 1)))
        return side, side

    def stems(self, part: AnyModel) -> tuple[Layer | ImageStem, Tokens]:
        target = tokens(part, len(self.target) + 1, longest=(self.experiment.data.max_length or 128) + 1)
        return self.stem(part), target

    def stem(self, part: AnyModel) -> Layer | ImageStem:
        """Vectors of regions, each of which knows where it is."""
        if self.features:
            positions = Sinusoidal(part.width)
            return frames(self.features, part.width, positions=positions, dropout=stem_dropout(part))
        placed = LearnedPositions(part.width, self.longest())
        if part.stem == "patches":
            return Patches(3, part.width, part.patch or 1, positions=placed)
        widths = [(part.image_width or 1) * 2**stage for stage in range(part.stages or 1)]
        return ImageGrid(3, part.width, widths=widths, positions=placed)

    def lengths(self, part: CaptionedPart) -> Integer[ndarray, " rows"]:
        if not self.features:
            return np.full(len(part), self.longest())
        regions: Integer[ndarray, " rows"] = part.images.shapes[:, :2].prod(axis=1)[part.image]
        return regions

    def batch(self, part: CaptionedPart, rows: Integer[ndarray, " batch"]) -> Read:
        return self.together([part.images[part.image[row]] for row in rows])

    def together(self, pictures: Sequence[Picture]) -> Read:
        """Pictures as one tensor: images of one size, or regions in a row, zeros after them."""
        if not self.features:
            return Read(torch.from_numpy(normalised(np.stack(pictures))), None)
        flat = [torch.from_numpy(np.array(picture)).flatten(0, 1) for picture in pictures]
        lengths = torch.tensor([len(regions) for regions in flat])
        return Read(torch.nn.utils.rnn.pad_sequence(flat, batch_first=True), lengths)

    def distinct(self, part: CaptionedPart) -> Integer[ndarray, " sources"]:
        first: Integer[ndarray, " sources"] = np.unique(part.image, return_index=True)[1]
        return first

    def references(self, part: CaptionedPart, row: int) -> list[str]:
        return part.references(int(part.image[row]))

    def shown(self, part: CaptionedPart, row: int) -> dict[str, Any]:
        number = int(part.image[row])
        told = {"image": part.images.name(number)}
        return told if self.features else {**told, "thumbnail": thumbnail(part.images[number])}

    def about(self, part: CaptionedPart, row: int) -> dict[str, Any]:
        return {"regions": list(self.shape(part.images[part.image[row]]))}

    def read(self, given: Sequence[str]) -> tuple[Read, list[dict[str, Any]]]:
        pictures = [read_source(path, self.size) for path in given]
        for path, picture in zip(given, pictures, strict=True):
            self.check(named(path), picture)
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
            raise UserError(f"{path} is {kinds[0]}, and this run looks at {kinds[1]}. Name another file.")
        self.check_size(path, math.prod(self.shape(picture)))

    def limit(self) -> int | None:
        """The most regions that the encoder can read; None for any number."""
        return self.longest() if isinstance(encoder_of(self.experiment.model, self.longest()), Mixer) else None

    def check_size(self, place: str, regions: int) -> None:
        """A sentence for a grid with more regions than that."""
        limit = self.limit()
        if limit is not None and regions > limit:
            what = f"{regions:,} regions, and the model's positions allow {limit:,}"
            raise DataError(place, what, "Make the grid smaller, or train with another --model.encoder, such as gru")


def thumbnail(image: UInt8[ndarray, "3 height width"]) -> str:
    """A small PNG as a data URI, for a page that stands by itself."""
    from PIL import Image

    small = Image.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0)))
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    file = io.BytesIO()
    small.save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
