"""A look at images with captions."""

from collections import Counter
from collections.abc import Iterator

from seqloom.data.corpora import CORPORA
from seqloom.data.examples import Captioned
from seqloom.data.images import read_source
from seqloom.data.inspection.gathered import Gathered, Heard
from seqloom.data.inspection.labels import tell_empty
from seqloom.data.inspection.paired import Texts, summarise, with_sides
from seqloom.data.inspection.places import Files
from seqloom.data.inspection.repeats import Contents
from seqloom.data.inspection.sources import Sources
from seqloom.data.inspection.telling import tell_shared
from seqloom.data.readers.captions import RealPaths, image_path, read_captions
from seqloom.data.readers.sides import CAPTION
from seqloom.data.wording import counted
from seqloom.spec.errors import DataError, UserError

SMALL = 8  # pixels: whether an image can be read does not depend on the size that it is brought to


def look_at_captioned(what: Sources, found: Gathered) -> None:
    """One reading of everything, and of each image."""
    what = with_sides(what, found, CAPTION)
    if what.corpus:
        look_at_scenes(what, found)
    rows: Counter[str] = Counter()
    contents, captions, images = Contents(Files()), Texts(what, "caption"), Looked()
    for part, example in examples(what, found):
        if (name := images.name(example)) is None:
            continue
        rows[what.part_of(name, part)] += 1
        captions.add(example.target, example.place)
        contents.add(images.real[str(image_path(example))], part, (), example.place)
    found.findings += images.bad.findings("warning" if what.data.on_bad_image == "skip" else "error")
    if not rows:
        return
    summarise(rows, "caption", what, found)
    found.summary.append(("images", f"{len(images.seen):,}, with {counted(sum(rows.values()), 'caption')}"))
    if not what.corpus:
        tell_empty(rows, "caption", what, found)
    tell_shared(contents.repeated(), "caption", "", found)
    captions.tell(found)


def look_at_scenes(what: Sources, found: Gathered) -> None:
    """The corpus has no files, and nothing is wrong with its scenes; but it may have none such as asked for."""
    try:
        scenes = sum(1 for _ in CORPORA[what.corpus or ""].scenes(what.seed, what.data.length, what.data.examples))
    except UserError as error:
        found.refused(error)
    else:
        found.summary.append(("scenes", f"{scenes:,}"))


def examples(what: Sources, found: Gathered) -> Iterator[tuple[str, Captioned]]:
    """All that can be read, with the part of its file; a file that can't be is written down."""
    for part, path, form in what.all():
        try:
            for example in read_captions(path, form, what.data, found.bad):
                yield part, example
        except UserError as error:
            found.refused(error)


class Looked:
    """Images that have been looked at, each once: where they lie, and as what they were written first."""

    def __init__(self) -> None:
        self.real = RealPaths()
        self.seen: dict[str, str | None] = {}
        self.bad = Heard()

    def name(self, example: Captioned) -> str | None:
        """The path of an example's image as a row first wrote it, which it is split by; None if it can't be read."""
        path = image_path(example)
        key = self.real[str(path)]
        if key not in self.seen:
            try:
                read_source(path, SMALL)
                self.seen[key] = example.image
            except DataError as error:
                self.seen[key] = None
                self.bad(DataError(example.place, f"{example.image!r} {error.what}", "Replace it, or leave it out"))
        return self.seen[key]
