"""Image files become arrays: upright, square, in color; a broken or large file is refused."""

import builtins
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy import ndarray
from PIL import Image

from seqloom.core.problem import DataError, UserError
from seqloom.data import images
from seqloom.data.images import normalize_images, read_features, read_image, read_image_or_features

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 128, 0), (0, 0, 255), (255, 255, 255)


def halves(width: int = 64, height: int = 64) -> Image.Image:
    """Red above, blue below."""
    image = Image.new("RGB", (width, height), RED)
    image.paste(BLUE, (0, height // 2, width, height))
    return image


def close(pixel: ndarray, color: tuple[int, int, int], within: int = 12) -> bool:
    return bool(np.abs(pixel.astype(int) - color).max() <= within)


def refusal(path: Path | str, size: int = 8) -> str:
    with pytest.raises(DataError) as error:
        read_image_or_features(path, size)
    return str(error.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "bmp", "gif"])
def test_every_format_is_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"image.{suffix}"
    halves().save(path)
    image = read_image(path, 16)
    assert image.shape == (3, 16, 16)
    assert image.dtype == np.uint8
    assert image.flags.c_contiguous
    assert close(image[:, 2, 8], RED)
    assert close(image[:, 13, 8], BLUE)


def test_the_format_is_recognized_by_the_content(tmp_path: Path) -> None:
    halves().save(tmp_path / "photo.png")
    (tmp_path / "photo.png").rename(tmp_path / "photo.jpg")
    assert close(read_image(tmp_path / "photo.jpg", 8)[:, 0, 0], RED)


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK", "YCbCr", "I;16"])
def test_every_mode_is_converted_to_rgb(tmp_path: Path, mode: str) -> None:
    gray = Image.new("L", (8, 8), 255)
    gray.paste(0, (0, 4, 8, 8))
    path = tmp_path / ("image.jpg" if mode in ("CMYK", "YCbCr") else "image.png")
    if mode == "I;16":
        Image.fromarray(np.asarray(gray).astype(np.uint16) * 257).save(path)
    else:
        gray.convert("RGB").convert(mode).save(path, quality=100) if path.suffix == ".jpg" else gray.convert(mode).save(
            path
        )
    image = read_image(path, 8)
    assert close(image[:, 1, 4], WHITE)
    assert close(image[:, 6, 4], (0, 0, 0))


def test_sixteen_bit_gray_is_scaled(tmp_path: Path) -> None:
    Image.fromarray(np.full((8, 8), 128 * 256, dtype=np.uint16)).save(tmp_path / "gray.png")
    assert close(read_image(tmp_path / "gray.png", 8)[:, 4, 4], (128, 128, 128), within=1)


@pytest.mark.parametrize("suffix", ["png", "webp", "gif"])
def test_transparent_pixels_become_white(tmp_path: Path, suffix: str) -> None:
    image = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    image.paste((*BLUE, 255), (0, 4, 8, 8))
    image.save(tmp_path / f"clear.{suffix}", lossless=True)
    pixels = read_image(tmp_path / f"clear.{suffix}", 8)
    assert close(pixels[:, 1, 4], WHITE)
    assert close(pixels[:, 6, 4], BLUE)


def test_half_transparent_pixels_become_half_white(tmp_path: Path) -> None:
    Image.new("RGBA", (8, 8), (255, 0, 0, 128)).save(tmp_path / "half.png")
    assert close(read_image(tmp_path / "half.png", 8)[:, 4, 4], (255, 127, 127), within=2)


@pytest.mark.parametrize(
    ("orientation", "top", "left"), [(1, RED, None), (3, BLUE, None), (6, None, BLUE), (8, None, RED)]
)
def test_an_image_is_upright(tmp_path: Path, orientation: int, top: Any, left: Any) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    halves().save(tmp_path / "turned.jpg", exif=exif, quality=95)
    image = read_image(tmp_path / "turned.jpg", 16)
    assert close(image[:, 2, 8] if top else image[:, 8, 2], top or left)


def test_the_first_frame_of_an_animation_is_used(tmp_path: Path) -> None:
    first, second = Image.new("RGB", (8, 8), RED), Image.new("RGB", (8, 8), BLUE)
    first.save(tmp_path / "moving.gif", save_all=True, append_images=[second])
    assert close(read_image(tmp_path / "moving.gif", 8)[:, 4, 4], RED)


@pytest.mark.parametrize("landscape", [True, False])
def test_an_image_is_cropped_to_its_central_square(tmp_path: Path, landscape: bool) -> None:
    image = Image.new("RGB", (90, 30) if landscape else (30, 90), GREEN)
    image.paste(RED, (30, 0, 60, 30) if landscape else (0, 30, 30, 60))
    image.save(tmp_path / "three.png")
    pixels = read_image(tmp_path / "three.png", 6)
    assert all(
        close(pixels[:, row, column], RED, within=32) for row in range(6) for column in range(6)
    )  # blurred edges


def test_resizing_averages(tmp_path: Path) -> None:
    checks = np.indices((64, 64)).sum(0) % 2 * 255
    Image.fromarray(checks.astype(np.uint8)).save(tmp_path / "checks.png")
    assert np.abs(read_image(tmp_path / "checks.png", 8).astype(int) - 127).max() < 16


def test_a_large_jpeg_is_read_as_a_small_one(tmp_path: Path) -> None:
    gradient = np.broadcast_to(np.linspace(0, 255, 800), (800, 800)).astype(np.uint8)
    Image.fromarray(gradient).save(tmp_path / "large.jpg", quality=95)
    Image.fromarray(gradient).save(tmp_path / "large.png")
    jpeg, png = (read_image(tmp_path / f"large.{suffix}", 16).astype(int) for suffix in ("jpg", "png"))
    assert np.abs(jpeg - png).max() <= 3


def test_bytes_are_normalized_to_floats() -> None:
    batch = np.array([0, 128, 255], dtype=np.uint8).reshape(1, 3, 1, 1)
    assert normalize_images(batch).dtype == np.float32
    assert np.allclose(normalize_images(batch).ravel(), [-2, 4 * (128 / 255 - 0.5), 2], atol=1e-6)


def test_a_file_that_is_no_image_is_refused(tmp_path: Path) -> None:
    text, empty, folder = tmp_path / "text.jpg", tmp_path / "empty.png", tmp_path / "folder.jpg"
    text.write_text("not an image")
    empty.touch()
    folder.mkdir()
    known = "JPEG, PNG, WEBP, BMP, GIF"
    assert refusal(text) == f"is not an image (its content is none of {known}). Name another file."
    assert refusal(empty) == f"is not an image (its content is none of {known}). Name another file."
    assert refusal(folder) == "is not a file. Name another file."
    assert refusal(tmp_path / "none.jpg") == "is not there. Check the name and the folder."
    assert refusal(text / "inside.jpg") == "is not there. Check the name and the folder."
    assert "is not a file name" in refusal("a\0b.jpg")
    assert "can't be read" in refusal(tmp_path / ("long" * 100))


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    assert refusal(tmp_path / "pipe.jpg") == "is not a file. Name another file."


def test_an_unsupported_format_is_refused(tmp_path: Path) -> None:
    halves().save(tmp_path / "page.tiff")
    assert refusal(tmp_path / "page.tiff").startswith("is not an image (its content is none of")


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "bmp", "gif"])
def test_a_truncated_or_damaged_file_is_read_or_refused(tmp_path: Path, suffix: str) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    complete, path = tmp_path / f"whole.{suffix}", tmp_path / f"broken.{suffix}"
    Image.fromarray(noise).save(complete)
    raw = complete.read_bytes()
    for end in range(0, len(raw), max(1, len(raw) // 12)):
        for damaged in (raw[:end], raw[:end] + b"\xff\x00\xff" + raw[end + 3 :]):
            path.write_bytes(damaged)
            with suppress(DataError):  # any other exception fails
                assert read_image(path, 8).shape == (3, 8, 8)
    path.write_bytes(raw[: len(raw) // 2])
    assert refusal(path).startswith("is not an image that can be read (")


def test_an_image_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.png"
    Image.new("1", (2000, 2000)).save(path)
    monkeypatch.setattr(images, "MAX_PIXELS", 3_999_999)
    assert refusal(path) == "has 4,000,000 pixels; the maximum is 3,999,999. Make it smaller."
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 3_000_000)  # Pillow warns beyond its own limit
    assert refusal(path).startswith("has 4,000,000 pixels")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1_000_000)  # and raises beyond twice its limit
    assert refusal(path).startswith("has far too many pixels")
    monkeypatch.setattr(images, "MAX_BYTES", 100)
    assert refusal(path).startswith(f"has {path.stat().st_size:,} bytes; the maximum is 100")


def test_without_pillow_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_module = builtins.__import__

    def import_without_pillow(name: str, *rest: Any, **options: Any) -> Any:
        if name.startswith("PIL"):
            raise ImportError(name)
        return import_module(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", import_without_pillow)
    with pytest.raises(UserError, match=r"pip install seqloom\[vision\]"):
        read_image(tmp_path / "photo.jpg", 8)


@given(
    values=arrays.arrays(
        st.sampled_from([np.float16, np.float32, np.float64, ">f4"]),
        arrays.array_shapes(min_dims=2, max_dims=3, max_side=4),
        elements=st.floats(-100, 100, width=16),
    ),
    order=st.sampled_from("CF"),
)
def test_features_read_back(tmp_path_factory: pytest.TempPathFactory, values: ndarray, order: Any) -> None:
    path = tmp_path_factory.mktemp("features") / "image.npy"
    np.save(path, np.array(values, order=order))
    features = read_image_or_features(path, 8)
    assert features.dtype == np.float32
    assert features.shape == (values.shape if values.ndim == 3 else (1, *values.shape))
    assert np.array_equal(features.ravel(), values.astype(np.float32).ravel())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones(3), "has shape [3] of float64, not [rows, columns, features] of real numbers"),
        (np.ones((2, 2), dtype=int), "has shape [2, 2] of int64"),
        (np.ones((1, 1, 1, 1)), "has shape [1, 1, 1, 1]"),
        (np.ones((0, 4)), "has shape [0, 4]"),
        (np.array([[1.0, np.nan]]), "has a value that is not finite in float32"),
        (np.array([[1e300]]), "has a value that is not finite in float32"),
        (np.array([["text"]]), "has shape [1, 1] of <U4"),
        (np.array([[{}]], dtype=object), "is not a NumPy array that can be read (Array can't be memory-mapped"),
    ],
)
def test_invalid_features_are_refused(tmp_path: Path, values: ndarray, message: str) -> None:
    np.save(tmp_path / "image.npy", values, allow_pickle=True)
    assert refusal(tmp_path / "image.npy").startswith(message)


def test_a_broken_file_of_features_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "image.npy"
    np.save(path, np.ones((4, 4)))
    raw = path.read_bytes()
    for broken in (
        b"",
        b"text",
        raw[:40],
        raw[:-8],
        raw.replace(b"(4, 4)", b"(4, 5)"),
    ):
        path.write_bytes(broken)
        assert refusal(path).startswith("is not a NumPy array that can be read (")
    path.write_bytes(raw)
    monkeypatch.setattr(images, "MAX_VALUES", 15)
    assert refusal(path) == "has 16 values; the maximum is 15. Make it smaller."


def test_features_are_recognized_by_the_name(tmp_path: Path) -> None:
    np.save(tmp_path / "image.npy", np.ones((2, 3, 4)))
    assert read_features(tmp_path / "image.npy").shape == (2, 3, 4)
    assert read_image_or_features(str(tmp_path / "image.npy"), 8).shape == (2, 3, 4)
