"""Heads with one prediction per row."""

import pytest
import torch

from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.nn.heads import GaussianLikelihood, LabelsPerSequence, PerSequence, PerToken, Pooled, SquaredError
from seqloom.nn.pooling import POOLS, MaxPool, MeanPool
from seqloom.nn.record import record

Y, LENGTHS = torch.randn(3, 4, 5), torch.tensor([4, 2, 0])


@pytest.mark.parametrize("pool", list(POOLS))
def test_class_scores_are_those_of_the_pooled_vector(pool: str) -> None:
    head, target = PerSequence(5, 3, pool=pool), torch.tensor([0, 2, 1])
    pooled = head.pool(Y, LENGTHS)
    p = (pooled @ head.head.output.weight.T + head.head.output.bias).softmax(1)
    loss = head.loss(Y, target, LENGTHS)
    assert loss.count == 3  # the empty row has a class too
    torch.testing.assert_close(loss.total, -p[range(3), target].log().sum())
    torch.testing.assert_close(head.probabilities(Y, LENGTHS), p)
    assert torch.equal(head.predict(Y, LENGTHS), p.argmax(1))


def test_a_row_may_have_several_labels() -> None:
    head, target = LabelsPerSequence(5, 2, pool="max", threshold=0.4), torch.tensor([[1, 0], [1, 1], [0, 0]]).bool()
    p = (MaxPool(5)(Y, LENGTHS) @ head.head.output.weight.T + head.head.output.bias).sigmoid()
    loss = head.loss(Y, target, LENGTHS)
    assert loss.count == 3
    torch.testing.assert_close(loss.total, -torch.where(target, p, 1 - p).log().sum())
    assert torch.equal(head.predict(Y, LENGTHS), p >= 0.4)


def test_the_prediction_for_an_empty_row_is_the_prior() -> None:
    head = PerSequence(5, 3)
    head.init_bias_from_prior(torch.tensor([1, 1, 6]))
    torch.testing.assert_close(head.probabilities(Y, LENGTHS)[2], torch.tensor([1, 1, 6]) / 8)


def test_values_are_predicted_per_row() -> None:
    head = Pooled("mean", GaussianLikelihood(5, 2))
    target = torch.randn(3, 2)
    normal = head.head.distribution(head.pooled_step(Y, LENGTHS))
    loss = head.loss(Y, target, LENGTHS)
    torch.testing.assert_close(loss.total, -normal.log_prob(target.unsqueeze(1)).sum())
    assert loss.count == 6
    assert head.predict(Y, LENGTHS).shape == (3, 2)


def test_a_pool_may_be_a_module_and_shared() -> None:
    pool = MeanPool(5)
    assert PerSequence(5, 3, pool=pool).pool is pool


def test_pooling_weights_are_recorded_under_the_pool() -> None:
    with record("attention") as seen:
        PerSequence(5, 3, pool="attention")(Y, LENGTHS)
    assert seen["attention"]["pool"]["weights"].shape == (3, 1, 1, 4)


def test_invalid_pools_are_errors() -> None:
    with pytest.raises(UnknownName, match=r"unknown pool 'man'\. Did you mean"):
        PerSequence(5, 3, pool="man")
    with pytest.raises(ArgumentError, match="Pooled: head has input_size 5; expected 4, the width of the pool"):
        Pooled(MeanPool(4), SquaredError(5, 1))


def test_smoothing_is_passed_to_the_head() -> None:
    head = PerSequence(5, 3, smoothing=0.1)
    assert isinstance(head.head, PerToken)
    assert head.loss(Y, torch.tensor([0, 1, 2])).total != head.eval().loss(Y, torch.tensor([0, 1, 2])).total
