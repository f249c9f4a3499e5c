"""Pictures as PNG files."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from seqloom.core.problem import ArgumentError
from seqloom.views.picture import Picture, thumbnail_pixels, valid_thumbnail


@given(height=st.integers(1, 5), width=st.integers(1, 5), data=st.data())
def test_pillow_reads_the_same_pixels(height: int, width: int, data: st.DataObject) -> None:
    size = 3 * height * width
    pixels = data.draw(st.binary(min_size=size, max_size=size))
    with Image.open(BytesIO(Picture(height, width, pixels).png())) as image:
        assert (image.format, image.mode, image.size) == ("PNG", "RGB", (width, height))
        assert image.tobytes() == pixels


@pytest.mark.parametrize(("height", "width", "pixels"), [(1, 2, bytes(5)), (0, 2, b"")])
def test_a_picture_needs_three_bytes_per_pixel(height: int, width: int, pixels: bytes) -> None:
    with pytest.raises(ArgumentError, match="expected 3 bytes for each"):
        Picture(height, width, pixels)


def test_only_small_png_thumbnails_are_accepted() -> None:
    good = Picture(1, 1, b"\x01\x02\x03").uri
    assert valid_thumbnail(good) == good
    for other in ("https://a.b/c.png", good + '" onload="x', "data:image/svg+xml;base64,AAAA", good + 200_000 * "A", 3):
        assert valid_thumbnail(other) == ""
    array = thumbnail_pixels(good)
    assert array is not None
    assert array.tolist() == [[[1, 2, 3]]]
    assert thumbnail_pixels("data:image/png;base64,iVBORw0KGgo=") is None
    assert thumbnail_pixels("") is None
    assert thumbnail_pixels(Picture(600, 600, bytes(3 * 600 * 600)).uri) is None
