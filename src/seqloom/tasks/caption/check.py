"""What `seqloom check` looks for in images with captions."""

from collections.abc import Sequence

from seqloom.core.config.section import keys
from seqloom.core.problem import DataError
from seqloom.core.wording import counted
from seqloom.data.image_store import DrawnImage, RealPaths, image_path
from seqloom.data.images import read_image_or_features
from seqloom.data.inspection.duplicates import Duplicates, report_overlap
from seqloom.data.inspection.findings import BadLines, Inspection
from seqloom.data.records import Location, Value
from seqloom.data.source import DataSource
from seqloom.tasks.caption.config import CaptionData
from seqloom.tasks.data_check import RowCheck

SMALL = 8  # pixels: whether an image can be read does not depend on the size that it is resized to


class CaptionCheck(RowCheck):
    """Adds whether each image can be read.

    images: by its real path, the path of an image as a row first writes it; None if it can't be read
    """

    noun = content_noun = "caption"

    def __init__(self, source: DataSource, inspection: Inspection) -> None:
        super().__init__(source, inspection)
        self.real_paths = RealPaths()
        self.images: dict[str, str | None] = {}
        self.bad_images = BadLines()
        self.drawn = 0

    def add(self, file_split: str, values: Sequence[Value], location: Location) -> None:
        image, caption = values
        if isinstance(image, DrawnImage):
            self.drawn += 1  # the corpus drew it, so it can be read
            return
        real_path = self.real_paths[str(image_path(image, location))]
        if real_path not in self.images:
            self.images[real_path] = image if self.is_readable(image, location) else None
        name = self.images[real_path]
        if name is not None:
            self.rows[self.source.split_of(name, file_split)] += 1
            self.contents.add(real_path, file_split, (), location)
            self.add_text("caption", caption, location)

    def is_readable(self, image: str, location: Location) -> bool:
        try:
            read_image_or_features(image_path(image, location), SMALL)
        except DataError as error:
            message = f"{image!r} {error.template.message}"
            self.bad_images(DataError(location, message, "Replace it, or leave it out", code=error.template.code))
            return False
        return True

    def report(self) -> None:
        if self.drawn:
            self.inspection.summarize("scenes", f"{self.drawn:,}")
        skips = keys(self.source.data, CaptionData).on_bad_image == "skip"
        self.inspection.others += self.bad_images.findings("warning" if skips else "error")
        super().report()

    def report_contents(self, duplicates: Duplicates) -> None:
        captions = counted(self.rows.total(), "caption")
        self.inspection.summarize("images", f"{len(self.images):,}, with {captions}")
        report_overlap(duplicates, "caption", self.inspection)  # an image may have several captions


check = CaptionCheck.check
