"""Curves as SVG: lines, a legend, marks, and strips with a tooltip of the values there."""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from seqloom.views.axis import Axis, drawable
from seqloom.views.downsample import downsample
from seqloom.views.figure import Curves, Mark, Series
from seqloom.views.format import one_line, rounded, shorten
from seqloom.views.markup import element, label, text_width, tooltip

MAX_PROBES = 60  # strips with a tooltip
MAX_DOTS = 40  # a line with more points has no dots
MAX_NOTES, MAX_WARNINGS = 20, 200
NOTE_ROWS = 4


@dataclass(frozen=True)
class Frame:
    """The rectangle of the curves, and its axes. Values that can't be drawn are at the left or bottom edge."""

    left: float
    top: float
    right: float
    bottom: float
    x_axis: Axis
    y_axis: Axis

    def x(self, value: float) -> float:
        return self.left + (self.x_axis.position(value) or 0.0) * (self.right - self.left)

    def y(self, value: float) -> float:
        return self.bottom - (self.y_axis.position(value) or 0.0) * (self.bottom - self.top)


def draw_curves(curves: Curves, width: int) -> tuple[int, str]:
    """The height of the drawing, and its elements."""
    height = round(min(max(width * 0.48, 200), 340))
    x_axis, y_axis = curves.axes(x_ticks=max(3, width // 110), y_ticks=5)
    left = max(text_width(name) for _, name in y_axis.ticks) + 10 if y_axis.ticks else 20
    frame = Frame(left, 30, width - 16, height - 34, x_axis, y_axis)
    lines = [_line(curves, series, color, frame) for color, series in curves.colored()]
    notes = _notes(curves.marks_of("note")[:MAX_NOTES], frame)
    warnings = [
        element("path", tooltip(one_line(mark.text)), d=f"M{x:.1f} {frame.bottom - 9:.1f}l5 9h-10z", class_="warning")
        for mark in curves.marks_of("warning")[:MAX_WARNINGS]
        for x in [frame.x(mark.x)]
    ]
    # warnings are drawn last, above the strips, so that their tooltips show
    parts = (_axes(curves, frame), *lines, *notes, _legend(curves, frame), *_probes(curves, frame), *warnings)
    return height, "".join(parts)


def _axes(curves: Curves, frame: Frame) -> str:
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
    return "".join(parts)


def _line(curves: Curves, series: Series, color: int, frame: Frame) -> str:
    """Line segments, broken at values that can't be drawn."""
    segments: list[list[tuple[float, float]]] = [[]]
    for x, y in series.points:
        if drawable(x, log=False) and drawable(y, curves.log):
            segments[-1].append((x, y))
        elif segments[-1]:
            segments.append([])
    limit = round(2 * (frame.right - frame.left))  # the lowest and the highest point of each pixel
    path = "".join(
        "M" + "L".join(f"{frame.x(x):.1f} {frame.y(y):.1f}" for x, y in downsample(segment, limit))
        for segment in segments
        if segment
    )
    if series.style == "reference":
        return element("path", d=path, class_="reference")
    points = curves.drawable(series)
    dots = points if len(points) <= MAX_DOTS else []
    circles = [element("circle", cx=frame.x(x), cy=frame.y(y), r=2.4, class_=f"f{color}") for x, y in dots]
    return element("path", d=path, class_=f"line s{color}") + "".join(circles)


def _notes(marks: list[Mark], frame: Frame) -> list[str]:
    """A vertical line with a text for each mark; a text that would overlap another is drawn one row lower."""
    parts, row_ends = [], [0.0] * NOTE_ROWS
    for mark in sorted(marks, key=lambda mark: mark.x):
        x, text = frame.x(mark.x), shorten(one_line(mark.text), 24)
        start = x + 4 if x + 4 + text_width(text) <= frame.right else x - 4 - text_width(text)
        row = next((row for row in range(NOTE_ROWS) if row_ends[row] <= start), NOTE_ROWS - 1)
        row_ends[row] = start + text_width(text)
        line = element("line", x1=x, x2=x, y1=frame.top, y2=frame.bottom, class_="note")
        anchor = (x - 4, "end") if start < x else (x + 4, "start")
        name = label(text, anchor[0], frame.top + 11 + 14 * row, anchor[1])
        parts.append(element("g", tooltip(one_line(mark.text)), line, name))
    return parts


def _legend(curves: Curves, frame: Frame) -> str:
    """Names at the top right, placed from the last to the first; none for a single line."""
    parts: list[str] = []
    x = frame.right
    for color, series in reversed(curves.colored() if len(curves.series) > 1 else ()):
        name = shorten(one_line(series.name), 24)
        x -= text_width(name)
        parts.append(label(name, x, 12, class_="strong"))
        style = "reference" if series.style == "reference" else f"line s{color}"
        parts.append(element("path", d=f"M{x - 24:.1f} 8h18", class_=style))
        x -= 40
    return "".join(parts)


def _probes(curves: Curves, frame: Frame) -> list[str]:
    """Strips that together cover the frame; each shows the values nearest to its middle."""
    lines = [(series.name, points) for series in curves.lines if (points := sorted(curves.drawable(series)))]
    centers = sorted({x for _, points in lines for x, _ in points})
    if len(centers) > MAX_PROBES:
        centers = [centers[round(index * (len(centers) - 1) / (MAX_PROBES - 1))] for index in range(MAX_PROBES)]
    middles = [frame.x(center) for center in centers]
    edges = [frame.left, *((first + second) / 2 for first, second in pairwise(middles)), frame.right]
    strips = []
    for index, center in enumerate(centers):
        texts = [f"{one_line(curves.x)} {rounded(center)}"]
        for name, points in lines:
            x, y = points[_nearest(points, center)]
            texts.append(f"{one_line(name)} {rounded(y)}" + ("" if x == center else f" (at {rounded(x)})"))
        start, width = edges[index], max(edges[index + 1] - edges[index], 0)
        area = element("rect", x=start, y=frame.top, width=width, height=frame.bottom - frame.top)
        line = element("line", x1=middles[index], x2=middles[index], y1=frame.top, y2=frame.bottom)
        strips.append(element("g", tooltip("\n".join(texts)), area, line, class_="probe"))
    return strips


def _nearest(points: list[tuple[float, float]], x: float) -> int:
    after = min(bisect_left(points, x, key=lambda point: point[0]), len(points) - 1)
    return after - 1 if after and x - points[after - 1][0] < points[after][0] - x else after
