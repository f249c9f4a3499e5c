"""Pictures that a file carries in itself."""

from seqloom.views.picture import Picture, pixels, thumbnail


def test_only_small_pictures_are_trusted() -> None:
    good = Picture(1, 1, b"\x01\x02\x03").uri
    assert thumbnail(good) == good
    for other in ("https://a.b/c.png", good + '" onload="x', "data:image/svg+xml;base64,AAAA", good + 200_000 * "A", 3):
        assert thumbnail(other) == ""
    array = pixels(good)
    assert array is not None
    assert array.tolist() == [[[1, 2, 3]]]
    assert pixels("data:image/png;base64,iVBORw0KGgo=") is None
    assert pixels("") is None
    assert pixels(Picture(600, 600, bytes(3 * 600 * 600)).uri) is None
