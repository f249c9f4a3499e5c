"""Figures check their values and describe themselves."""

import pytest

from seqloom.core.problem import ArgumentError
from seqloom.views.figure import Curves, Grid, Panels, Series, Table, alt_text
from tests.views.examples import CURVES, GRID, PANELS, TABLE


def test_a_grid_has_a_value_for_each_pair_of_names() -> None:
    with pytest.raises(ArgumentError, match="Grid: values has another shape; expected 1 rows of 2"):
        Grid("", ("a",), ("a", "b"), ((1.0,),), "", "")


def test_a_table_has_a_cell_for_each_column() -> None:
    with pytest.raises(ArgumentError, match="expected 2 cells, as the header"):
        Table("", ("a", "b"), (("one",),))


def test_shades_are_relative_to_their_row() -> None:
    assert GRID.darkness() == [pytest.approx([4 / 6, 0]), pytest.approx([1 / 6, 1])]
    flat = Grid("", ("a",), ("a", "b"), ((3.0, float("nan")),), "", "", shades=((2.0, float("nan")),))
    assert flat.darkness() == [[1, 0]]


def test_numbers_of_a_column_share_their_decimals() -> None:
    assert [row[1] for row in TABLE.texts()] == ["0.900", "0.875"]
    assert [row[2] for row in TABLE.texts()] == ["30", "–"]
    assert TABLE.numeric(2)
    assert not TABLE.numeric(0)


def test_colors_are_consecutive_or_given() -> None:
    assert [color for color, _ in CURVES.colored()] == [1, 2, 0]
    same = Series("one", ())
    assert [color for color, _ in Curves("", (same, Series("two", (), color=1)), "", "").colored()] == [1, 1]


def test_an_axis_starts_at_zero_if_its_values_start_near_zero() -> None:
    assert CURVES.axes(5, 5)[0].low == 0
    late = Curves("", (Series("late", ((50.0, 1.0), (100.0, 2.0))),), "", "")
    assert late.axes(5, 5)[0].low == 50


def test_a_description_has_the_lines_without_the_reference() -> None:
    assert alt_text(CURVES) == (
        "Loss: loss by step. training: 100 points, from 2 to 0.02, between 0.02 and 2. "
        "validation: 2 points, from 0.3 to 0.25, between 0.25 and 0.3."
    )


def test_panels_have_a_weight_for_each_region() -> None:
    with pytest.raises(ArgumentError, match="expected 2 panels, as many as there are names, of 1 rows of 2"):
        Panels("", ("a", "b"), (((1.0, 0.0),), ((1.0,),)))
    assert PANELS.shape == (2, 2)
    assert PANELS.lightness(0) == [[1.0, 0.5], [0.5, 0.0]]
    assert alt_text(PANELS) == "Attention: 2 by 2 regions for each of red, disc."
