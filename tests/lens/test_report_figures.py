"""The figures of scores: no axis goes beyond the range of its score, and values that differ little fill it."""

from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.lens.report import Report
from seqloom.lens.report_figures import loss_figure, validation_figures
from seqloom.lens.run_files import FinalScores, History
from seqloom.tasks.classify.report import ClassifyReport
from seqloom.tasks.metrics.registry import SCORE_INFO
from seqloom.tasks.translate.report import TranslateReport
from seqloom.views import matplotlib_renderer, svg, terminal
from seqloom.views.figure import Curves
from seqloom.views.html import Block, SideBySide

BOUNDED = [key for key, info in SCORE_INFO.items() if info.bounded]
shares = st.floats(0, 1) | st.sampled_from([0.0, 1e-9, 1.0, 1 - 1e-15, 0.9999, 0.985])
several = st.lists(shares, min_size=2, max_size=5)


def report_of(**curves: list[float]) -> Report:
    points = {key: tuple(zip(map(float, count()), values, strict=False)) for key, values in curves.items()}
    return Report(Path(), {}, "", {}, History(curves=points), FinalScores(), ())


def curves_of(blocks: tuple[Block, ...]) -> list[Curves]:
    rows = [block.figures for block in blocks if isinstance(block, SideBySide)]
    return [figure for row in rows for figure in row if isinstance(figure, Curves)]


def assert_within(figure: Curves, low: float, high: float) -> None:
    """In every renderer, which all take the axes of the figure."""
    for ticks in range(2, 9):
        axis = figure.axes(3, ticks)[1]
        assert low <= axis.low < axis.high <= high
        assert all(axis.low <= value <= axis.high for value, _ in axis.ticks)
        rounding = 1e-8 * (axis.high - axis.low)
        ys = [y for line in figure.lines for _, y in line.points]
        assert all(axis.low - rounding <= y <= axis.high + rounding for y in ys)


@given(values=several)
@pytest.mark.parametrize("key", BOUNDED)
def test_curves_of_validation_scores_stay_in_their_range(key: str, values: list[float]) -> None:
    info = SCORE_INFO[key]
    (figure,) = validation_figures(report_of(**{f"valid.{key}": [value * info.high for value in values]}))
    assert figure.y == info.name
    assert not figure.log
    assert_within(figure, *info.range)


@given(values=st.lists(st.floats(0, 1e9), min_size=2, max_size=5))
def test_curves_of_loss_and_perplexity_stay_in_their_range(values: list[float]) -> None:
    (figure,) = validation_figures(report_of(**{"valid.perplexity": [1 + value for value in values]}))
    assert figure.axes(3, 5)[1].low >= 1
    loss = loss_figure(report_of(loss=values, **{"valid.loss": values}))
    assert loss is not None
    assert loss.axes(3, 5)[1].low >= 0


@given(values=several)
def test_quality_by_length_stays_in_its_range(values: list[float]) -> None:
    bins = [
        {"from": i, "to": i, "sentences": 3, "bleu": 100 * y, "chrf": 50 + 50 * y, "exact_match": y}
        for i, y in enumerate(values, 1)
    ]
    (blocks, *_) = (section.blocks for section in TranslateReport({}, {"by_length": bins}).sections())
    quality, exact = curves_of(blocks)
    assert_within(quality, 0, 100)
    assert_within(exact, 0, 1)


@given(values=several)
def test_calibration_stays_in_its_range(values: list[float]) -> None:
    bins = [{"low": 0.4, "high": 0.6, "confidence": y, "accuracy": y, "count": 2} for y in values]
    (*_, blocks) = (section.blocks for section in ClassifyReport({}, {"calibration": bins}).sections())
    (figure,) = curves_of(blocks)
    assert_within(figure, 0, 1)


def test_a_constant_bleu_of_100_has_no_axis_beyond_it() -> None:
    (figure,) = validation_figures(report_of(**{"valid.bleu": [100.00000000000004, 100.00000000000004]}))
    assert figure.axes(3, 5)[1].high == 100
    assert ">100<" in svg.draw(figure)
    assert not any(f">{number}<" in svg.draw(figure) for number in (102, 105, 110))
    assert matplotlib_renderer.draw(figure).axes[0].get_ylim()[1] == 100
    assert "110" not in "".join(terminal.draw(figure))


def test_a_curve_of_similar_scores_fills_its_figure() -> None:
    (figure,) = validation_figures(report_of(**{"valid.accuracy": [0.981, 0.985, 0.984]}))
    axis = figure.axes(3, 5)[1]
    assert (axis.low, axis.high) == pytest.approx((0.981, 0.985))


def test_a_loss_below_zero_is_drawn() -> None:
    """That of a density, or of a head that someone defined."""
    figure = loss_figure(report_of(loss=[1.0, -2.0]))
    assert figure is not None
    assert figure.axes(3, 5)[1].low <= -2
