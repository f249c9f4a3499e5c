"""Read images as uint8 arrays of their central square, and vectors of image regions from .npy files.

Files may be untrusted, so bytes, pixels and formats are limited.
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

from seqloom.core.problem import DataError, UserError
from seqloom.core.wording import printable
from seqloom.data.text_io import cannot_read

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF")
FEATURES_SUFFIX = ".npy"
# A path with another suffix may be a text by mistake. Images themselves are recognized by their content.
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", FEATURES_SUFFIX)
MAX_BYTES = 100_000_000  # of a file
MAX_PIXELS = 64_000_000  # of an image: more than a phone's 48 million
MAX_VALUES = 1 << 24  # of a file of features
NAME_ANOTHER = "Name another file"
SAVE_AGAIN = "Save it again, or name another file"


def read_image_or_features(path: str | Path, size: int) -> Shaped[ndarray, "first second third"]:
    """An image as uint8 [3, size, size], or a .npy file as float32 [rows, columns, features]."""
    return read_features(path) if is_features(path) else read_image(path, size)


def is_features(path: str | Path) -> bool:
    """Whether the name is that of a file of region vectors.

    >>> is_features("photo.npy"), is_features("photo.jpg")
    (True, False)
    """
    return Path(path).suffix.lower() == FEATURES_SUFFIX


def read_image(path: str | Path, size: int) -> UInt8[ndarray, "3 size size"]:
    """The central square of an image in RGB, upright, resized with antialiasing.

    JPEG, PNG, WebP, BMP or GIF; the first frame of an animation. Transparency becomes white.

    >>> from PIL import Image
    >>> path = getfixture("tmp_path") / "wide.png"
    >>> Image.new("RGB", (60, 20), "red").save(path)
    >>> read_image(path, 8)[:, 0, 0].tolist()
    [255, 0, 0]
    """
    path, pillow = Path(path), import_pillow()
    check_file(path)
    with warnings.catch_warnings(), decoding_errors(path, "is not an image that can be read"):
        warnings.simplefilter("ignore")  # Pillow warns about harmless metadata, and about sizes that are errors below
        try:
            opened = pillow.open(path, formats=FORMATS)
        except pillow.UnidentifiedImageError:
            message = f"is not an image (its content is none of {', '.join(FORMATS)})"
            raise DataError(printable(path), message, NAME_ANOTHER, code="not-an-image") from None
        except pillow.DecompressionBombError:
            raise too_large(path, "far too many pixels", MAX_PIXELS) from None
        with opened as image:
            if image.width * image.height > MAX_PIXELS:
                raise too_large(path, f"{image.width * image.height:,} pixels", MAX_PIXELS)
            return np.ascontiguousarray(np.asarray(central_square(image, size)).transpose(2, 0, 1))


def central_square(image: "Image", size: int) -> "Image":
    """The central square of an opened image, upright, in RGB, resized."""
    from PIL import Image, ImageOps

    image.draft("RGB", (2 * size, 2 * size))  # decodes a large JPEG at a lower resolution, but at least at this one
    ImageOps.exif_transpose(image, in_place=True)
    if image.mode.startswith("I"):  # 16-bit gray: keep the upper byte
        image = Image.fromarray((np.asarray(image) >> 8).clip(0, 255).astype(np.uint8))
    color = image.convert("RGBA" if image.has_transparency_data else "RGB")
    color = ImageOps.fit(color, (size, size), method=Image.Resampling.BICUBIC)
    if color.mode == "RGB":
        return color
    return Image.alpha_composite(Image.new("RGBA", color.size, "white"), color).convert("RGB")


def write_png(path: str | Path, image: UInt8[ndarray, "3 height width"]) -> None:
    import_pillow().fromarray(np.ascontiguousarray(image.transpose(1, 2, 0))).save(path, format="PNG")


def normalize_images(images: UInt8[ndarray, "*batch 3 height width"]) -> Float32[ndarray, "*batch 3 height width"]:
    """(x / 255 − 0.5) / 0.25: from −2 to 2; the deviation of an ordinary photograph is then about 1.

    >>> normalize_images(np.array([0, 255, 0], dtype=np.uint8).reshape(3, 1, 1)).ravel().tolist()
    [-2.0, 2.0, -2.0]
    """
    return (images.astype(np.float32) / 255 - 0.5) / 0.25


def read_features(path: str | Path) -> Float32[ndarray, "rows columns features"]:
    """Vectors of image regions from a .npy file of shape [rows, columns, features], or [regions, features] as one row.

    >>> path = getfixture("tmp_path") / "seven.npy"
    >>> np.save(path, np.ones((7, 512), dtype=np.float16))
    >>> read_features(path).shape
    (1, 7, 512)
    """
    path = Path(path)
    check_file(path)
    with decoding_errors(path, "is not a NumPy array that can be read"):
        array = np.lib.format.open_memmap(path, mode="r")  # reads only the header, and never unpickles
    if array.ndim not in (2, 3) or array.dtype.kind != "f" or not array.size:
        message = f"has shape {list(array.shape)} of {array.dtype}, not [rows, columns, features] of real numbers"
        raise DataError(printable(path), message, SAVE_AGAIN, code="feature-shape")
    if array.size > MAX_VALUES:
        raise too_large(path, f"{array.size:,} values", MAX_VALUES)
    with np.errstate(over="ignore"):  # infinite values are an error below
        features = array.astype(np.float32)
    if not np.isfinite(features).all():
        raise DataError(
            printable(path), "has a value that is not finite in float32", SAVE_AGAIN, code="feature-not-finite"
        )
    return features.reshape(-1 if array.ndim == 3 else 1, *array.shape[-2:])


def check_file(path: Path) -> None:
    """Refuse a path that is not a regular file, or too large a file, before it is opened: reading a pipe may block."""
    try:
        stat = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(
            printable(path), "is not there", "Check the name and the folder", code="image-not-there"
        ) from None
    except OSError as error:
        raise cannot_read(path, error) from None
    except ValueError:  # the path has a NUL
        raise DataError(printable(path), "is not a file name", NAME_ANOTHER, code="image-name") from None
    if not S_ISREG(stat.st_mode):
        raise DataError(printable(path), "is not a file", NAME_ANOTHER, code="image-not-a-file")
    if stat.st_size > MAX_BYTES:
        raise too_large(path, f"{stat.st_size:,} bytes", MAX_BYTES)


@contextmanager
def decoding_errors(path: Path, message: str) -> Iterator[None]:
    """Turn any error of a decoder into a `DataError`."""
    try:
        yield
    except DataError:
        raise
    except PermissionError as error:
        raise cannot_read(path, error) from None
    except Exception as error:  # decoders raise many kinds
        reason = (str(error).splitlines() or [""])[0].rstrip(".")[:100] or type(error).__name__
        raise DataError(printable(path), f"{message} ({reason})", NAME_ANOTHER, code="broken-image") from None


def too_large(path: Path, size: str, limit: int) -> DataError:
    return DataError(printable(path), f"has {size}; the maximum is {limit:,}", "Make it smaller", code="image-size")


def import_pillow() -> ModuleType:
    try:
        from PIL import Image
    except ImportError:
        raise UserError("images need Pillow, which is not installed", "Run `pip install seqloom[vision]`") from None
    return Image
