"""Drawn scenes: the image has the objects of the caption, in their boxes."""

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.core.problem import UserError
from seqloom.data.corpora.scenes import COLORS, GAP, SHAPES, SIDE, Box, Figure, Scene, attended, captioned, paint
from seqloom.data.images import read_image, write_png


def scenes(seed: int = 1, length: int | None = 3, examples: int = 200) -> list[Scene]:
    return [scene for (scene, _), _ in captioned(seed, length, examples)]


def coverage(shape: str, side: int = 96) -> float:
    """The share of its box that a shape fills."""
    image = np.zeros((3, side, side))
    paint(image, Figure(shape, 0.5, 0.5, 0.25, (1.0, 1.0, 1.0)))
    return float(image[0].sum()) / (side / 2) ** 2


@pytest.mark.parametrize(
    ("shape", "share"),
    [("circle", np.pi / 4), ("ring", np.pi / 4 * 0.75), ("square", 1), ("triangle", 0.5), ("cross", 5 / 9)],
)
def test_a_shape_covers_its_share_of_its_box(shape: str, share: float) -> None:
    assert coverage(shape) == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_touches_all_sides_of_its_box(shape: str) -> None:
    image = np.zeros((3, 64, 64))
    paint(image, Figure(shape, 0.5, 0.5, 0.25, (1.0, 1.0, 1.0)))
    rows, columns = np.nonzero(image[0] > 0.25)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (16, 47, 16, 47)


def test_edges_are_smooth() -> None:
    image = np.zeros((3, 32, 32))
    paint(image, Figure("circle", 0.5, 0.5, 0.3, (1.0, 1.0, 1.0)))
    between = (image[0] > 0.05) & (image[0] < 0.95)
    assert 20 < between.sum() < 120


@settings(max_examples=20)
@given(seed=st.integers(0, 2**63 - 1), length=st.integers(1, 3))
def test_objects_have_the_relation_of_the_caption(seed: int, length: int) -> None:
    for scene in scenes(seed, length, 20):
        assert 1 <= len(scene.objects) <= length
        for first, second in pairwise(scene.objects):
            down, across = second.figure.y - first.figure.y, second.figure.x - first.figure.x
            if scene.relation == "above":
                assert down > abs(across)
                assert second.box.top - first.box.bottom >= GAP - 1e-9
            else:
                assert across > abs(down)
                assert second.box.left - first.box.right >= GAP - 1e-9
        for item in scene.objects:
            assert min(item.box) >= -1e-9
            assert max(item.box) <= 1 + 1e-9


def test_nouns_of_a_caption_have_their_boxes() -> None:
    for scene in scenes():
        words = scene.caption.split()
        for (number, box), item in zip(scene.boxes.items(), scene.objects, strict=True):
            assert words[number - 3 : number + 1] == ["a", item.size, item.color, item.figure.shape]
            assert box == item.box
            large = box.bottom - box.top > 0.23
            assert large == (item.size == "large")
        assert sum(word in SHAPES for word in words) == len(scene.objects)


@pytest.mark.parametrize("side", [SIDE, 64])
def test_a_box_has_the_color_of_the_caption(side: int) -> None:
    for scene in scenes(examples=100):
        image = scene.image(side).astype(float) / 255
        assert image.shape == (3, side, side)
        for item in scene.objects:
            top, left, bottom, right = item.box.pixels(side)
            inside = image[:, top:bottom, left:right].reshape(3, -1)
            spread = inside.max(axis=0) - inside.min(axis=0)
            mean_color = inside[:, spread > 0.6 * spread.max()].mean(axis=1)  # gray has no color
            distance = {name: np.abs(mean_color - color).max() for name, color in COLORS.items()}
            assert min(distance, key=distance.__getitem__) == item.color


def test_pixels_outside_all_boxes_are_gray() -> None:
    for scene in scenes(examples=50):
        image = scene.image(SIDE).astype(int)
        for item in scene.objects:
            top, left, bottom, right = item.box.pixels(SIDE)
            image[:, top:bottom, left:right] = 0
        assert (image.max(axis=0) - image.min(axis=0)).max() < 50


def test_scenes_depend_on_the_seed() -> None:
    first, again, other = scenes(1), scenes(1), scenes(2)
    assert first == again
    assert np.array_equal(first[3].image(), again[3].image())
    assert [scene.caption for scene in first] != [scene.caption for scene in other]
    assert first[:50] == scenes(1, 3, 50)
    assert [scene.number for scene in first] == list(range(1, 201))
    images = {scene.image(16).tobytes() for scene in first + other}
    assert len(images) == 400


def test_every_word_and_every_number_of_objects_occurs() -> None:
    many_scenes = scenes(examples=500)
    words = {word for scene in many_scenes for word in scene.caption.split()}
    assert words == {"a", "large", "small", "left", "of", "above", *COLORS, *SHAPES}
    assert {len(scene.objects) for scene in many_scenes} == {1, 2, 3}
    assert {len(scene.objects) for (scene, _), _ in captioned(1, None, 100)} == {1, 2}
    assert sum(1 for _ in captioned(1, 1, None)) == 6000


def test_too_many_objects_or_examples_are_refused() -> None:
    with pytest.raises(UserError, match=r"data\.corpus_length is 4, but a scene has at most 3 objects"):
        captioned(1, 4, None)
    with pytest.raises(UserError, match=r"data\.examples is 1000001"):
        captioned(1, None, 1_000_001)


@given(row=st.integers(0, 5), column=st.integers(0, 5), edges=st.lists(st.integers(0, 48), min_size=4, max_size=4))
def test_attention_is_on_a_box_if_its_strongest_cell_shares_a_pixel_with_it(
    row: int, column: int, edges: list[int]
) -> None:
    top, bottom = sorted(edges[:2])
    left, right = sorted(edges[2:])
    weights = np.full((6, 6), 0.01)
    weights[row, column] = 0.65
    cell = set(product(range(8 * row, 8 * row + 8), range(8 * column, 8 * column + 8)))
    shared = cell & set(product(range(top, bottom), range(left, right)))
    if top < bottom and left < right:
        assert attended(weights, Box(top / 48, left / 48, bottom / 48, right / 48)) == bool(shared)


def test_a_scene_saved_as_a_file_reads_back(tmp_path: Path) -> None:
    image = scenes(examples=1)[0].image(SIDE)
    write_png(tmp_path / "scene.png", image)
    assert np.array_equal(read_image(tmp_path / "scene.png", SIDE), image)
