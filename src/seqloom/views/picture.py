"""A small image as bytes, and as a PNG that a page can carry inside itself."""

import base64
import struct
import zlib
from dataclasses import dataclass
from functools import cached_property

from seqloom.spec.errors import ArgumentError


@dataclass(frozen=True)
class Picture:
    """Rows of pixels from the top, each pixel three bytes: red, green, blue.

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
        """The image as a PNG file, without loss."""
        line = 3 * self.width
        # a 0 before each row: as it is, not as a difference to the row above
        rows = b"".join(b"\0" + self.pixels[start : start + line] for start in range(0, len(self.pixels), line))
        kind = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)  # 8 bits a colour, three colours
        chunks = ((b"IHDR", kind), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in chunks)

    @cached_property
    def uri(self) -> str:
        """The image as an address that holds it."""
        return "data:image/png;base64," + base64.b64encode(self.png()).decode()


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
