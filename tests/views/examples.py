"""Figures for the tests: ordinary ones, and random ones with any values that a file could have."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from hypothesis import strategies as st

from seqloom.views.figure import Bars, Curves, Drawing, Figure, Grid, Mark, Panels, Points, Series, Table
from seqloom.views.picture import Picture

CURVES = Curves(
    "Loss",
    (
        Series("training", tuple((float(step), 2.0 / step) for step in range(1, 101))),
        Series("validation", ((50.0, 0.3), (100.0, 0.25)), color=2),
        Series("chance", ((1.0, 1.0), (100.0, 1.0)), "reference"),
    ),
    x="step",
    y="loss",
    marks=(Mark(50.0, "best"), Mark(17.0, "gradient was inf", "warning")),
    caption="a caption",
)
BARS = Bars("Support", (("neg", 30.0), ("pos", 12.0)), unit="examples")
NAMES = ("neg", "pos")
GRID = Grid("Confusion", NAMES, NAMES, ((5.0, 1.0), (2.0, 7.0)), "gold", "predicted", diagonal="special")
MAP = Grid(
    "Attention",
    ("deux", "·cent", "</s>"),
    ("two", "·hundred", "</s>"),
    ((0.9, 0.1, 0.0), (0.2, 0.7, 0.1), (0.0, 0.5, 0.5)),
    "output",
    "source",
    cells="shades",
)
PICTURE = Picture(2, 3, bytes(range(18)))
WEIGHTS = (((0.5, 0.25), (0.25, 0.0)), ((0.0, 0.0), (0.0, 1.0)))
PANELS = Panels("Attention", ("red", "disc"), WEIGHTS, PICTURE)
TABLE = Table("By class", ("class", "F1", "support"), (("neg", 0.9, 30.0), ("a, b", 0.875, None)))
DRAWINGS: tuple[Drawing, ...] = (CURVES, BARS, GRID, MAP, PANELS, Panels("Bare", ("red", "disc"), WEIGHTS))
FIGURES: tuple[Figure, ...] = (*DRAWINGS, TABLE)

CELLS: tuple[Literal["numbers", "shades"], ...] = ("numbers", "shades")
words = st.text(max_size=12) | st.sampled_from(["</script>", '"&<>', "\x00\x1b[31m", "\ud800", "$x_1$", ""])
numbers = st.floats() | st.sampled_from([0.0, 1e308, -1e308, 5e-324, 1e16, 1e16 + 2, float("nan"), float("inf")])
points = st.lists(st.tuples(numbers, numbers), max_size=8).map(tuple)

# The test builds a figure from a recipe: run-time type checks use random numbers, which strategies must not.
Recipe = Callable[[], Any]
series = st.tuples(words, points, st.sampled_from(["line", "reference"]))
marks = st.tuples(numbers, words, st.sampled_from(["note", "warning"]))
curves = st.tuples(
    words,
    st.lists(series, max_size=8),
    words,
    words,
    st.booleans(),
    st.none() | st.tuples(numbers, numbers),
    st.lists(marks, max_size=3),
).map(lambda drawn: partial(make_curves, *drawn))
bars = st.tuples(words, st.lists(st.tuples(words, numbers), max_size=5).map(tuple), words, words).map(
    lambda drawn: partial(Bars, *drawn)
)


def make_curves(
    title: str,
    series: list[tuple[str, Points, Any]],
    x: str,
    y: str,
    log: bool,
    limits: tuple[float, float] | None,
    marks: list[tuple[float, str, Any]],
) -> Curves:
    lines = tuple(Series(*line) for line in series)
    return Curves(title, lines, x, y, log, limits, tuple(Mark(*mark) for mark in marks))


@st.composite
def grids(draw: st.DrawFn) -> Recipe:
    rows, columns = draw(st.integers(0, 4)), draw(st.integers(0, 15))
    row = st.tuples(*[numbers] * columns)
    cells = st.tuples(*[row] * rows)
    names = draw(st.tuples(*[words] * rows)), draw(st.tuples(*[words] * columns))
    diagonal = draw(st.sampled_from(["plain", "special"]))
    shades, inside = draw(st.none() | cells), draw(st.sampled_from(CELLS))
    return partial(Grid, draw(words), *names, draw(cells), "gold", draw(words), shades, diagonal, "", inside)


@st.composite
def panels(draw: st.DrawFn) -> Recipe:
    count, rows, columns = draw(st.integers(0, 4)), draw(st.integers(0, 3)), draw(st.integers(0, 12))
    weights = st.tuples(*[st.tuples(*[st.tuples(*[numbers] * columns)] * rows)] * count)
    picture = draw(st.none() | st.just(PICTURE))
    return partial(Panels, draw(words), draw(st.tuples(*[words] * count)), draw(weights), picture)


@st.composite
def tables(draw: st.DrawFn) -> Recipe:
    header = tuple(draw(st.lists(words, max_size=4)))
    rows = draw(st.lists(st.tuples(*[words | numbers | st.none() for _ in header]), max_size=4))
    return partial(Table, draw(words), header, tuple(rows))


drawings = curves | bars | grids() | panels()
figures = drawings | tables()
