"""Drawings as SVG: well formed, inside their box, with text for screen readers."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given

from seqloom.views import svg
from seqloom.views.figure import Curves, Drawing, Grid, Mark, Series
from seqloom.views.format import escaped
from seqloom.views.svg import text_width
from tests.views.examples import BARS, CURVES, DRAWINGS, GRID, MAP, PANELS, PICTURE, Recipe, drawings


@given(recipe=drawings)
def test_any_drawing_gives_well_formed_svg(recipe: Recipe) -> None:
    markup = svg.draw(recipe())
    ElementTree.fromstring(markup.encode("utf-8"))
    attributes = " ".join(re.findall(r' (?:d|x|y|x1|x2|y1|y2|cx|cy|width|height)="([^"]*)"', markup))
    assert not re.search("nan|inf|e[+-]", attributes)


@pytest.mark.parametrize("drawing", DRAWINGS)
@pytest.mark.parametrize("width", [400, 968])
def test_all_elements_are_inside_the_box(drawing: Drawing, width: int) -> None:
    root = ElementTree.fromstring(svg.draw(drawing, width))
    height = float(root.attrib["viewBox"].split()[3])
    for node in root.iter():
        for key, limit in (("x", width), ("x1", width), ("x2", width), ("cx", width), ("y", height), ("cy", height)):
            assert -1 <= float(node.get(key, 0)) <= limit
        if "rect" in node.tag:
            assert float(node.attrib["x"]) + float(node.attrib["width"]) <= width + 0.2


def test_a_drawing_has_text_for_screen_readers() -> None:
    markup = svg.draw(CURVES)
    assert 'role="img"' in markup
    assert 'aria-label="Loss: loss by step. training: 100 points' in markup
    assert "<title>step 50\ntraining 0.04\nvalidation 0.3</title>" in markup
    assert "<title>gradient was inf</title>" in markup
    assert "<title>gold neg, predicted pos: 1</title>" in svg.draw(GRID)
    assert "<title>pos: 12</title>" in svg.draw(BARS)


def test_a_gap_in_the_values_is_a_gap_in_the_line() -> None:
    points = ((0.0, 1.0), (1.0, 2.0), (2.0, float("nan")), (3.0, 1.0), (4.0, 2.0))
    markup = svg.draw(Curves("", (Series("one", points),), "x", "y"))
    assert next(re.finditer(' d="(M[^"]+)" class="line', markup)).group(1).count("M") == 2


def test_labels_of_marks_do_not_overlap() -> None:
    marks = (Mark(3.0, "resumed"), Mark(3.0, "best, step 3"), Mark(9.0, "resumed"))
    markup = svg.draw(Curves("", (Series("one", ((0.0, 1.0), (9.0, 2.0))),), "x", "y", marks=marks))
    first, best, last = re.findall('<text x="[^"]+" y="([^"]+)" text-anchor="([^"]+)">(?:resumed|best)', markup)
    assert float(best[0]) > float(first[0]) == float(last[0])
    assert (best[1], last[1]) == ("start", "end")


def test_many_points_give_a_small_file() -> None:
    points = tuple((float(x), float(x % 100)) for x in range(10_000))
    assert len(svg.draw(Curves("", (Series("one", points),), "x", "y"))) < 25_000


def test_every_class_that_is_drawn_has_a_style() -> None:
    markup = "".join(map(svg.draw, DRAWINGS))
    classes = " ".join(re.findall('class="([^"]+)"', markup)).split()
    assert all(f".{name}" in svg.STYLE for name in classes)


def test_errors_of_a_confusion_matrix_have_another_color() -> None:
    squares = re.findall('class="cell (f.)"', svg.draw(GRID))
    assert squares == ["f1", "f2", "f2", "f1"]


def test_long_column_names_are_rotated() -> None:
    names = ("a long name of a class", "another")
    assert "rotate(-45)" in svg.draw(Grid("", names, names, ((1.0, 2.0), (3.0, 4.0)), "", ""))
    assert "rotate" not in svg.draw(GRID)


def test_an_attention_map_has_shades_and_no_numbers() -> None:
    markup = svg.draw(MAP)
    assert re.findall("<text[^>]*>([^<]*)</text>", markup)[1:] == [*map(escaped, MAP.rows), *map(escaped, MAP.columns)]
    assert "<title>output ·cent, source ·hundred: 0.7</title>" in markup


def test_rotated_names_end_inside_the_box() -> None:
    names = ("a", "b", "a long name of a class")
    grid = Grid("", names, names, ((1.0, 2.0, 3.0),) * 3, "", "", cells="shades")
    width = svg.preferred_width(grid)
    starts = [float(x) for x in re.findall(r"translate\((\S+) ", svg.draw(grid, width))]
    assert starts[-1] + text_width(names[-1]) * 0.7 <= width


def test_an_image_is_embedded_once_and_shown_for_each_name() -> None:
    markup = svg.draw(PANELS)
    assert markup.count("data:image/png;base64,") == 1
    assert PICTURE.uri in markup
    assert len(re.findall('<use href="#picture-', markup)) == 1 + len(PANELS.names)
    assert re.findall('class="cell crisp mask" fill-opacity="([^"]+)"', markup)[:4] == [
        "0.000",
        "0.410",
        "0.410",
        "0.820",
    ]
    assert "<title>disc, row 2, column 2: 1</title>" in markup


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_a_standalone_drawing_loads_nothing(drawing: Drawing) -> None:
    markup = svg.standalone(drawing)
    root = ElementTree.fromstring(markup)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert ".figure" in markup
    assert not re.search("https?:", markup.replace("http://www.w3.org/2000/svg", ""))
