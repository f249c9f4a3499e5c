"""Cross-entropies equal their formula in float64."""

import math

import pytest
import torch
from torch.nn import functional as F

from seqloom.core.problem import ArgumentError
from seqloom.nn.heads import PADDING, LabelsPerToken, PerToken
from tests.nn.heads.cases import CASES

LENGTHS = torch.tensor([3, 1, 0])


def softmax(scores: list[float]) -> list[float]:
    parts = [math.exp(score) for score in scores]
    return [part / sum(parts) for part in parts]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_of_one_class_per_step_equals_its_formula(smoothing: float) -> None:
    head = CASES["per position"].head()
    head.smoothing = smoothing
    y, target = torch.randn(3, 3, 4, dtype=torch.float64), torch.randint(5, (3, 3))
    expected = 0.0
    for i, length in enumerate(LENGTHS):
        for t in range(length):
            p = softmax((head.output.weight @ y[i, t] + head.output.bias).tolist())
            spread = sum(-math.log(probability) for probability in p) / len(p)
            expected += -(1 - smoothing) * math.log(p[target[i, t]]) + smoothing * spread
    loss = head.loss(y, target, LENGTHS)
    assert loss.count == 4
    assert loss.total.item() == pytest.approx(expected, rel=1e-12)


def test_smoothing_equals_that_of_torch_in_training_only() -> None:
    head = PerToken(4, 5, smoothing=0.2)
    y, target = torch.randn(2, 3, 4), torch.randint(5, (2, 3))
    scores = head(y).flatten(0, 1)
    smoothed = F.cross_entropy(scores, target.flatten(), label_smoothing=0.2)
    torch.testing.assert_close(head.loss(y, target).mean, smoothed)
    torch.testing.assert_close(head.eval().loss(y, target).mean, F.cross_entropy(scores, target.flatten()))


def test_the_prediction_is_the_argmax_and_padding_beyond_a_row() -> None:
    head = CASES["per position"].head()
    y = torch.randn(3, 3, 4, dtype=torch.float64)
    predicted = head.predict(y, LENGTHS)
    assert predicted[1].tolist() == [head.probabilities(y, LENGTHS)[1, 0].argmax(), PADDING, PADDING]
    assert predicted[2].tolist() == [PADDING] * 3


def test_targets_may_be_int32() -> None:
    head, y = PerToken(4, 5), torch.randn(2, 3, 4)
    target = torch.randint(5, (2, 3))
    assert head.loss(y, target.int()).total == head.loss(y, target).total


def test_the_loss_of_labels_per_step_equals_its_formula() -> None:
    head = CASES["labels per position"].head()
    y, target = torch.randn(3, 3, 4, dtype=torch.float64), torch.rand(3, 3, 5) < 0.5
    expected = 0.0
    for i, length in enumerate(LENGTHS):
        for t in range(length):
            for k, score in enumerate((head.output.weight @ y[i, t] + head.output.bias).tolist()):
                p = 1 / (1 + math.exp(-score))
                expected -= math.log(p) if target[i, t, k] else math.log(1 - p)
    loss = head.loss(y, target, LENGTHS)
    assert loss.count == 4
    assert loss.total.item() == pytest.approx(expected, rel=1e-12)
    torch.testing.assert_close(head.loss(y, target.float(), LENGTHS).total, loss.total)


def test_labels_are_predicted_at_a_threshold() -> None:
    head = LabelsPerToken(4, 5, threshold=0.7)
    y = torch.randn(3, 3, 4)
    predicted = head.predict(y, LENGTHS)
    assert torch.equal(predicted[0], head.probabilities(y)[0] >= 0.7)
    assert not predicted[2].any()


def test_a_label_prior_is_a_share() -> None:
    with pytest.raises(ArgumentError, match="prior has values from 1 to 9; expected the share of items"):
        LabelsPerToken(4, 2).init_bias_from_prior(torch.tensor([1, 9]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PerToken(4, 0), "PerToken: classes is 0; expected a whole number, at least 1."),
        (lambda: PerToken(4, 5, smoothing=1.0), "PerToken: smoothing is 1.0; expected a probability"),
        (lambda: LabelsPerToken(4, -2), "LabelsPerToken: labels is -2; expected a whole number"),
    ],
)
def test_invalid_arguments_are_errors(make: object, message: str) -> None:
    with pytest.raises(ArgumentError) as error:
        make()
    assert str(error.value).startswith(message)
