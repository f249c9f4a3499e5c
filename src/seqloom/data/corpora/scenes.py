"""Coloured shapes drawn with numpy, edges smoothed: how much of a pixel a shape covers is its colour's share there.

A shape is a function of where a pixel's centre lies, (x, y) from the shape's own centre in half-sides (x to the right,
y down), and says how far outside that is; inside is less than 0. Each fills its box, from −1 to 1 both ways.
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


def circle(x: Plane, y: Plane) -> Plane:
    """√(x² + y²) ≤ 1"""
    outside: Plane = np.hypot(x, y) - 1
    return outside


def ring(x: Plane, y: Plane) -> Plane:
    """0.5 ≤ √(x² + y²) ≤ 1"""
    outside: Plane = np.abs(np.hypot(x, y) - 0.75) - 0.25
    return outside


def square(x: Plane, y: Plane) -> Plane:
    """|x| ≤ 1 and |y| ≤ 1"""
    outside: Plane = np.maximum(np.abs(x), np.abs(y)) - 1
    return outside


def triangle(x: Plane, y: Plane) -> Plane:
    """Standing on its side: y ≤ 1, and 2 |x| ≤ y + 1 below the tip at (0, −1)"""
    outside: Plane = np.maximum(y - 1, (2 * np.abs(x) - y - 1) / 5**0.5)
    return outside


def cross(x: Plane, y: Plane) -> Plane:
    """Two bars, a third as thick as they are long"""
    short, long = np.minimum(np.abs(x), np.abs(y)), np.maximum(np.abs(x), np.abs(y))
    outside: Plane = np.maximum(short - 1 / 3, long - 1)
    return outside


SHAPES: dict[str, Shape] = {"circle": circle, "square": square, "triangle": triangle, "cross": cross, "ring": ring}


class Figure(NamedTuple):
    """A shape in its place: the centre and half of the side of its box, as shares of the image's side; red, green and
    blue, each from 0 to 1."""

    shape: str
    x: float
    y: float
    half: float
    colour: tuple[float, float, float]


def paint(image: Float[ndarray, "3 size size"], figure: Figure) -> None:
    """Draw a shape over what is there, in place.

    >>> image = np.zeros((3, 4, 4))
    >>> paint(image, Figure("square", x=0.5, y=0.5, half=0.25, colour=(1.0, 0.0, 0.0)))
    >>> image[0].astype(int).tolist()
    [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    """
    side = image.shape[1]
    centres = (np.arange(side) + 0.5) / side
    x, y = np.meshgrid((centres - figure.x) / figure.half, (centres - figure.y) / figure.half)
    outside = SHAPES[figure.shape](x, y) * figure.half * side  # in pixels; half a pixel either way is the smooth edge
    covered = np.clip(0.5 - outside, 0, 1)
    image += covered * (np.array(figure.colour)[:, None, None] - image)


def in_bytes(image: Float[ndarray, "3 size size"]) -> UInt8[ndarray, "3 size size"]:
    """From 0 to 1, to 0 to 255."""
    pixels: UInt8[ndarray, "3 size size"] = np.rint(np.clip(image, 0, 1) * 255).astype(np.uint8)
    return pixels


NAME = "scenes"
OBJECTS, MOST_OBJECTS, SCENES, MOST_SCENES = 2, 3, 6000, 1_000_000
SIDE = 48  # pixels, unless said
COLOURS = {
    "red": (0.85, 0.12, 0.12),
    "orange": (0.98, 0.55, 0.10),
    "yellow": (0.95, 0.90, 0.20),
    "green": (0.15, 0.65, 0.25),
    "blue": (0.15, 0.30, 0.90),
    "purple": (0.60, 0.20, 0.75),
}
HALVES = {"small": (0.08, 0.095), "large": (0.135, 0.155)}  # of a box's side, as shares of the image's
GAP = 0.025  # between two boxes, at least
CLEAR = 0.05  # how much further along than across the next shape lies, at least: no relation is in doubt
RELATIONS = ("left of", "above")
SHADE = 0.02  # how far a colour may be from its name's, and the deviation of a pixel's noise


class Box(NamedTuple):
    """Where an object is, as shares of the image's height and width, from the top left corner.

    >>> Box(0.25, 0.0, 0.5, 1.0).pixels(48)
    (12, 0, 24, 48)
    """

    top: float
    left: float
    bottom: float
    right: float

    def pixels(self, side: int = SIDE) -> tuple[int, int, int, int]:
        """Of an image of this size: the first row and column that the object touches, and those after its last."""
        top, left, bottom, right = (share * side for share in self)
        return max(0, floor(top)), max(0, floor(left)), min(side, ceil(bottom)), min(side, ceil(right))


class Thing(NamedTuple):
    """An object of a scene: what is said of it, and how it is drawn."""

    size: str
    colour: str
    figure: Figure

    @property
    def words(self) -> tuple[str, ...]:
        """The noun is the last."""
        return "a", self.size, self.colour, self.figure.shape

    @property
    def box(self) -> Box:
        _, x, y, half, _ = self.figure
        return Box(y - half, x - half, y + half, x + half)


@dataclass(frozen=True)
class Scene:
    """Things in the order in which they are named, and how each lies to the next.

    >>> scene, caption = next(captioned(seed=5, length=2, examples=1)).values
    >>> scene.caption
    'a large green ring left of a small green triangle'
    >>> {scene.caption.split()[word]: box.pixels(48) for word, box in scene.boxes.items()}
    {'ring': (5, 1, 20, 16), 'triangle': (8, 21, 18, 31)}
    >>> scene.image(48).shape
    (3, 48, 48)
    """

    number: int  # from 1
    things: tuple[Thing, ...]
    relation: str
    noise: tuple[int, ...]  # the seed of the background

    @property
    def caption(self) -> str:
        """The only right one."""
        return f" {self.relation} ".join(" ".join(thing.words) for thing in self.things)

    @property
    def boxes(self) -> dict[int, Box]:
        """For each noun, by the number of its word in the caption (from 0), where what it names is."""
        apart = 4 + len(self.relation.split())
        return {3 + apart * location: thing.box for location, thing in enumerate(self.things)}

    def image(self, side: int = SIDE) -> UInt8[ndarray, "3 side side"]:
        """Drawn at this size: on a grey that brightens to one side, all with a little noise."""
        random = np.random.RandomState(self.noise)  # whose numbers are promised to stay what they are
        level, slope_y, slope_x = random.uniform([0.3, -0.2, -0.2], [0.7, 0.2, 0.2])
        across = (np.arange(side) + 0.5) / side - 0.5
        image = np.tile(level + slope_y * across[:, None] + slope_x * across, (3, 1, 1))
        for thing in self.things:
            paint(image, thing.figure)
        return in_bytes(image + SHADE * random.standard_normal(image.shape))


def captioned(seed: int, length: int | None, examples: int | None) -> Iterator[Record]:
    """Scenes with their captions.

    Each number of things up to `length` is as likely as any other, and no two scenes are drawn alike.
    """
    most, wanted = length or OBJECTS, examples or SCENES
    if most > MOST_OBJECTS:
        raise UserError(
            f"{KeyName('data.corpus_length')} is {most}, and a scene has room for {MOST_OBJECTS} objects",
            "Ask for fewer",
        )
    if wanted > MOST_SCENES:
        raise UserError(
            f"{KeyName('data.examples')} is {wanted}, and the corpus scenes has up to {MOST_SCENES}", "Ask for fewer"
        )
    random = Random(seed)
    scenes = (arranged(random, number, random.randint(1, most), seed) for number in range(1, wanted + 1))
    return (Record((scene, scene.caption), Location(NAME, scene.number)) for scene in scenes)


def arranged(random: Random, number: int, count: int, seed: int) -> Scene:
    """So many things, one after another along one axis: from left to right, or from the top down."""
    sizes = [random.choice(list(HALVES)) for _ in range(count)]
    halves = [random.uniform(*HALVES[size]) for size in sizes]
    along = spaced(random, halves)
    across = [random.uniform(halves[0], 1 - halves[0])]
    for before in range(count - 1):
        half, reach = halves[before + 1], along[before + 1] - along[before] - CLEAR
        across.append(random.uniform(max(half, across[-1] - reach), min(1 - half, across[-1] + reach)))
    relation = random.choice(RELATIONS)
    locations = zip(along, across, strict=True) if relation == "left of" else zip(across, along, strict=True)
    things = []
    for size, half, (x, y) in zip(sizes, halves, locations, strict=True):
        colour, shape = random.choice(list(COLOURS)), random.choice(list(SHAPES))
        red, green, blue = (random.uniform(share - SHADE, share + SHADE) for share in COLOURS[colour])
        things.append(Thing(size, colour, Figure(shape, x, y, half, (red, green, blue))))
    return Scene(number, tuple(things), relation, (seed >> 32, seed & 0xFFFFFFFF, number))


def spaced(random: Random, halves: list[float]) -> list[float]:
    """Centres of boxes in a row between 0 and 1, of which no two touch; what room is left is shared out at random."""
    room = 1 - 2 * sum(halves) - GAP * (len(halves) - 1)
    starts = sorted(random.uniform(0, room) for _ in halves)
    before = [sum(halves[:location]) * 2 + GAP * location for location in range(len(halves))]
    return [start + taken + half for start, taken, half in zip(starts, before, halves, strict=True)]


def attended(weights: Float[ndarray, "rows columns"], box: Box) -> bool:
    """Whether attention over a grid of regions is on an object: the region of the greatest weight overlaps its box.

    A region is its own cell of the grid, from row / rows to (row + 1) / rows down and likewise across, and no pixel
    beyond it, though the network that made its vector saw some; to touch at an edge is not enough.

    >>> weights = np.array([[0.1, 0.2], [0.6, 0.1]])
    >>> attended(weights, Box(0.6, 0.3, 0.9, 0.7)), attended(weights, Box(0.0, 0.3, 0.5, 0.7))
    (True, False)
    """
    rows, columns = map(int, weights.shape)
    row, column = divmod(int(np.argmax(weights)), columns)
    down = box.top * rows < row + 1 and box.bottom * rows > row
    return down and box.left * columns < column + 1 and box.right * columns > column
