"""What `seqloom check` looks for in images with captions."""

from collections import Counter
from pathlib import Path

from seqloom.core.config.section import keys
from seqloom.core.plurals import counted
from seqloom.core.problem import DataError
from seqloom.data.image_store import DrawnImage, RealPaths, image_path
from seqloom.data.images import read_source
from seqloom.data.inspection.duplicates import TextIndex, report_overlap
from seqloom.data.inspection.report import BadLines, Inspection
from seqloom.data.inspection.text_quality import TextQuality
from seqloom.data.records import Location
from seqloom.data.source import DataSource
from seqloom.tasks.caption.config import CaptionData
from seqloom.tasks.row_check import report_empty_splits, summarize_splits

SMALL = 8  # pixels: whether an image can be read does not depend on the size that it is brought to


def check(source: DataSource, inspection: Inspection) -> None:
    """One reading of everything, and of each image."""
    data = keys(source.data, CaptionData)
    rows: Counter[str] = Counter()
    contents, images, drawn = TextIndex(), Images(), 0
    captions = TextQuality("caption", data.max_length, data.tokenizer)
    for file_split, (values, location) in source.examples(inspection.bad_lines, inspection.add_error):
        image, caption = values
        if isinstance(image, DrawnImage):
            drawn += 1  # nothing is wrong with it
            continue
        if (name := images.name(image, location)) is None:
            continue
        rows[source.split_of(name, file_split)] += 1
        captions.add(caption, location)
        contents.add(images.real[str(image_path(image, location))], file_split, (), location)
    if drawn:
        inspection.summarize("scenes", f"{drawn:,}")
    inspection.others += images.bad.findings("warning" if data.on_bad_image == "skip" else "error")
    if not rows:
        return
    summarize_splits(rows, "caption", source, inspection)
    inspection.summarize("images", f"{len(images.names):,}, with {counted(sum(rows.values()), 'caption')}")
    if not source.corpus:
        report_empty_splits(rows, "caption", source, inspection)
    report_overlap(contents.repeated(), "caption", inspection)
    captions.summarize(inspection)
    captions.report(inspection)


class Images:
    """Images, each looked at once: its path as it was written first, by its real path; None if it can't be read."""

    def __init__(self) -> None:
        self.real = RealPaths()
        self.names: dict[str, str | None] = {}
        self.bad = BadLines()

    def name(self, image: str, location: Location) -> str | None:
        """The path of an example's image as a row first wrote it, which it is split by; None if it can't be read."""
        path = image_path(image, location)
        real = self.real[str(path)]
        if real not in self.names:
            self.names[real] = image if self._readable(path, image, location) else None
        return self.names[real]

    def _readable(self, path: Path, image: str, location: Location) -> bool:
        try:
            read_source(path, SMALL)
        except DataError as error:
            message = f"{image!r} {error.template.message}"
            self.bad(DataError(location, message, "Replace it, or leave it out", code=error.template.code))
            return False
        return True
