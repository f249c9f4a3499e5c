"""Figures as SVG."""

import hashlib
from bisect import bisect_left
from itertools import groupby, pairwise
from typing import NamedTuple

from seqloom.views.axis import Axis
from seqloom.views.downsample import downsample
from seqloom.views.figure import Bars, Curves, Drawing, Grid, Mark, Panels, Series, alt_text
from seqloom.views.format import escaped, one_line, rounded, shorten, tick_label

WIDTH = 460  # pixels, of curves and bars
MAX_NAME = 22  # characters
MAX_DOTS = 40  # a line with more points has no dots
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

# Elements that HTML does not let end in />.
_PAIRED = {"p", "td", "th", "div", "span", "pre", "code", "dd", "dt", "script", "style", "section", "title"}


def element(name: str, *content: str, **attributes: str | float) -> str:
    """`<name attributes>content</name>`. Attributes are escaped here; content must be, by `escaped` or `element`.

    A trailing underscore avoids a Python keyword; an underscore within is a hyphen.

    >>> element("line", x1=0.5, class_="rule", aria_label='a "b"')
    '<line x1="0.5" class="rule" aria-label="a &quot;b&quot;"/>'
    >>> element("p", escaped("1 < 2"))
    '<p>1 &lt; 2</p>'
    """
    pairs, inside = "", "".join(content)
    for key, value in attributes.items():
        text = escaped(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
        pairs += f' {key.rstrip("_").replace("_", "-")}="{text}"'
    return f"<{name}{pairs}>{inside}</{name}>" if inside or name in _PAIRED else f"<{name}{pairs}/>"


def label(text: str, x: float, y: float, anchor: str = "start", **attributes: str) -> str:
    return element("text", escaped(text), x=x, y=y, text_anchor=anchor, **attributes)


def tooltip(text: str) -> str:
    """A title, which browsers show when the pointer is over the parent element."""
    return element("title", escaped(text))


def text_width(text: str) -> float:
    """The approximate width of a text in pixels, since the font is known only to the browser."""
    widths = (
        1.0 if ord(letter) > 0x2E7F else 0.72 if letter.isupper() else 0.3 if letter in " .,:;il|'" else 0.61
        for letter in text
    )
    return sum(widths) * 12


def draw(drawing: Drawing, width: int = WIDTH) -> str:
    """An `<svg>` for a page that has `STYLE`; `width` is in pixels at full size.

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
    style = f"<style>{STYLE}.figure{{width:{width + 24}px;max-width:100%;background:var(--paper)}}</style>"
    return element(
        "svg",
        tooltip(alt_text(drawing)),
        style,
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
            left, right = _grid_margins(drawing, cell)
            return round(left + cell * len(drawing.columns) + right + 4)
        case Panels():  # at most seven in a row
            return min(len(drawing.tiles()), 7) * (PANEL + GAP) - GAP if drawing.names else PANEL
        case _:
            return WIDTH


def _content(drawing: Drawing, width: int) -> tuple[int, str]:
    """The height of a drawing, and the elements in it."""
    match drawing:
        case Curves():
            return _curves(drawing, width)
        case Bars():
            return _bars(drawing, width)
        case Grid():
            return _grid(drawing, width)
        case Panels():
            return _panels(drawing, width)


def _short_names(names: tuple[str, ...]) -> list[str]:
    return [shorten(name, MAX_NAME) for name in names]


# Curves ---------------------------------------------------------------------------------------------------------

MAX_PROBES = 60  # strips with a tooltip
MAX_NOTES, MAX_WARNINGS = 20, 200
NOTE_ROWS = 4


class Frame(NamedTuple):
    """The rectangle of the curves, and its axes. Values that can't be drawn are at the left or bottom edge."""

    left: float
    top: float
    right: float
    bottom: float
    x_axis: Axis
    y_axis: Axis

    def x(self, value: float) -> float:
        return self.left + self.x_axis.position(value) * (self.right - self.left)

    def y(self, value: float) -> float:
        return self.bottom - self.y_axis.position(value) * (self.bottom - self.top)


def _curves(curves: Curves, width: int) -> tuple[int, str]:
    height = round(min(max(width * 0.48, 200), 340))
    x_axis, y_axis = curves.axes(x_ticks=max(3, width // 110), y_ticks=5)
    left = max((text_width(name) for _, name in y_axis.ticks), default=10.0) + 10
    frame = Frame(left, 30, width - 16, height - 34, x_axis, y_axis)
    lines = [_line(curves, series, color, frame) for color, series in curves.colored()]
    notes = _notes(curves.marks_of("note")[:MAX_NOTES], frame)
    warnings = []
    for mark in curves.marks_of("warning")[:MAX_WARNINGS]:
        path = f"M{frame.x(mark.x):.1f} {frame.bottom - 9:.1f}l5 9h-10z"
        warnings.append(element("path", tooltip(one_line(mark.text)), d=path, class_="warning"))
    # warnings are drawn last, above the strips, so that their tooltips show
    parts = (*_axes(curves, frame), *lines, *notes, *_legend(curves, frame), *_probes(curves, frame), *warnings)
    return height, "".join(parts)


def _axes(curves: Curves, frame: Frame) -> list[str]:
    parts = []
    for value, name in frame.y_axis.ticks:
        y = frame.y(value)
        parts.append(element("line", x1=frame.left, x2=frame.right, y1=y, y2=y, class_="rule"))
        parts.append(label(name, frame.left - 7, y + 4, "end"))
    last_end = -1.0
    for value, name in frame.x_axis.ticks:
        half = text_width(name) / 2
        middle = min(frame.x(value), frame.right + 14 - half)
        if middle - half > last_end:
            parts.append(label(name, middle, frame.bottom + 17, "middle"))
            last_end = middle + half + 6
    parts.append(label(curves.x, frame.right, frame.bottom + 31, "end"))
    parts.append(label(one_line(curves.y) + " (log scale)" * curves.log, 0, 12))
    return parts


def _line(curves: Curves, series: Series, color: int, frame: Frame) -> str:
    """Line segments, broken at values that can't be drawn."""
    limit = round(2 * (frame.right - frame.left))  # the lowest and the highest point of each pixel
    path = "".join(
        "M" + "L".join(f"{frame.x(x):.1f} {frame.y(y):.1f}" for x, y in downsample(segment, limit))
        for drawable, segment in groupby(series.points, curves.can_draw)
        if drawable
    )
    if series.style == "reference":
        return element("path", d=path, class_="reference")
    points = curves.drawable_points(series)
    dots = points if len(points) <= MAX_DOTS else []
    circles = [element("circle", cx=frame.x(x), cy=frame.y(y), r=2.4, class_=f"f{color}") for x, y in dots]
    return element("path", d=path, class_=f"line s{color}") + "".join(circles)


def _notes(marks: list[Mark], frame: Frame) -> list[str]:
    """A vertical line with a text for each mark; a text that would overlap another is drawn one row lower."""
    parts, row_ends = [], [0.0] * NOTE_ROWS
    for mark in sorted(marks, key=lambda mark: mark.x):
        x, text = frame.x(mark.x), shorten(mark.text, 24)
        width = text_width(text)
        start, at, anchor = (x + 4, x + 4, "start") if x + 4 + width <= frame.right else (x - 4 - width, x - 4, "end")
        row = next((row for row in range(NOTE_ROWS) if row_ends[row] <= start), NOTE_ROWS - 1)
        row_ends[row] = start + width
        line = element("line", x1=x, x2=x, y1=frame.top, y2=frame.bottom, class_="note")
        parts.append(
            element("g", tooltip(one_line(mark.text)), line, label(text, at, frame.top + 11 + 14 * row, anchor))
        )
    return parts


def _legend(curves: Curves, frame: Frame) -> list[str]:
    """Names at the top right, placed from the last to the first; none for a single line."""
    parts: list[str] = []
    x = frame.right
    for color, series in reversed(curves.colored() if len(curves.series) > 1 else ()):
        name = shorten(series.name, 24)
        x -= text_width(name)
        style = "reference" if series.style == "reference" else f"line s{color}"
        parts += [label(name, x, 12, class_="strong"), element("path", d=f"M{x - 24:.1f} 8h18", class_=style)]
        x -= 40
    return parts


def _probes(curves: Curves, frame: Frame) -> list[str]:
    """Strips that together cover the frame; each shows the values nearest to its middle."""
    lines = [(series.name, points) for series in curves.lines if (points := sorted(curves.drawable_points(series)))]
    centers = sorted({x for _, points in lines for x, _ in points})
    if len(centers) > MAX_PROBES:
        centers = [centers[round(index * (len(centers) - 1) / (MAX_PROBES - 1))] for index in range(MAX_PROBES)]
    middles = list(map(frame.x, centers))
    edges = [frame.left, *((first + second) / 2 for first, second in pairwise(middles)), frame.right]
    strips = []
    for center, middle, (start, end) in zip(centers, middles, pairwise(edges), strict=False):
        texts = [f"{one_line(curves.x)} {rounded(center)}"]
        for name, points in lines:
            x, y = points[_nearest(points, center)]
            texts.append(f"{one_line(name)} {rounded(y)}" + ("" if x == center else f" (at {rounded(x)})"))
        area = element("rect", x=start, y=frame.top, width=max(end - start, 0), height=frame.bottom - frame.top)
        line = element("line", x1=middle, x2=middle, y1=frame.top, y2=frame.bottom)
        strips.append(element("g", tooltip("\n".join(texts)), area, line, class_="probe"))
    return strips


def _nearest(points: list[tuple[float, float]], x: float) -> int:
    after = min(bisect_left(points, x, key=lambda point: point[0]), len(points) - 1)
    return after - 1 if after and x - points[after - 1][0] < points[after][0] - x else after


# Bars -----------------------------------------------------------------------------------------------------------


def _bars(bars: Bars, width: int) -> tuple[int, str]:
    names = _short_names(tuple(name for name, _ in bars.bars))
    left = max(map(text_width, names), default=0.0) + 10
    right = width - max((text_width(rounded(value)) for _, value in bars.bars), default=0.0) - 10
    elements, y = [label(bars.unit, 0, 12)], 24
    for (full_name, value), name, share in zip(bars.bars, names, bars.lengths(), strict=True):
        number, length = rounded(value), share * (right - left)
        hover = tooltip(f"{one_line(full_name)}: {number}")
        bar = element("rect", hover, x=left, y=y, width=max(length, 1), height=15, rx=2, class_="cell f1")
        end = label(number, left + length + 6, y + 12)
        elements += [label(name, left - 7, y + 12, "end", class_="strong"), bar, end]
        y += 21
    return y + 4, "".join(elements)


# Heat maps ------------------------------------------------------------------------------------------------------


def _grid(grid: Grid, width: int) -> tuple[int, str]:
    left, right = _grid_margins(grid, _preferred_cell(grid))
    cell = min((width - left - right - 4) / max(len(grid.columns), 1), 68)
    height = min(cell, 44)
    names = _short_names(grid.columns)
    longest = max(map(text_width, names), default=0.0)
    upright = longest <= cell - 4
    font_size = min(height - 1, 12.0)
    top = 44 if upright else 28 + longest * SLANT
    elements = [label(f"{grid.row_axis} ↓   {grid.column_axis} →", 0, 12)]
    for index, name in enumerate(_short_names(grid.rows)):
        y = top + height * (index + 0.5) + font_size / 3
        elements.append(label(name, left - 7, y, "end", style=f"font-size:{font_size:.1f}px"))
    for index, name in enumerate(names):
        x = left + cell * (index + 0.5)
        if upright:
            elements.append(label(name, x, top - 8, "middle"))
        else:
            rotation, style = f"translate({x:.1f} {top - 6:.1f}) rotate(-45)", f"font-size:{min(font_size, cell):.1f}px"
            elements.append(element("text", escaped(name), transform=rotation, style=style))
    for row, shades in enumerate(grid.darkness()):
        for column, shade in enumerate(shades):
            elements.append(_cell(grid, row, column, shade, left + cell * column, top + height * row, cell, height))
    return round(top + height * len(grid.rows) + 4), "".join(elements)


def _preferred_cell(grid: Grid) -> int:
    count = len(grid.columns)
    if grid.cells == "shades":
        return 28 if count <= 20 else 22 if count <= 36 else 17
    return 68 if count <= 6 else 44 if count <= 12 else 30 if count <= 24 else 17


def _grid_margins(grid: Grid, cell: float) -> tuple[float, float]:
    """The width of the row names, and that of slanted column names beyond the last column."""
    left = max(map(text_width, _short_names(grid.rows)), default=0.0) + 10
    widths = list(map(text_width, _short_names(grid.columns)))
    if max(widths, default=0.0) <= cell - 4:
        return left, 8
    return left, max(8, *(width * SLANT - cell * (len(widths) - index - 0.5) for index, width in enumerate(widths)))


def _cell(grid: Grid, row: int, column: int, shade: float, x: float, y: float, width: float, height: float) -> str:
    value, opacity = grid.values[row][column], 0.04 + 0.96 * shade
    names = f"{grid.row_axis} {one_line(grid.rows[row])}, {grid.column_axis} {one_line(grid.columns[column])}"
    gap, color = 2 if width > 24 else 0.5, 2 if grid.diagonal == "special" and row != column else 1
    box = {"x": x, "y": y, "width": width - gap, "height": height - gap, "rx": min(3, width / 8)}
    hover = tooltip(f"{names}: {rounded(value)}")
    square = element("rect", hover, **box, class_=f"cell f{color}", fill_opacity=f"{opacity:.3f}")
    number = tick_label(value)
    font_size = min(12.0, 12 * (width - 4) / text_width(number))
    if grid.cells == "shades" or font_size < 8 or height < 15 or (value == 0 and len(grid.rows) > 12):
        return square
    middle, baseline = x + (width - gap) / 2, y + (height - gap) / 2 + font_size / 3
    style = {"class_": "on-dark under" if opacity > 0.55 else "strong under", "style": f"font-size:{font_size:.1f}px"}
    return square + label(number, middle, baseline, "middle", **style)


# Image panels ---------------------------------------------------------------------------------------------------

PANEL, GAP, NAME = 120, 12, 20  # pixels: the width of a panel, the gap between panels, the height of a title
MASK_OPACITY = 0.82  # of a region of weight 0


def _panels(panels: Panels, width: int) -> tuple[int, str]:
    picture = panels.picture
    rows, columns = (picture.height, picture.width) if picture else panels.shape
    height = min(max(round(PANEL * rows / max(columns, 1)), 12), 3 * PANEL)
    per_row = max((width + GAP) // (PANEL + GAP), 1)
    elements, image = [], ""
    if picture is not None:  # the file holds the picture once, and each panel refers to it
        name = f"picture-{hashlib.sha256(picture.uri.encode()).hexdigest()[:12]}"
        size: dict[str, str | float] = {"width": PANEL, "height": height}
        if picture.width < PANEL:
            size["style"] = "image-rendering:pixelated"
        elements.append(
            element("defs", element("image", id=name, href=picture.uri, preserveAspectRatio="none", **size))
        )
        image = element("use", href=f"#{name}", y=NAME)
    tiles = panels.tiles()
    for index, (name, panel) in enumerate(tiles):
        x, y = (PANEL + GAP) * (index % per_row), (NAME + height + GAP) * (index // per_row)
        text = shorten(name, max(round(PANEL / max(text_width(name), 1) * len(name)), 1))
        title = label(text, 0, 13) if panel is None else label(text, 0, 13, class_="strong")
        regions = "" if panel is None else _regions(panels, panel, height)
        elements.append(element("g", title, image, regions, transform=f"translate({x} {y})"))
    return (NAME + height + GAP) * -(-len(tiles) // per_row), "".join(elements)


def _regions(panels: Panels, panel: int, height: int) -> str:
    """A black mask over the picture, more transparent where the weight is larger; without a picture, the weights."""
    rows, columns = panels.shape
    size = {"width": PANEL / columns, "height": height / rows} if rows * columns else {}
    css_class = "cell crisp mask" if panels.picture else "cell crisp f1"
    squares = []
    for row, shares in enumerate(panels.lightness(panel)):
        for column, share in enumerate(shares):
            opacity = MASK_OPACITY * (1 - share) if panels.picture else 0.04 + 0.96 * share
            weight = rounded(panels.weights[panel][row][column])
            hover = tooltip(f"{one_line(panels.names[panel])}, row {row + 1}, column {column + 1}: {weight}")
            x, y = PANEL * column / columns, NAME + height * row / rows
            squares.append(element("rect", hover, x=x, y=y, **size, class_=css_class, fill_opacity=f"{opacity:.3f}"))
    return "".join(squares)
