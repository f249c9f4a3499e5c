"""Regression losses equal their formula and torch.distributions."""

import pytest
import torch
from torch.distributions import Normal
from torch.nn import functional as F

from seqloom.core.problem import ArgumentError
from seqloom.nn.heads import GaussianLikelihood, SquaredError
from tests.nn.heads.cases import CASES

LENGTHS = torch.tensor([3, 1, 0])
Y, TARGET = torch.randn(3, 3, 4, dtype=torch.float64), torch.randn(3, 3, 2, dtype=torch.float64)


def test_squared_error_equals_its_formula() -> None:
    head = CASES["squared error"].head()
    expected = sum(
        (TARGET[i, t, o] - head.output.weight[o] @ Y[i, t] - head.output.bias[o]).item() ** 2
        for i, length in enumerate(LENGTHS)
        for t in range(length)
        for o in range(2)
    )
    loss = head.loss(Y, TARGET, LENGTHS)
    assert loss.total.item() == pytest.approx(expected, rel=1e-12)
    assert loss.count == 8
    torch.testing.assert_close(head.loss(Y, TARGET).mean, F.mse_loss(head.predict(Y), TARGET))


def test_gaussian_likelihood_equals_that_of_torch() -> None:
    head = CASES["gaussian"].head()
    mean, log_variance = (Y @ head.output.weight.T + head.output.bias).split(2, dim=2)
    losses = -Normal(mean, log_variance.exp().sqrt()).log_prob(TARGET)
    loss = head.loss(Y, TARGET, LENGTHS)
    torch.testing.assert_close(loss.total, losses[0].sum() + losses[1, 0].sum())
    assert loss.count == 8
    torch.testing.assert_close(head.predict(Y), mean)
    torch.testing.assert_close(head.distribution(Y).stddev, (log_variance / 2).exp())
    torch.testing.assert_close(-head.distribution(Y).log_prob(TARGET), losses)


def test_predictions_are_zero_on_padding() -> None:
    head = CASES["gaussian"].head()
    assert head.predict(Y, LENGTHS)[2].eq(0).all()
    assert head.distribution(Y, LENGTHS).mean[2].eq(0).all()
    assert CASES["squared error"].head().predict(Y, LENGTHS)[1, 1:].eq(0).all()


def test_very_small_variance_stays_finite() -> None:
    head = GaussianLikelihood(1, 1)
    with torch.no_grad():
        head.output.bias.copy_(torch.tensor([0.0, -150.0]))
        head.output.weight.zero_()
    y = torch.zeros(1, 1, 1, requires_grad=True)
    loss = head.loss(y, torch.zeros(1, 1, 1))
    loss.total.backward()
    assert loss.total.isfinite()
    assert y.grad.isfinite().all()


@pytest.mark.parametrize("make", [SquaredError, GaussianLikelihood])
def test_no_outputs_is_an_error(make: type[SquaredError]) -> None:
    with pytest.raises(ArgumentError, match=rf"{make.__name__}: outputs is 0; expected a whole number, at least 1"):
        make(4, 0)
