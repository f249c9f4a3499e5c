"""One picture many times for a paper, each time light where a word looked."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from seqloom.views.figure import Panels
from seqloom.views.text import clip, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Plot

BESIDE = 6  # panels in a row
SIDE = 1.1  # inches
VEIL = 0.82  # how dark a region without weight is


def panels_size(panels: Panels) -> tuple[float, float]:
    """Width and height in inches."""
    count = len(panels.names) + (panels.picture is not None)
    return SIDE * min(max(count, 2), BESIDE), (SIDE + 0.2) * max(ceil(count / BESIDE), 1) + 0.4


def draw_panels(panels: Panels, plot: Plot) -> None:
    """The picture as it is, and once more for each name."""
    first = int(panels.picture is not None)
    count = len(panels.names) + first
    for index in range(count):
        axes = plot.add_subplot(ceil(count / BESIDE), min(count, BESIDE), index + 1)
        axes.set_axis_off()
        name = panels.names[index - first] if index >= first else "picture"
        axes.set_title(clip(one_line(name), 16), fontsize="small", color="black" if index >= first else "0.4", pad=3)
        if panels.picture is not None:
            _picture(panels, axes)
        if index >= first:
            _regions(panels, index - first, axes)


def _picture(panels: Panels, axes: Axes) -> None:
    import numpy as np

    picture = panels.picture
    assert picture is not None
    pixels = np.frombuffer(picture.pixels, np.uint8).reshape(picture.height, picture.width, 3)
    axes.imshow(pixels, extent=(0, picture.width, picture.height, 0))


def _regions(panels: Panels, panel: int, axes: Axes) -> None:
    import numpy as np

    rows, columns = panels.shape
    light = np.array([[panels.light(panel, row, column) for column in range(columns)] for row in range(rows)])
    if not light.size:
        return
    if panels.picture is None:
        axes.imshow(light, cmap="Blues", vmin=0, vmax=1)
        return
    veil = np.zeros((rows, columns, 4))
    veil[..., 3] = VEIL * (1 - light)
    axes.imshow(veil, extent=(0, panels.picture.width, panels.picture.height, 0), interpolation="nearest")
