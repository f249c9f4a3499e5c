"""Small images: pixels to PNG, and the thumbnails that a run's files hold as data URIs."""

import base64
import re
import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING

from seqloom.core.problem import ArgumentError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Picture:
    """Rows of pixels from the top, three bytes per pixel: red, green, blue.

    >>> Picture(1, 2, bytes([255, 0, 0, 0, 0, 255])).png()[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """

    height: int
    width: int
    pixels: bytes

    def __post_init__(self) -> None:
        if min(self.height, self.width) < 1 or len(self.pixels) != 3 * self.height * self.width:
            expected = f"3 bytes for each of {self.height} times {self.width} pixels"
            raise ArgumentError("Picture", "pixels", f"{len(self.pixels)} bytes", expected)

    def png(self) -> bytes:
        line = 3 * self.width
        # the 0 before each row selects the filter "none"
        rows = b"".join(b"\0" + self.pixels[start : start + line] for start in range(0, len(self.pixels), line))
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)  # 8 bits per channel, RGB
        chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
        sizes = [(struct.pack(">I", len(data)), struct.pack(">I", zlib.crc32(name + data))) for name, data in chunks]
        parts = [size + name + data + crc for (size, crc), (name, data) in zip(sizes, chunks, strict=True)]
        return b"\x89PNG\r\n\x1a\n" + b"".join(parts)

    @cached_property
    def uri(self) -> str:
        """The image as a data URI."""
        return "data:image/png;base64," + base64.b64encode(self.png()).decode()


_URI = re.compile(r"data:image/(?:png|jpeg);base64,([A-Za-z0-9+/]+={0,2})")
MAX_CHARACTERS, MAX_PIXELS = 128 * 2**10, 512 * 512


def valid_thumbnail(value: object) -> str:
    """The value if it is the data URI of a small PNG or JPEG; else an empty text.

    >>> valid_thumbnail("data:image/png;base64,iVBORw0KGgo="), valid_thumbnail("https://example.org/a.png")
    ('data:image/png;base64,iVBORw0KGgo=', '')
    """
    return value if isinstance(value, str) and len(value) <= MAX_CHARACTERS and _URI.fullmatch(value) else ""


def thumbnail_pixels(uri: str) -> "NDArray[np.uint8] | None":
    """The bytes [height, width, 3] of a thumbnail; None if it is broken, or Pillow is not installed."""
    match = _URI.fullmatch(uri)
    if match is None:
        return None
    try:
        import numpy as np
        from PIL import Image
    except ImportError:
        return None
    try:
        with Image.open(BytesIO(base64.b64decode(match[1])), formats=("PNG", "JPEG")) as image:
            if image.width * image.height > MAX_PIXELS:
                return None
            return np.array(image.convert("RGB"), dtype=np.uint8)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
