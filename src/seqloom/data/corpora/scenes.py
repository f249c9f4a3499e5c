"""Drawn scenes of one or two colored shapes, large or small, on gray, each with a caption. Caption:
`a large red circle above a small blue square`. The shape further up or to the left is named first, so
that only one caption is correct. The length is the largest number of shapes in a scene (default: 2, at most 3), the
examples are scenes (default: 6,000).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, floor
from random import Random
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, UInt8
from numpy import ndarray

from seqloom.core.problem import KeyName, UserError
from seqloom.data.records import Location, Record

Plane = Float[ndarray, "size size"]
Shape = Callable[[Plane, Plane], Plane]
# The signed distance of a point (x, y) to a shape that fills the box from −1 to 1: x to the right, y down, < 0 inside.
SHAPES: dict[str, Shape] = {
    # √(x² + y²) ≤ 1
    "circle": lambda x, y: np.hypot(x, y) - 1,
    # |x| ≤ 1 and |y| ≤ 1
    "square": lambda x, y: np.maximum(np.abs(x), np.abs(y)) - 1,
    # y ≤ 1, and 2 |x| ≤ y + 1 below the tip at (0, −1)
    "triangle": lambda x, y: np.maximum(y - 1, (2 * np.abs(x) - y - 1) / 5**0.5),
    # two bars, a third as thick as they are long
    "cross": lambda x, y: np.maximum(np.minimum(np.abs(x), np.abs(y)) - 1 / 3, np.maximum(np.abs(x), np.abs(y)) - 1),
    # 0.5 ≤ √(x² + y²) ≤ 1
    "ring": lambda x, y: np.abs(np.hypot(x, y) - 0.75) - 0.25,
}


class Figure(NamedTuple):
    """A shape to draw: its center and half of the side of its box, as shares of the image's side; red, green and blue,
    each from 0 to 1."""

    shape: str
    x: float
    y: float
    half: float
    color: tuple[float, float, float]


def paint(image: Float[ndarray, "3 size size"], figure: Figure) -> None:
    """Draw a shape over an image, in place; a pixel at the edge gets the share of the color that the shape covers.

    >>> image = np.zeros((3, 4, 4))
    >>> paint(image, Figure("square", x=0.5, y=0.5, half=0.25, color=(1.0, 0.0, 0.0)))
    >>> image[0].astype(int).tolist()
    [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    """
    side = image.shape[1]
    centers = (np.arange(side) + 0.5) / side
    x, y = np.meshgrid((centers - figure.x) / figure.half, (centers - figure.y) / figure.half)
    distance = SHAPES[figure.shape](x, y) * figure.half * side  # in pixels; half a pixel either way is the smooth edge
    covered = np.clip(0.5 - distance, 0, 1)
    image += covered * (np.array(figure.color)[:, None, None] - image)


NAME = "scenes"
OBJECTS, MAX_OBJECTS, SCENES, MAX_SCENES = 2, 3, 6000, 1_000_000
SIDE = 48  # pixels, by default
COLORS = {
    "red": (0.85, 0.12, 0.12),
    "orange": (0.98, 0.55, 0.10),
    "yellow": (0.95, 0.90, 0.20),
    "green": (0.15, 0.65, 0.25),
    "blue": (0.15, 0.30, 0.90),
    "purple": (0.60, 0.20, 0.75),
}
HALVES = {"small": (0.08, 0.095), "large": (0.135, 0.155)}  # of a box's side, as shares of the image's
GAP = 0.025  # between two boxes, at least
CLEARANCE = 0.05  # the least by which the distance of two shapes along their relation exceeds that across it
RELATIONS = ("left of", "above")
SHADE = 0.02  # the most that a color may differ from COLORS; also the standard deviation of the noise


class Box(NamedTuple):
    """The position of an object, as shares of the image's height and width, from the top left corner.

    >>> Box(0.25, 0.0, 0.5, 1.0).pixels(48)
    (12, 0, 24, 48)
    """

    top: float
    left: float
    bottom: float
    right: float

    def pixels(self, side: int = SIDE) -> tuple[int, int, int, int]:
        """The first row and column that the object touches in an image of this size, and those after its last."""
        top, left, bottom, right = (share * side for share in self)
        return max(0, floor(top)), max(0, floor(left)), min(side, ceil(bottom)), min(side, ceil(right))


class SceneObject(NamedTuple):
    size: str
    color: str
    figure: Figure

    @property
    def words(self) -> tuple[str, ...]:
        """Its words in the caption; the noun is the last."""
        return "a", self.size, self.color, self.figure.shape

    @property
    def box(self) -> Box:
        _, x, y, half, _ = self.figure
        return Box(y - half, x - half, y + half, x + half)


@dataclass(frozen=True)
class Scene:
    """Objects in the order of the caption, the relation of each to the next, and the seed of the background.

    >>> scene, caption = next(captioned(seed=5, length=2, examples=1)).values
    >>> scene.caption
    'a large green ring left of a small green triangle'
    >>> {scene.caption.split()[word]: box.pixels(48) for word, box in scene.boxes.items()}
    {'ring': (5, 1, 20, 16), 'triangle': (8, 21, 18, 31)}
    >>> scene.image(48).shape
    (3, 48, 48)
    """

    number: int  # from 1
    objects: tuple[SceneObject, ...]
    relation: str
    noise: tuple[int, ...]

    @property
    def caption(self) -> str:
        return f" {self.relation} ".join(" ".join(scene_object.words) for scene_object in self.objects)

    @property
    def boxes(self) -> dict[int, Box]:
        """The box of each object, by the position of its noun in the caption (in words, from 0)."""
        distance = 4 + len(self.relation.split())
        return {3 + distance * number: scene_object.box for number, scene_object in enumerate(self.objects)}

    def image(self, side: int = SIDE) -> UInt8[ndarray, "3 side side"]:
        """The objects on a gray that brightens to one side, all with a little noise."""
        random = np.random.RandomState(self.noise)  # NumPy never changes its random numbers
        level, slope_y, slope_x = random.uniform([0.3, -0.2, -0.2], [0.7, 0.2, 0.2])
        across = (np.arange(side) + 0.5) / side - 0.5
        image = np.tile(level + slope_y * across[:, None] + slope_x * across, (3, 1, 1))
        for scene_object in self.objects:
            paint(image, scene_object.figure)
        image += SHADE * random.standard_normal(image.shape)
        pixels: UInt8[ndarray, "3 side side"] = np.rint(np.clip(image, 0, 1) * 255).astype(np.uint8)
        return pixels


def captioned(seed: int, length: int | None, examples: int | None) -> Iterator[Record]:
    """Scenes with their captions.

    Each number of objects up to `length` is equally likely, and no two scenes are drawn alike.
    """
    max_objects, count = length or OBJECTS, examples or SCENES
    if max_objects > MAX_OBJECTS:
        message = f"{KeyName('data.corpus_length')} is {max_objects}, but a scene has at most {MAX_OBJECTS} objects"
        raise UserError(message, "Lower it")
    if count > MAX_SCENES:
        message = f"{KeyName('data.examples')} is {count}, but the corpus scenes has at most {MAX_SCENES}"
        raise UserError(message, "Lower it")
    random = Random(seed)
    scenes = (random_scene(random, number, random.randint(1, max_objects), seed) for number in range(1, count + 1))
    return (Record((scene, scene.caption), Location(NAME, scene.number)) for scene in scenes)


def random_scene(random: Random, number: int, count: int, seed: int) -> Scene:
    """So many objects along one axis: from left to right, or from the top down."""
    sizes = [random.choice(list(HALVES)) for _ in range(count)]
    halves = [random.uniform(*HALVES[size]) for size in sizes]
    along = spread(random, halves)
    across = [random.uniform(halves[0], 1 - halves[0])]
    for before in range(count - 1):
        half, reach = halves[before + 1], along[before + 1] - along[before] - CLEARANCE
        across.append(random.uniform(max(half, across[-1] - reach), min(1 - half, across[-1] + reach)))
    relation = random.choice(RELATIONS)
    centers = zip(along, across, strict=True) if relation == "left of" else zip(across, along, strict=True)
    objects = []
    for size, half, (x, y) in zip(sizes, halves, centers, strict=True):
        color, shape = random.choice(list(COLORS)), random.choice(list(SHAPES))
        red, green, blue = (random.uniform(share - SHADE, share + SHADE) for share in COLORS[color])
        objects.append(SceneObject(size, color, Figure(shape, x, y, half, (red, green, blue))))
    return Scene(number, tuple(objects), relation, (seed >> 32, seed & 0xFFFFFFFF, number))


def spread(random: Random, halves: list[float]) -> list[float]:
    """Centers of boxes in a row between 0 and 1 that do not touch; the free space is distributed at random."""
    free = 1 - 2 * sum(halves) - GAP * (len(halves) - 1)
    starts = sorted(random.uniform(0, free) for _ in halves)
    before = [sum(halves[:number]) * 2 + GAP * number for number in range(len(halves))]
    return [start + taken + half for start, taken, half in zip(starts, before, halves, strict=True)]


def attended(weights: Float[ndarray, "rows columns"], box: Box) -> bool:
    """Whether attention over a grid of regions is on an object: the region of the greatest weight overlaps its box.

    A region is its cell of the grid, from row / rows to (row + 1) / rows down and likewise across, although the
    receptive field of its vector may be larger. A box that only touches an edge of the region does not overlap it.

    >>> weights = np.array([[0.1, 0.2], [0.6, 0.1]])
    >>> attended(weights, Box(0.6, 0.3, 0.9, 0.7)), attended(weights, Box(0.0, 0.3, 0.5, 0.7))
    (True, False)
    """
    rows, columns = map(int, weights.shape)
    row, column = divmod(int(np.argmax(weights)), columns)
    is_in_row = box.top * rows < row + 1 and box.bottom * rows > row
    return is_in_row and box.left * columns < column + 1 and box.right * columns > column
