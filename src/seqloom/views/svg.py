"""Bars and heat maps as SVG."""

import hashlib

from seqloom.views.axis import drawable
from seqloom.views.figure import Bars, Curves, Drawing, Grid, Panels, describe
from seqloom.views.format import brief, clip, one_line, short
from seqloom.views.markup import element, label, text, width_of
from seqloom.views.svg_curves import draw_curves

LONGEST_NAME = 22
SLANT = 0.75  # of its length, what a name at 45 degrees takes across and up


def draw_bars(bars: Bars, width: int) -> tuple[int, str]:
    """The height of the drawing, and what stands in it: a row a bar."""
    names = [clip(one_line(name), LONGEST_NAME) for name, _ in bars.bars]
    values = [value if drawable(value, log=False) else 0.0 for _, value in bars.bars]
    left = max((width_of(name) for name in names), default=0.0) + 10
    right = width - max((width_of(short(value)) for _, value in bars.bars), default=0.0) - 10
    longest = max((abs(value) for value in values), default=0.0) or 1.0
    parts = [label(bars.unit, 0, 12)]
    for index, (name, value) in enumerate(zip(names, values, strict=True)):
        y, length = 24 + 21 * index, abs(value) / longest * (right - left)
        full, told = bars.bars[index][0], short(bars.bars[index][1])
        title = element("title", text(f"{one_line(full)}: {told}"))
        bar = element("rect", title, x=left, y=y, width=max(length, 1), height=15, rx=2, class_="cell f1")
        parts += [label(name, left - 7, y + 12, "end", "strong"), bar, label(told, left + length + 6, y + 12)]
    return 24 + 21 * len(names) + 4, "".join(parts)


def grid_width(grid: Grid) -> int:
    """How wide a heat map wants to be, in pixels."""
    left, cell = _left(grid), _cell(grid)
    return round(left + cell * len(grid.columns) + _overhang(grid, cell) + 4)


def draw_grid(grid: Grid, width: int) -> tuple[int, str]:
    """The height of the drawing, and what stands in it: a square a value, names at the left and above."""
    left, count = _left(grid), max(len(grid.columns), 1)
    cell = min((width - left - _overhang(grid, _cell(grid)) - 4) / count, 68)
    tall = min(cell, 44)
    names = _names(grid.columns)
    longest = max(map(width_of, names), default=0.0)
    upright = longest <= cell - 4
    size = min(tall - 1, 12.0)
    top = 44 if upright else 28 + longest * SLANT
    parts = [label(f"{grid.row_axis} ↓   {grid.column_axis} →", 0, 12)]
    for index, name in enumerate(_names(grid.rows)):
        y = top + tall * (index + 0.5) + size / 3
        parts.append(element("text", text(name), x=left - 7, y=y, text_anchor="end", style=f"font-size:{size:.1f}px"))
    for index, name in enumerate(names):
        x = left + cell * (index + 0.5)
        if upright:
            parts.append(label(name, x, top - 8, "middle"))
        else:  # at a slant, to be read with a tilted head at most
            turn = f"translate({x:.1f} {top - 6:.1f}) rotate(-45)"
            parts.append(element("text", text(name), transform=turn, style=f"font-size:{min(size, cell):.1f}px"))
    parts += [
        _square(grid, row, column, left + cell * column, top + tall * row, cell, tall)
        for row in range(len(grid.rows))
        for column in range(len(grid.columns))
    ]
    return round(top + tall * len(grid.rows) + 4), "".join(parts)


def _names(names: tuple[str, ...]) -> list[str]:
    return [clip(one_line(name), LONGEST_NAME) for name in names]


def _overhang(grid: Grid, cell: float) -> float:
    """How far names at a slant reach beyond the last column."""
    wide = [width_of(name) for name in _names(grid.columns)]
    if max(wide, default=0.0) <= cell - 4:
        return 8
    return max(8, *(one * SLANT - cell * (len(wide) - index - 0.5) for index, one in enumerate(wide)))


def _square(grid: Grid, row: int, column: int, x: float, y: float, wide: float, tall: float) -> str:
    value, shade = grid.values[row][column], grid.shade(row, column)
    special = grid.diagonal == "special" and row != column
    where = f"{grid.row_axis} {one_line(grid.rows[row])}, {grid.column_axis} {one_line(grid.columns[column])}"
    title = element("title", text(f"{where}: {short(value)}"))
    strength = 0.04 + 0.96 * shade
    gap = 2 if wide > 24 else 0.5
    square = element(
        "rect",
        title,
        x=x,
        y=y,
        width=wide - gap,
        height=tall - gap,
        rx=min(3, wide / 8),
        class_=f"cell f{2 if special else 1}",
        fill_opacity=f"{strength:.3f}",
    )
    if grid.cells == "shades":
        return square
    number = brief(value)
    size = min(12.0, 12 * (wide - 4) / width_of(number))
    if size < 8 or tall < 15 or (value == 0 and len(grid.rows) > 12):
        return square
    tone = "on-dark" if strength > 0.55 else "strong"
    middle = {"x": x + (wide - gap) / 2, "y": y + (tall - gap) / 2 + size / 3}
    style = {"text_anchor": "middle", "class_": f"{tone} under", "style": f"font-size:{size:.1f}px"}
    return square + element("text", text(number), **middle, **style)


