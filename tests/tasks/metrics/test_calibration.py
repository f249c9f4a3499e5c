"""Reliability bins are compared with a loop over items."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.problem import ArgumentError
from seqloom.tasks.metrics.calibration import Calibration

items = st.lists(st.tuples(st.floats(1e-6, 1), st.booleans()), min_size=1, max_size=40)


@given(items=items, bins=st.integers(1, 15), cut=st.integers(0, 40))
def test_bins_equal_a_loop_over_items(items: list[tuple[float, bool]], bins: int, cut: int) -> None:
    calibration = Calibration(bins)
    for batch in (items[:cut], items[cut:]):
        calibration.add([confidence for confidence, _ in batch], [right for _, right in batch])
    error = 0.0
    for i, row in enumerate(calibration.bins()):
        inside = [(c, r) for c, r in items if i < c * bins <= i + 1]
        assert row.count == len(inside)
        assert (row.low, row.high) == (i / bins, (i + 1) / bins)
        if inside:
            confidence, accuracy = (sum(column) / len(inside) for column in zip(*inside, strict=True))
            assert (row.confidence, row.accuracy) == pytest.approx((confidence, accuracy))
            error += len(inside) / len(items) * abs(accuracy - confidence)
    assert calibration.scores()["calibration_error"] == pytest.approx(error)


def test_samples_of_the_model_are_calibrated() -> None:
    probabilities = torch.randn(20_000, 3).softmax(dim=1)
    gold = torch.multinomial(probabilities, 1).squeeze(1)
    top = probabilities.max(dim=1)
    honest, boastful = Calibration(), Calibration()
    honest.add(top.values, top.indices == gold)
    boastful.add(top.values.sqrt(), top.indices == gold)
    assert honest.scores()["calibration_error"] < 0.015
    assert boastful.scores()["calibration_error"] > 0.1


def test_padding_is_not_counted() -> None:
    calibration = Calibration()
    calibration.add(torch.tensor([[0.9, 0.8], [0.7, 0.0]]), torch.tensor([[True, False], [True, True]]))
    assert calibration.count.sum() == 3


def test_bfloat16_rounded_above_one_is_accepted() -> None:
    calibration = Calibration(10)
    calibration.add(torch.tensor([1.0, 0.5], dtype=torch.bfloat16), torch.tensor([True, True]))
    calibration.add([1.0000001], [True])
    assert calibration.bins()[9].count == 2


def test_without_items_there_is_no_score() -> None:
    assert Calibration().scores() == {}


@pytest.mark.parametrize("wrong", [1.5, -0.5, float("nan")])
def test_a_value_outside_0_to_1_is_an_error(wrong: float) -> None:
    with pytest.raises(ArgumentError, match="confidence has a value outside 0 to 1; expected probabilities"):
        Calibration().add([0.5, wrong], [True, True])


def test_other_invalid_input_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="bins is 0; expected at least 1"):
        Calibration(0)
    with pytest.raises(ArgumentError, match=r"correct has shape \[2\]; expected \[1\]"):
        Calibration().add([0.5], [True, False])
