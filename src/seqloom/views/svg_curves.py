"""Curves as SVG: lines, a legend, marks, and strips to hover over that tell the values."""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from seqloom.views.axis import Axis, drawable
from seqloom.views.downsample import thin
from seqloom.views.figure import Curves, Mark, Points, Series
from seqloom.views.format import clip, one_line, short
from seqloom.views.markup import element, label, text, width_of

PROBES = 60  # strips to hover over
DOTTED = 40  # a line of no more points than this shows them
NOTES, WARNINGS = 20, 200  # marks of a kind
ROWS = 4  # of names of notes


@dataclass(frozen=True)
class Frame:
    """The rectangle that curves are drawn in, and its axes."""

    left: float
    top: float
    right: float
    bottom: float
    across: Axis
    up: Axis

    def x(self, value: float) -> float:
        """Pixels from the left; the left edge for what has no place."""
        return self.left + (self.across.place(value) or 0.0) * (self.right - self.left)

    def y(self, value: float) -> float:
        """Pixels from the top; the bottom edge for what has no place."""
        return self.bottom - (self.up.place(value) or 0.0) * (self.bottom - self.top)


def draw_curves(curves: Curves, width: int) -> tuple[int, str]:
    """The height of the drawing, and what stands in it."""
    height = round(min(max(width * 0.48, 200), 340))
    frame = _frame(curves, width, height)
    lines = [_line(series, number, curves.log, frame) for number, series in curves.colored()]
    placed = [mark for mark in curves.marks if drawable(mark.x, log=False)]
    notes = _notes([mark for mark in placed if mark.kind == "note"][:NOTES], frame)
    warnings = [_warning(mark, frame) for mark in placed if mark.kind == "warning"][:WARNINGS]
    above = (_legend(curves, frame), *_probes(curves, frame), *warnings)  # signs last, to be hovered over themselves
    return height, "".join((_axes(curves, frame), *lines, *notes, *above))


def _frame(curves: Curves, width: int, height: int) -> Frame:
    across, up = curves.axes(across=max(3, width // 110), up=5)
    left = max(width_of(name) for _, name in up.ticks) + 10 if up.ticks else 20
    return Frame(left, 30, width - 16, height - 34, across, up)


def _axes(curves: Curves, frame: Frame) -> str:
    parts = []
    for value, name in frame.up.ticks:
        y = frame.y(value)
        parts.append(element("line", x1=frame.left, x2=frame.right, y1=y, y2=y, class_="rule"))
        parts.append(label(name, frame.left - 7, y + 4, "end"))
    last_end = -1.0
    for value, name in frame.across.ticks:
        x, half = frame.x(value), width_of(name) / 2
        x_text = min(x, frame.right + 14 - half)
        if x_text - half > last_end:
            parts.append(label(name, x_text, frame.bottom + 17, "middle"))
            last_end = x_text + half + 6
    parts.append(label(curves.x, frame.right, frame.bottom + 31, "end"))
    scale = " (log scale)" if curves.log else ""
    parts.append(label(one_line(curves.y) + scale, 0, 12))
    return "".join(parts)


def _line(series: Series, number: int, log: bool, frame: Frame) -> str:
    if series.style == "reference":
        return element("path", d=_path(series.points, log, frame), class_="reference")
    drawn = [element("path", d=_path(series.points, log, frame), class_=f"line s{number}")]
    shown = [(x, y) for x, y in series.points if drawable(x, log=False) and drawable(y, log)]
    if len(shown) <= DOTTED:
        drawn += [element("circle", cx=frame.x(x), cy=frame.y(y), r=2.4, class_=f"f{number}") for x, y in shown]
    return "".join(drawn)


def _path(points: Points, log: bool, frame: Frame) -> str:
    """Line segments, broken where a value has no place."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for x, y in points:
        if drawable(x, log=False) and drawable(y, log):
            pieces[-1].append((x, y))
        elif pieces[-1]:
            pieces.append([])
    limit = round(2 * (frame.right - frame.left))  # a lowest and a highest for each pixel: more can't be seen
    drawn = []
    for piece in pieces:
        places = [f"{frame.x(x):.1f} {frame.y(y):.1f}" for x, y in thin(piece, limit)]
        drawn += ["M" + "L".join(places)] if places else []
    return "".join(drawn)


def _warning(mark: Mark, frame: Frame) -> str:
    sign = f"M{frame.x(mark.x):.1f} {frame.bottom - 9:.1f}l5 9h-10z"
    return element("path", element("title", text(one_line(mark.text))), d=sign, class_="warning")


def _notes(marks: list[Mark], frame: Frame) -> list[str]:
    """A line each, its name beside it; a name that would cover another stands a row lower."""
    drawn, taken = [], [0.0] * ROWS  # where the last name of each row ends
    for mark in sorted(marks, key=lambda mark: mark.x):
        x, name = frame.x(mark.x), clip(one_line(mark.text), 24)
        start = x + 4 if x + 4 + width_of(name) <= frame.right else x - 4 - width_of(name)
        row = next((row for row in range(ROWS) if taken[row] <= start), ROWS - 1)
        taken[row] = start + width_of(name)
        line = element("line", x1=x, x2=x, y1=frame.top, y2=frame.bottom, class_="note")
        end = x - 4 if start < x else x + 4
        words = label(name, end, frame.top + 11 + 14 * row, "end" if start < x else "start")
        drawn.append(element("g", element("title", text(one_line(mark.text))), line, words))
    return drawn


def _legend(curves: Curves, frame: Frame) -> str:
    """Names at the top right, the last one first placed; none for a line that stands alone."""
    parts: list[str] = []
    if len(curves.series) < 2:
        return ""
    x = frame.right
    for number, series in reversed(curves.colored()):
        name = clip(one_line(series.name), 24)
        x -= width_of(name)
        parts.append(label(name, x, 12, class_="strong"))
        style = "reference" if series.style == "reference" else f"line s{number}"
        parts.append(element("path", d=f"M{x - 24:.1f} 8h18", class_=style))
        x -= 40
    return "".join(parts)


def _probes(curves: Curves, frame: Frame) -> list[str]:
    """Strips that together cover the frame; each tells the values next to its middle."""
    lines = []
    for series in curves.series:
        shown = sorted((x, y) for x, y in series.points if drawable(x, log=False) and drawable(y, curves.log))
        if shown and series.style == "line":
            lines.append((series.name, shown, [x for x, _ in shown]))
    places = sorted({x for _, _, xs in lines for x in xs})
    if len(places) > PROBES:
        places = [places[round(index * (len(places) - 1) / (PROBES - 1))] for index in range(PROBES)]
    middles = [frame.x(place) for place in places]
    edges = [frame.left, *((one + two) / 2 for one, two in pairwise(middles)), frame.right]
    strips = []
    for index, place in enumerate(places):
        told = [f"{one_line(curves.x)} {short(place)}"]
        for name, shown, xs in lines:
            x, y = shown[_nearest(xs, place)]
            told.append(f"{one_line(name)} {short(y)}" + ("" if x == place else f" (at {short(x)})"))
        start, end, x = edges[index], edges[index + 1], middles[index]
        strips.append(
            element(
                "g",
                element("title", text("\n".join(told))),
                element("rect", x=start, y=frame.top, width=max(end - start, 0), height=frame.bottom - frame.top),
                element("line", x1=x, x2=x, y1=frame.top, y2=frame.bottom),
                class_="probe",
            )
        )
    return strips


def _nearest(xs: list[float], place: float) -> int:
    after = min(bisect_left(xs, place), len(xs) - 1)
    return after - 1 if after and place - xs[after - 1] < xs[after] - place else after
