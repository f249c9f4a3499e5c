"""Images with captions: a path and a caption a row; an image with several captions has several rows."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePath

from seqloom.data.examples import Captioned
from seqloom.data.files import Format
from seqloom.data.lines import Bad, refuse
from seqloom.data.readers.sides import CAPTION, read_sides
from seqloom.spec.config.data import Data


def read_captions(path: str | Path, written: Format, data: Data, bad: Bad = refuse) -> Iterator[Captioned]:
    """Each row's image and caption, in the file's order; the images themselves are not looked at.

    >>> path = getfixture("tmp_path") / "captions.tsv"
    >>> _ = path.write_text("photos/1.jpg\\tA dog runs .\\nphotos/1.jpg\\tA brown dog .\\n")
    >>> [(one.image, one.target) for one in read_captions(path, "tsv", Data())]
    [('photos/1.jpg', 'A dog runs .'), ('photos/1.jpg', 'A brown dog .')]
    """
    for image, caption, place in read_sides(Path(path), written, data, bad, CAPTION):
        yield Captioned(str(PurePath(image)), caption, place)


def image_path(example: Captioned) -> Path:
    """Where an example's image lies: its path goes on from the folder of the table.

    >>> from seqloom.data.examples import Place
    >>> str(image_path(Captioned("photos/1.jpg", "A dog runs .", Place("flickr/train.tsv", 1))))
    'flickr/photos/1.jpg'
    """
    return Path(example.place.file).parent / example.image


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
