"""Drawn scenes: what the caption says is what is drawn, where the boxes say; one caption is right."""

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
def test_a_shape_fills_as_much_of_its_box_as_geometry_says(shape: str, share: float) -> None:
    assert coverage(shape) == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_stays_in_its_box_and_reaches_all_its_sides(shape: str) -> None:
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
def test_things_lie_as_the_caption_says(seed: int, length: int) -> None:
    for scene in scenes(seed, length, 20):
        assert 1 <= len(scene.objects) <= length
        for one, other in pairwise(scene.objects):
            down, across = other.figure.y - one.figure.y, other.figure.x - one.figure.x
            if scene.relation == "above":
                assert down > abs(across)
                assert other.box.top - one.box.bottom >= GAP - 1e-9
            else:
                assert across > abs(down)
                assert other.box.left - one.box.right >= GAP - 1e-9
        for thing in scene.objects:
            assert min(thing.box) >= -1e-9
            assert max(thing.box) <= 1 + 1e-9


def test_the_words_of_a_caption_and_the_boxes_of_its_nouns() -> None:
    for scene in scenes():
        words = scene.caption.split()
        for (number, box), thing in zip(scene.boxes.items(), scene.objects, strict=True):
            assert words[number - 3 : number + 1] == ["a", thing.size, thing.color, thing.figure.shape]
            assert box == thing.box
            large = box.bottom - box.top > 0.23
            assert large == (thing.size == "large")
        assert sum(word in SHAPES for word in words) == len(scene.objects)


@pytest.mark.parametrize("side", [SIDE, 64])
def test_what_is_drawn_in_a_box_has_the_colour_that_is_named(side: int) -> None:
    for scene in scenes(examples=100):
        image = scene.image(side).astype(float) / 255
        assert image.shape == (3, side, side)
        for thing in scene.objects:
            top, left, bottom, right = thing.box.pixels(side)
            inside = image[:, top:bottom, left:right].reshape(3, -1)
            spread = inside.max(axis=0) - inside.min(axis=0)
            most = inside[:, spread > 0.6 * spread.max()].mean(axis=1)  # gray has no color
            distance = {name: np.abs(most - color).max() for name, color in COLORS.items()}
            assert min(distance, key=distance.__getitem__) == thing.color


def test_outside_of_all_boxes_there_is_only_grey() -> None:
    for scene in scenes(examples=50):
        image = scene.image(SIDE).astype(int)
        for thing in scene.objects:
            top, left, bottom, right = thing.box.pixels(SIDE)
            image[:, top:bottom, left:right] = 0
        assert (image.max(axis=0) - image.min(axis=0)).max() < 50


def test_a_seed_says_all_and_another_says_something_else() -> None:
    first, again, other = scenes(1), scenes(1), scenes(2)
    assert first == again
    assert np.array_equal(first[3].image(), again[3].image())
    assert [scene.caption for scene in first] != [scene.caption for scene in other]
    assert first[:50] == scenes(1, 3, 50)
    assert [scene.number for scene in first] == list(range(1, 201))
    shown = {scene.image(16).tobytes() for scene in first + other}
    assert len(shown) == 400


def test_every_word_is_used_and_every_number_of_things() -> None:
    several = scenes(examples=500)
    said = {word for scene in several for word in scene.caption.split()}
    assert said == {"a", "large", "small", "left", "of", "above", *COLORS, *SHAPES}
    assert {len(scene.objects) for scene in several} == {1, 2, 3}
    assert {len(scene.objects) for (scene, _), _ in captioned(1, None, 100)} == {1, 2}
    assert sum(1 for _ in captioned(1, 1, None)) == 6000


def test_too_much_is_refused() -> None:
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
