"""Figures as SVG: bars, heat maps and image panels here, curves in `svg_curves`."""

import hashlib

from seqloom.views.axis import drawable
from seqloom.views.figure import Bars, Curves, Drawing, Grid, Panels, alt_text
from seqloom.views.format import escaped, one_line, rounded, shorten, tick_label
from seqloom.views.markup import element, label, text_width, tooltip
from seqloom.views.svg_curves import draw_curves

WIDTH = 460  # pixels, of curves and bars
MAX_NAME = 22  # characters
SLANT = 0.75  # width and height of a name at 45 degrees, as a share of its length

# Okabe and Ito's colors, which most color-blind people can distinguish; in dark mode, lighter ones of the same hues.
LIGHT = ("#0072b2", "#d55e00", "#00815e", "#b0568a", "#a87400", "#3f8fc4")
DARK = ("#56b4e9", "#f0853a", "#2cc39a", "#dd94bd", "#e6b33a", "#8fc7ee")


def _css_colors(colors: tuple[str, ...], ink: str, muted: str, rule: str, paper: str) -> str:
    numbered = "".join(f"--c{number}:{color};" for number, color in enumerate(colors, 1))
    return f"{numbered}--warn:{colors[1]};--ink:{ink};--muted:{muted};--rule:{rule};--paper:{paper}"


