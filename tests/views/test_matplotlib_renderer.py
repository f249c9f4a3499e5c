"""Figures drawn with matplotlib."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from seqloom.core.problem import UserError
from seqloom.views import matplotlib_renderer
from seqloom.views.figure import Bars, Curves, Figure, Panels, Series
from tests.views.examples import CURVES, FIGURES, MAP, PANELS, Recipe, figures


@settings(max_examples=15)
@given(recipe=figures)
def test_any_figure_can_be_drawn(recipe: Recipe) -> None:
    figure = recipe()
    expected = len(figure.names) + (figure.picture is not None) if isinstance(figure, Panels) else 1
    assert len(matplotlib_renderer.draw(figure).axes) == expected


@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<?xml"), (".pdf", b"%PDF"), (".png", b"\x89PNG")])
def test_files_of_every_kind_are_reproducible(tmp_path: Path, suffix: str, start: bytes) -> None:
    files = [tmp_path / f"{number}{suffix}" for number in (1, 2)]
    for file in files:
        matplotlib_renderer.save_plot(CURVES, file)
    assert files[0].read_bytes().startswith(start)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_can_be_saved(tmp_path: Path, figure: Figure) -> None:
    matplotlib_renderer.save_plot(figure, tmp_path / "figure.png")


def test_text_is_not_interpreted(tmp_path: Path) -> None:
    """Dollar signs are not math, and a letter that the font lacks gives no warning."""
    matplotlib_renderer.save_plot(Bars("$\\frac{$ 漢", (("a $_b$", 1.0),), unit="$"), tmp_path / "figure.svg")


def test_a_plot_has_the_lines_of_its_figure() -> None:
    axes = matplotlib_renderer.draw(CURVES).axes[0]
    training, validation, chance, signs = axes.get_lines()[:3] + axes.get_lines()[-1:]
    assert list(validation.get_ydata()) == [0.3, 0.25]
    assert training.get_color() != validation.get_color()
    assert chance.get_label() == "chance"
    assert list(signs.get_xdata()) == [17.0]


def test_a_log_scale_needs_positive_limits() -> None:
    line = Curves("", (Series("", ((0.0, 1.0), (1.0, 1000.0), (2.0, -1.0))),), "", "", log=True)
    assert matplotlib_renderer.draw(line).axes[0].get_yscale() == "log"
    assert matplotlib_renderer.draw(replace(line, limits=(0.0, 0.0))).axes[0].get_yscale() == "linear"


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"figure.gif: a figure can't be saved as '.gif'. Use .svg, .pdf, .png."):
        matplotlib_renderer.save_plot(CURVES, tmp_path / "figure.gif")


def test_an_attention_map_has_names_above_and_no_numbers() -> None:
    axes = matplotlib_renderer.draw(MAP).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == list(MAP.columns)
    assert axes.xaxis.get_ticks_position() == "top"
    assert not axes.texts


def test_regions_with_small_weights_are_masked() -> None:
    picture, red, _ = matplotlib_renderer.draw(PANELS).axes
    assert len(picture.images) == 1
    mask = red.images[1].get_array()
    assert mask is not None
    assert mask[..., 3].tolist() == [[0.0, 0.41], [0.41, 0.82]]
