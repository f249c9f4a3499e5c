"""Reliability bins against a loop over items."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.problem import ArgumentError
from seqloom.tasks.metrics.calibration import Calibration

items = st.lists(st.tuples(st.floats(1e-6, 1), st.booleans()), min_size=1, max_size=40)


@given(items=items, bins=st.integers(1, 15), cut=st.integers(0, 40))
def test_equals_a_loop(items: list[tuple[float, bool]], bins: int, cut: int) -> None:
    calibration = Calibration(bins)
    for part in (items[:cut], items[cut:]):
        calibration.add([confidence for confidence, _ in part], [right for _, right in part])
    error = 0.0
    for i, row in enumerate(calibration.bins()):
        inside = [(c, r) for c, r in items if i < c * bins <= i + 1]
        assert row.count == len(inside)
        assert (row.low, row.high) == (i / bins, (i + 1) / bins)
        if inside:
            confidence, accuracy = (sum(each) / len(inside) for each in zip(*inside, strict=True))
            assert (row.confidence, row.accuracy) == pytest.approx((confidence, accuracy))
            error += len(inside) / len(items) * abs(accuracy - confidence)
    assert calibration.scores()["calibration_error"] == pytest.approx(error)


def test_draws_from_the_model_itself_are_calibrated() -> None:
    probabilities = torch.randn(20_000, 3).softmax(dim=1)
    gold = torch.multinomial(probabilities, 1).squeeze(1)
    top = probabilities.max(dim=1)
    honest, boastful = Calibration(), Calibration()
    honest.add(top.values, top.indices == gold)
    boastful.add(top.values.sqrt(), top.indices == gold)
    assert honest.scores()["calibration_error"] < 0.015
    assert boastful.scores()["calibration_error"] > 0.1


def test_what_a_head_pads_is_not_counted() -> None:
    calibration = Calibration()
    calibration.add(torch.tensor([[0.9, 0.8], [0.7, 0.0]]), torch.tensor([[True, False], [True, True]]))
    assert calibration.count.sum() == 3


def test_takes_bfloat16_that_was_rounded_past_one() -> None:
    calibration = Calibration(10)
    calibration.add(torch.tensor([1.0, 0.5], dtype=torch.bfloat16), torch.tensor([True, True]))
    calibration.add([1.0000001], [True])
    assert calibration.bins()[9].count == 2


def test_of_nothing_there_is_no_error() -> None:
    assert Calibration().scores() == {}


@pytest.mark.parametrize("wrong", [1.5, -0.5, float("nan")])
def test_what_is_no_probability_is_a_sentence(wrong: float) -> None:
    with pytest.raises(ArgumentError, match="confidence has a value outside 0 to 1; expected probabilities"):
        Calibration().add([0.5, wrong], [True, True])


def test_other_bad_input_is_a_sentence() -> None:
    with pytest.raises(ArgumentError, match="bins is 0; expected at least 1"):
        Calibration(0)
    with pytest.raises(ArgumentError, match=r"correct has shape \[2\]; expected \[1\]"):
        Calibration().add([0.5], [True, False])
