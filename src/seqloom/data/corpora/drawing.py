"""Coloured shapes drawn with numpy, edges smoothed: how much of a pixel a shape covers is its colour's share there.

A shape is a function of where a pixel's centre lies, (x, y) from the shape's own centre in half-sides (x to the right,
y down), and says how far outside that is; inside is less than 0. Each fills its box, from −1 to 1 both ways.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, UInt8
from numpy import ndarray

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