STYLE = f"""
:root{{color-scheme:light dark;{_css_colors(LIGHT, "#1c1e21", "#62676e", "#e2e2dc", "#fdfdfb")}}}
@media (prefers-color-scheme:dark){{:root{{{_css_colors(DARK, "#e4e4e0", "#9a9fa6", "#34373b", "#17191b")}}}}}
.figure{{display:block;width:100%;height:auto;font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
font-variant-numeric:tabular-nums}}
.figure text{{fill:var(--muted)}} .figure .strong{{fill:var(--ink)}} .figure .on-dark{{fill:var(--paper)}}
.figure .under{{pointer-events:none}} .figure .mask{{fill:#000}}
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
    """An `<svg>` for a page that has `STYLE`; `width` is in pixels at full size.

    >>> from seqloom.views.figure import Series
    >>> draw(Curves("Loss", (Series("training", ((0.0, 2.0), (1.0, 1.0))),), x="step", y="loss"))[:20]
    '<svg class="figure" '
    """
    height, content = _content(drawing, width)
    attributes = {"role": "img", "aria_label": alt_text(drawing), "style": f"max-width:{width}px"}
    box = f"0 0 {width} {height}"
    return element("svg", tooltip(drawing.title), content, class_="figure", viewBox=box, **attributes)


def standalone(drawing: Drawing) -> str:
    """An SVG file, with its style.

    >>> standalone(Bars("Support", (("neg", 30.0),), unit="examples")).partition(" ")[0]
    '<svg'
    """
    width = preferred_width(drawing)
    height, content = _content(drawing, width)
    return element(
        "svg",
        tooltip(alt_text(drawing)),
        f"<style>{STYLE}.figure{{width:{width + 24}px;max-width:100%;background:var(--paper)}}</style>",
        content,
        xmlns="http://www.w3.org/2000/svg",
        class_="figure",
        viewBox=f"-12 -12 {width + 24} {height + 24}",
        width=width + 24,
        height=height + 24,
        role="img",
    )


def preferred_width(drawing: Drawing) -> int:
    """The width in pixels at which a drawing looks best."""
    match drawing:
        case Grid():
            cell = _preferred_cell(drawing)
            return round(_left_margin(drawing) + cell * len(drawing.columns) + _overhang(drawing, cell) + 4)
        case Panels():  # at most seven in a row
            return min(len(_panel_titles(drawing)), 7) * (PANEL + GAP) - GAP if drawing.names else PANEL
        case _:
            return WIDTH


def _content(drawing: Drawing, width: int) -> tuple[int, str]:
    """The height of a drawing, and the elements in it."""
    match drawing:
        case Curves():
            return draw_curves(drawing, width)
        case Bars():
            return _bars(drawing, width)
        case Grid():
            return _grid(drawing, width)
        case Panels():
            return _panels(drawing, width)


# Bars -----------------------------------------------------------------------------------------------------------


def _bars(bars: Bars, width: int) -> tuple[int, str]:
    names = _clipped([name for name, _ in bars.bars])
    values = [value if drawable(value, log=False) else 0.0 for _, value in bars.bars]
    left = max(map(text_width, names), default=0.0) + 10
    right = width - max((text_width(rounded(value)) for _, value in bars.bars), default=0.0) - 10
    longest = max(map(abs, values), default=0.0) or 1.0
    elements = [label(bars.unit, 0, 12)]
    for index, (name, value) in enumerate(zip(names, values, strict=True)):
        y, length = 24 + 21 * index, abs(value) / longest * (right - left)
        full_name, number = bars.bars[index][0], rounded(bars.bars[index][1])
        hover = tooltip(f"{one_line(full_name)}: {number}")
        bar = element("rect", hover, x=left, y=y, width=max(length, 1), height=15, rx=2, class_="cell f1")
        elements += [label(name, left - 7, y + 12, "end", "strong"), bar, label(number, left + length + 6, y + 12)]
    return 24 + 21 * len(names) + 4, "".join(elements)


def _clipped(names: tuple[str, ...] | list[str]) -> list[str]:
    return [shorten(one_line(name), MAX_NAME) for name in names]


# Heat maps ------------------------------------------------------------------------------------------------------


def _grid(grid: Grid, width: int) -> tuple[int, str]:
    left, count = _left_margin(grid), max(len(grid.columns), 1)
    cell = min((width - left - _overhang(grid, _preferred_cell(grid)) - 4) / count, 68)
    height = min(cell, 44)
    names = _clipped(grid.columns)
    longest = max(map(text_width, names), default=0.0)
    upright = longest <= cell - 4
    font_size = min(height - 1, 12.0)
    top = 44 if upright else 28 + longest * SLANT
    elements = [label(f"{grid.row_axis} ↓   {grid.column_axis} →", 0, 12)]
    for index, name in enumerate(_clipped(grid.rows)):
        style = {"text_anchor": "end", "style": f"font-size:{font_size:.1f}px"}
        elements.append(
            element("text", escaped(name), x=left - 7, y=top + height * (index + 0.5) + font_size / 3, **style)
        )
    for index, name in enumerate(names):
        x = left + cell * (index + 0.5)
        if upright:
            elements.append(label(name, x, top - 8, "middle"))
        else:
            rotation = f"translate({x:.1f} {top - 6:.1f}) rotate(-45)"
            style = {"style": f"font-size:{min(font_size, cell):.1f}px"}
            elements.append(element("text", escaped(name), transform=rotation, **style))
    elements += [
        _cell(grid, row, column, left + cell * column, top + height * row, cell, height)
        for row in range(len(grid.rows))
        for column in range(len(grid.columns))
    ]
    return round(top + height * len(grid.rows) + 4), "".join(elements)


def _left_margin(grid: Grid) -> float:
    return max(map(text_width, _clipped(grid.rows)), default=0.0) + 10


def _preferred_cell(grid: Grid) -> int:
    count = len(grid.columns)
    if grid.cells == "shades":
        return 28 if count <= 20 else 22 if count <= 36 else 17
    return 68 if count <= 6 else 44 if count <= 12 else 30 if count <= 24 else 17


def _overhang(grid: Grid, cell: float) -> float:
    """The width of slanted names beyond the last column."""
    widths = list(map(text_width, _clipped(grid.columns)))
    if max(widths, default=0.0) <= cell - 4:
        return 8
    return max(8, *(width * SLANT - cell * (len(widths) - index - 0.5) for index, width in enumerate(widths)))


def _cell(grid: Grid, row: int, column: int, x: float, y: float, width: float, height: float) -> str:
    value, opacity = grid.values[row][column], 0.04 + 0.96 * grid.shade(row, column)
    names = f"{grid.row_axis} {one_line(grid.rows[row])}, {grid.column_axis} {one_line(grid.columns[column])}"
    gap, color = 2 if width > 24 else 0.5, 2 if grid.diagonal == "special" and row != column else 1
    box = {"x": x, "y": y, "width": width - gap, "height": height - gap, "rx": min(3, width / 8)}
    hover = tooltip(f"{names}: {rounded(value)}")
    square = element("rect", hover, **box, class_=f"cell f{color}", fill_opacity=f"{opacity:.3f}")
    number = tick_label(value)
    font_size = min(12.0, 12 * (width - 4) / text_width(number))
    if grid.cells == "shades" or font_size < 8 or height < 15 or (value == 0 and len(grid.rows) > 12):
        return square
    middle = {"x": x + (width - gap) / 2, "y": y + (height - gap) / 2 + font_size / 3}
    css_class = "on-dark under" if opacity > 0.55 else "strong under"
    style = {"text_anchor": "middle", "class_": css_class, "style": f"font-size:{font_size:.1f}px"}
    return square + element("text", escaped(number), **middle, **style)


# Image panels ---------------------------------------------------------------------------------------------------

PANEL, GAP, NAME = 120, 12, 20  # pixels: the width of a panel, the gap between panels, the height of a title
MASK_OPACITY = 0.82  # of a region of weight 0


def _panels(panels: Panels, width: int) -> tuple[int, str]:
    titles, height = _panel_titles(panels), _panel_height(panels)
    per_row = max((width + GAP) // (PANEL + GAP), 1)
    definition, image = "", ""  # the file holds the picture once, and each panel refers to it
    if panels.picture is not None:
        uri = panels.picture.uri
        name = f"picture-{hashlib.sha256(uri.encode()).hexdigest()[:12]}"
        size: dict[str, str | float] = {"width": PANEL, "height": height}
        if panels.picture.width < PANEL:
            size["style"] = "image-rendering:pixelated"
        definition = element("defs", element("image", id=name, href=uri, preserveAspectRatio="none", **size))
        image = element("use", href=f"#{name}", y=NAME)
    elements = [definition]
    first = len(titles) - len(panels.names)  # 1 if the plain picture comes first
    for index, name in enumerate(titles):
        x, y = (PANEL + GAP) * (index % per_row), (NAME + height + GAP) * (index // per_row)
        letters = max(round(PANEL / max(text_width(name), 1) * len(name)), 1)
        title = label(shorten(name, letters), 0, 13, class_="strong" if index >= first else "")
        regions = _regions(panels, index - first, height) if index >= first else ""
        elements.append(element("g", title, image, regions, transform=f"translate({x} {y})"))
    return (NAME + height + GAP) * -(-len(titles) // per_row), "".join(elements)


def _panel_titles(panels: Panels) -> list[str]:
    return ["picture"] * (panels.picture is not None) + [one_line(name) for name in panels.names]


def _panel_height(panels: Panels) -> int:
    rows, columns = (panels.picture.height, panels.picture.width) if panels.picture else panels.shape
    return min(max(round(PANEL * rows / max(columns, 1)), 12), 3 * PANEL)


def _regions(panels: Panels, panel: int, height: int) -> str:
    """A black mask over the picture, more transparent where the weight is larger; without a picture, the weights."""
    rows, columns = panels.shape
    squares = []
    for row, weights in enumerate(panels.weights[panel]):
        for column, weight in enumerate(weights):
            light = panels.lightness(panel, row, column)
            opacity = MASK_OPACITY * (1 - light) if panels.picture else 0.04 + 0.96 * light
            name = f"{one_line(panels.names[panel])}, row {row + 1}, column {column + 1}: {rounded(weight)}"
            box = {"x": PANEL * column / columns, "y": NAME + height * row / rows}
            box |= {"width": PANEL / columns, "height": height / rows}
            css_class = "cell crisp mask" if panels.picture else "cell crisp f1"
            squares.append(element("rect", tooltip(name), **box, class_=css_class, fill_opacity=f"{opacity:.3f}"))
    return "".join(squares)
