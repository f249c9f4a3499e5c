"""The one place in which an image file becomes numbers: a central square, of one size, in bytes; and bytes as a model
reads them. Vectors that another network made of an image are read here too. Files come from anywhere, so all is
limited: bytes, pixels, formats.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32, Shaped, UInt8
from numpy import ndarray

from seqloom.core.plurals import printable
from seqloom.core.problem import DataError, UserError
from seqloom.data.text_io import cannot_read

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF")
FEATURES = ".npy"
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", FEATURES)  # usual names; an image is known by its content
MOST_BYTES = 100_000_000  # of a file
MOST_PIXELS = 64_000_000  # of an image: more than a telephone's 48 million
MOST_VALUES = 1 << 24  # of a file of features
ANOTHER = "Name another file"
SAVE_AGAIN = "Save it again, or name another file"


def read_source(path: str | Path, size: int) -> Shaped[ndarray, "first second third"]:
    """What one file gives a model to look at: of an image uint8 [3, size, size], of a .npy file float32
    [rows, columns, features]."""
    return read_features(path) if is_features(path) else read_image(path, size)


def is_features(path: str | Path) -> bool:
    """By its name, whether a file has vectors of regions instead of an image.

    >>> is_features("photo.npy"), is_features("photo.jpg")
    (True, False)
    """
    return Path(path).suffix.lower() == FEATURES


def read_image(path: str | Path, size: int) -> UInt8[ndarray, "3 size size"]:
    """An image upright, in red, green and blue, cut to its central square and resized with antialiasing.

    JPEG, PNG, WebP, BMP or GIF; of one that moves, the first picture. What is transparent is white.

    >>> from PIL import Image
    >>> path = getfixture("tmp_path") / "wide.png"
    >>> Image.new("RGB", (60, 20), "red").save(path)
    >>> read_image(path, 8)[:, 0, 0].tolist()
    [255, 0, 0]
    """
    path, pillow = Path(path), pillow_image()
    check_file(path)
    with warnings.catch_warnings(), broken(path, "is not an image that can be read"):
        warnings.simplefilter("ignore")  # of things that don't matter, or that are refused below
        try:
            opened = pillow.open(path, formats=FORMATS)
        except pillow.UnidentifiedImageError:
            message = f"is not an image (its content is none of {', '.join(FORMATS)})"
            raise DataError(printable(path), message, ANOTHER, code="not-an-image") from None
        except pillow.DecompressionBombError:
            raise too_large(path, "far too many pixels", MOST_PIXELS) from None
        with opened as image:
            if image.width * image.height > MOST_PIXELS:
                raise too_large(path, f"{image.width * image.height:,} pixels", MOST_PIXELS)
            return np.ascontiguousarray(np.asarray(squared(image, size)).transpose(2, 0, 1))


def squared(image: "Image", size: int) -> "Image":
    """The central square of an opened image, upright, in RGB."""
    from PIL import Image, ImageOps

    image.draft("RGB", (2 * size, 2 * size))  # a large JPEG is unpacked smaller at once, though not below this
    ImageOps.exif_transpose(image, in_place=True)
    if image.mode.startswith("I"):  # grey in two bytes a pixel, of which the upper one is enough
        image = Image.fromarray((np.asarray(image) >> 8).clip(0, 255).astype(np.uint8))
    colour = image.convert("RGBA" if image.has_transparency_data else "RGB")
    colour = ImageOps.fit(colour, (size, size), method=Image.Resampling.BICUBIC)
    if colour.mode == "RGB":
        return colour
    return Image.alpha_composite(Image.new("RGBA", colour.size, "white"), colour).convert("RGB")


def write_png(path: str | Path, image: UInt8[ndarray, "3 height width"]) -> None:
    """An image as a file, without loss."""
    pillow_image().fromarray(np.ascontiguousarray(image.transpose(1, 2, 0))).save(path, format="PNG")


def normalize_images(images: UInt8[ndarray, "*batch 3 height width"]) -> Float32[ndarray, "*batch 3 height width"]:
    """(x / 255 − 0.5) / 0.25: from −2 to 2, an ordinary photograph about as wide as a normal distribution.

    >>> normalize_images(np.array([0, 255, 0], dtype=np.uint8).reshape(3, 1, 1)).ravel().tolist()
    [-2.0, 2.0, -2.0]
    """
    return (images.astype(np.float32) / 255 - 0.5) / 0.25


def read_features(path: str | Path) -> Float32[ndarray, "rows columns features"]:
    """Vectors of an image's regions, out of a .npy file: [rows, columns, features]; [regions, features] is one row.

    >>> path = getfixture("tmp_path") / "seven.npy"
    >>> np.save(path, np.ones((7, 512), dtype=np.float16))
    >>> read_features(path).shape
    (1, 7, 512)
    """
    path = Path(path)
    check_file(path)
    with broken(path, "is not a NumPy array that can be read"):
        array = np.lib.format.open_memmap(path, mode="r")  # its shape, and nothing else yet; never objects
    if array.ndim not in (2, 3) or array.dtype.kind != "f" or not array.size:
        message = f"has shape {list(array.shape)} of {array.dtype}, not [rows, columns, features] of real numbers"
        raise DataError(printable(path), message, SAVE_AGAIN, code="feature-shape")
    if array.size > MOST_VALUES:
        raise too_large(path, f"{array.size:,} values", MOST_VALUES)
    with np.errstate(over="ignore"):  # what is too large for float32 is no number below
        features = array.astype(np.float32)
    if not np.isfinite(features).all():
        raise DataError(
            printable(path), "has a value that is not finite in float32", SAVE_AGAIN, code="feature-not-finite"
        )
    return features.reshape(-1 if array.ndim == 3 else 1, *array.shape[-2:])


def check_file(path: Path) -> None:
    """A sentence for what is not there, is no file, or is too large; before it is opened, as a pipe has no end."""
    try:
        about = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(
            printable(path), "is not there", "Check the name and the folder", code="image-not-there"
        ) from None
    except OSError as error:
        raise cannot_read(path, error) from None
    except ValueError:  # a NUL in it
        raise DataError(printable(path), "is not a file name", ANOTHER, code="image-name") from None
    if not S_ISREG(about.st_mode):
        raise DataError(printable(path), "is not a file", ANOTHER, code="image-not-a-file")
    if about.st_size > MOST_BYTES:
        raise too_large(path, f"{about.st_size:,} bytes", MOST_BYTES)


@contextmanager
def broken(path: Path, message: str) -> Iterator[None]:
    """A sentence for whatever goes wrong with a file's content."""
    try:
        yield
    except DataError:
        raise
    except PermissionError as error:
        raise cannot_read(path, error) from None
    except Exception as error:  # there is another exception for each way in which a file can be broken
        why = (str(error).splitlines() or [""])[0].rstrip(".")[:100] or type(error).__name__
        raise DataError(printable(path), f"{message} ({why})", ANOTHER, code="broken-image") from None


def too_large(path: Path, size: str, most: int) -> DataError:
    """Who unpacks such a file may run out of memory, and it may be made for that."""
    return DataError(
        printable(path), f"has {size}, and at most {most:,} are read", "Make it smaller", code="image-size"
    )


def pillow_image() -> ModuleType:
    """Pillow, which who has no images need not install."""
    try:
        from PIL import Image
    except ImportError:
        raise UserError("images need Pillow, which is not installed", "Run `pip install seqloom[vision]`") from None
    return Image
