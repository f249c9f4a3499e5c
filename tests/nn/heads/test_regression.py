"""Regression losses equal their formula and torch.distributions."""

import math

import pytest
import torch
from torch import Tensor
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


def moments(target: Tensor) -> tuple[Tensor, Tensor]:
    return target.mean(dim=(0, 1)), target.var(dim=(0, 1), correction=0)


def test_the_initial_loss_of_squared_error_is_the_variance_of_the_targets() -> None:
    """With y = 0."""
    head, (mean, variance) = CASES["squared error"].head(), moments(3 * TARGET + 5)
    head.init_bias_from_moments(mean, variance)
    y = torch.zeros_like(Y)
    torch.testing.assert_close(head.loss(y, 3 * TARGET + 5).mean, variance.mean())
    torch.testing.assert_close(head.predict(y), mean.expand(3, 3, 2))


def test_the_initial_loss_of_the_gaussian_likelihood_is_its_entropy() -> None:
    """With y = 0."""
    head, (mean, variance) = CASES["gaussian"].head(), moments(3 * TARGET + 5)
    head.init_bias_from_moments(mean, variance)
    y = torch.zeros_like(Y)
    torch.testing.assert_close(head.loss(y, 3 * TARGET + 5).mean, Normal(mean, variance.sqrt()).entropy().mean())
    torch.testing.assert_close(head.distribution(y).mean, mean.expand(3, 3, 2))
    torch.testing.assert_close(head.distribution(y).variance, variance.expand(3, 3, 2))


def test_an_output_that_does_not_vary_starts_with_a_variance_of_one() -> None:
    head = GaussianLikelihood(4, 2)
    head.init_bias_from_moments(torch.tensor([7, 1]), torch.tensor([0, 4]))
    torch.testing.assert_close(head.output.bias.data, torch.tensor([7.0, 1.0, 0.0, math.log(4)]))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("make", [SquaredError, GaussianLikelihood])
@pytest.mark.parametrize(
    ("mean", "variance", "message"),
    [
        ([1.0], [1.0, 1.0], r"mean has shape \[1\]; expected \[2\], one per output"),
        ([1.0, 2.0], [1.0], r"variance has shape \[1\]; expected \[2\]"),
        ([1.0, float("nan")], [1.0, 1.0], "mean has a value that is not finite"),
        ([1.0, 2.0], [1.0, -0.5], "variance has the value -0.5; expected at least 0"),
    ],
)
def test_invalid_moments_are_errors(
    make: type[SquaredError], mean: list[float], variance: list[float], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        make(4, 2).init_bias_from_moments(torch.tensor(mean), torch.tensor(variance))


@pytest.mark.parametrize("make", [SquaredError, GaussianLikelihood])
def test_no_outputs_is_an_error(make: type[SquaredError]) -> None:
    with pytest.raises(ArgumentError, match=rf"{make.__name__}: outputs is 0; expected a whole number, at least 1"):
        make(4, 0)