def _left(grid: Grid) -> float:
    return max(map(width_of, _names(grid.rows)), default=0.0) + 10


def _cell(grid: Grid) -> int:
    count = len(grid.columns)
    if grid.cells == "shades":
        return 28 if count <= 20 else 22 if count <= 36 else 17
    return 68 if count <= 6 else 44 if count <= 12 else 30 if count <= 24 else 17


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


WIDTH = 460  # pixels, of curves and bars

# Okabe and Ito's colors, which most color-blind eyes distinguish; in the dark, lighter ones of the same hues.
LIGHT = ("#0072b2", "#d55e00", "#00815e", "#b0568a", "#a87400", "#3f8fc4")
DARK = ("#56b4e9", "#f0853a", "#2cc39a", "#dd94bd", "#e6b33a", "#8fc7ee")


def _colors(colors: tuple[str, ...], ink: str, muted: str, rule: str, paper: str) -> str:
    numbered = "".join(f"--c{number}:{color};" for number, color in enumerate(colors, 1))
    return f"{numbered}--warn:{colors[1]};--ink:{ink};--muted:{muted};--rule:{rule};--paper:{paper}"


LIGHT_COLORS = _colors(LIGHT, ink="#1c1e21", muted="#62676e", rule="#e2e2dc", paper="#fdfdfb")
DARK_COLORS = _colors(DARK, ink="#e4e4e0", muted="#9a9fa6", rule="#34373b", paper="#17191b")

STYLE = f"""
:root{{color-scheme:light dark;{LIGHT_COLORS}}}
@media (prefers-color-scheme:dark){{:root{{{DARK_COLORS}}}}}
.figure{{display:block;width:100%;height:auto;font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
font-variant-numeric:tabular-nums}}
.figure text{{fill:var(--muted)}} .figure .strong{{fill:var(--ink)}} .figure .on-dark{{fill:var(--paper)}}
.figure .under{{pointer-events:none}} .figure .veil{{fill:#000}}
.figure .crisp{{shape-rendering:crispEdges}}
.figure .rule{{stroke:var(--rule);stroke-width:1}}
.figure .line{{fill:none;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}}
.figure .reference{{fill:none;stroke:var(--muted);stroke-width:1.2;stroke-dasharray:3 4}}
.figure .note{{stroke:var(--muted);stroke-width:1;stroke-dasharray:2 3}}
.figure .warning{{fill:var(--warn);stroke:var(--paper);stroke-width:.5}}
.figure .probe line{{stroke:var(--muted);opacity:0}} .figure .probe rect{{fill:transparent}}
.figure .probe:hover line{{opacity:.6}} .figure .cell:hover{{stroke:var(--ink);stroke-width:1.5}}
""" + "".join(
    f".figure .s{number}{{stroke:var(--c{number})}} .figure .f{number}{{fill:var(--c{number})}}\n"
    for number in range(1, 7)
)


def draw(drawing: Drawing, width: int = WIDTH) -> str:
    """An `<svg>` for a page that has `STYLE`; `width` is in pixels at full size, and it shrinks with its place.

    >>> from seqloom.views.figure import Series
    >>> draw(Curves("Loss", (Series("training", ((0.0, 2.0), (1.0, 1.0))),), x="step", y="loss"))[:20]
    '<svg class="figure" '
    """
    height, inner = _inner(drawing, width)
    return element(
        "svg",
        element("title", text(drawing.title)),
        inner,
        class_="figure",
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=describe(drawing),
        style=f"max-width:{width}px",
    )


def alone(drawing: Drawing) -> str:
    """An SVG file: it brings its own style.

    >>> alone(Bars("Support", (("neg", 30.0),), unit="examples")).partition(" ")[0]
    '<svg'
    """
    width = width_wanted(drawing)
    height, inner = _inner(drawing, width)
    return element(
        "svg",
        element("title", text(describe(drawing))),
        f"<style>{STYLE}.figure{{width:{width + 24}px;max-width:100%;background:var(--paper)}}</style>",
        inner,
        xmlns="http://www.w3.org/2000/svg",
        class_="figure",
        viewBox=f"-12 -12 {width + 24} {height + 24}",
        width=width + 24,
        height=height + 24,
        role="img",
    )


def width_wanted(drawing: Drawing) -> int:
    """The width in pixels at which a drawing looks best."""
    match drawing:
        case Grid():
            return grid_width(drawing)
        case Panels():
            return panels_width(drawing)
        case _:
            return WIDTH


def _inner(drawing: Drawing, width: int) -> tuple[int, str]:
    match drawing:
        case Curves():
            return draw_curves(drawing, width)
        case Bars():
            return draw_bars(drawing, width)
        case Grid():
            return draw_grid(drawing, width)
        case Panels():
            return draw_panels(drawing, width)
