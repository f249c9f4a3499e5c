"""One picture many times as SVG, each time light where a word looked."""

import hashlib

from seqloom.views.element import element, label, text, width_of
from seqloom.views.figure import Panels
from seqloom.views.numbers import short
from seqloom.views.text import clip, one_line

WIDE, GAP, NAME = 120, 12, 20  # pixels: a panel, between two, and for a name above
VEIL = 0.82  # how dark a region without weight is


def panels_width(panels: Panels) -> int:
    """How wide the panels want to be, in pixels: at most seven in a row."""
    return min(len(_labels(panels)), 7) * (WIDE + GAP) - GAP if panels.names else WIDE


def draw_panels(panels: Panels, width: int) -> tuple[int, str]:
    """The height of the drawing, and what stands in it: the picture as it is, and once more for each name."""
    labels = _labels(panels)
    beside = max((width + GAP) // (WIDE + GAP), 1)
    tall = _tall(panels)
    picture, shown = _picture(panels, tall)
    first = len(labels) - len(panels.names)  # 1 where the picture itself comes first
    parts = [picture]
    for index, name in enumerate(labels):
        x, y = (WIDE + GAP) * (index % beside), (NAME + tall + GAP) * (index // beside)
        letters = max(round(WIDE / max(width_of(name), 1) * len(name)), 1)
        words = label(clip(name, letters), 0, 13, class_="strong" if index >= first else "")
        inside = _regions(panels, index - first, tall) if index >= first else ""
        parts.append(element("g", words, shown, inside, transform=f"translate({x} {y})"))
    return (NAME + tall + GAP) * -(-len(labels) // beside), "".join(parts)


def _labels(panels: Panels) -> list[str]:
    return ["picture"] * (panels.picture is not None) + [one_line(name) for name in panels.names]


def _tall(panels: Panels) -> int:
    rows, columns = panels.shape
    down, across = (panels.picture.height, panels.picture.width) if panels.picture else (rows, columns)
    return min(max(round(WIDE * down / max(across, 1)), 12), 3 * WIDE)


def _picture(panels: Panels, tall: int) -> tuple[str, str]:
    """The picture, once; and what shows it again."""
    if panels.picture is None:
        return "", ""
    uri = panels.picture.uri
    name = f"picture-{hashlib.sha256(uri.encode()).hexdigest()[:12]}"
    few = {"style": "image-rendering:pixelated"} if panels.picture.width < WIDE else {}
    size = {"width": WIDE, "height": tall}
    image = element("image", id=name, href=uri, preserveAspectRatio="none", **size, **few)
    return element("defs", image), element("use", href=f"#{name}", y=NAME)


def _regions(panels: Panels, panel: int, tall: int) -> str:
    """A veil over the picture, thin where the weight is large; without a picture, the weights themselves."""
    rows, columns = panels.shape
    squares = []
    for row, weights in enumerate(panels.weights[panel]):
        for column, weight in enumerate(weights):
            light = panels.light(panel, row, column)
            strength = VEIL * (1 - light) if panels.picture else 0.04 + 0.96 * light
            where = f"{one_line(panels.names[panel])}, row {row + 1}, column {column + 1}: {short(weight)}"
            squares.append(
                element(
                    "rect",
                    element("title", text(where)),
                    x=WIDE * column / columns,
                    y=NAME + tall * row / rows,
                    width=WIDE / columns,
                    height=tall / rows,
                    class_="cell crisp veil" if panels.picture else "cell crisp f1",
                    fill_opacity=f"{strength:.3f}",
                )
            )
    return "".join(squares)
