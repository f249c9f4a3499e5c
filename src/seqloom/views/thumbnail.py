"""Small pictures that a file carries in itself: a page shows them, a figure needs their pixels."""

import re
from base64 import b64decode
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

URI = re.compile(r"data:image/(?:png|jpeg);base64,([A-Za-z0-9+/]+={0,2})")
LONGEST = 128 * 2**10  # characters
LARGEST = 512 * 512  # pixels


def thumbnail(value: object) -> str:
    """The data URI of a small PNG or JPEG; empty for anything else.

    >>> thumbnail("data:image/png;base64,iVBORw0KGgo="), thumbnail("https://example.org/a.png")
    ('data:image/png;base64,iVBORw0KGgo=', '')
    """
    return value if isinstance(value, str) and len(value) <= LONGEST and URI.fullmatch(value) else ""


def pixels(uri: str) -> "NDArray[np.uint8] | None":
    """Bytes [height, width, 3] of a thumbnail; None if it is broken, or Pillow is not there to read it."""
    found = URI.fullmatch(uri)
    if found is None:
        return None
    try:
        import numpy as np
        from PIL import Image
    except ImportError:
        return None
    try:
        with Image.open(BytesIO(b64decode(found[1])), formats=("PNG", "JPEG")) as image:
            if image.width * image.height > LARGEST:
                return None
            return np.array(image.convert("RGB"), dtype=np.uint8)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
