import pytest
import torch

from seqloom.core.problem import ArgumentError
from seqloom.nn.dropout import DROPOUTS, Dropout, DropoutBase, VariationalDropout

every_kind = pytest.mark.parametrize("kind", DROPOUTS.values(), ids=DROPOUTS)


@every_kind
@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_dropout_drops_its_fraction_and_keeps_the_mean(kind: type[DropoutBase], p: float) -> None:
    y, _ = kind(200, p).train()(torch.ones(100, 5, 200))
    assert y.eq(0).float().mean().item() == pytest.approx(p, abs=0.02)
    assert y.mean().item() == pytest.approx(1, abs=0.05)
    torch.testing.assert_close(y[y != 0], torch.full_like(y[y != 0], 1 / (1 - p)))


@every_kind
def test_dropout_is_the_identity_in_eval_mode_and_with_p_0(kind: type[DropoutBase]) -> None:
    x = torch.randn(2, 3, 4)
    assert torch.equal(kind(4, 0.5).eval()(x)[0], x)
    assert torch.equal(kind(4, 0.0).train()(x)[0], x)


@every_kind
def test_gradients_reach_kept_values_only(kind: type[DropoutBase]) -> None:
    x = torch.randn(3, 4, 50).requires_grad_()
    y, _ = kind(50, 0.5).train()(x)
    y.sum().backward()
    assert torch.equal(x.grad, torch.where(y == 0, 0.0, 2.0))


def test_plain_dropout_samples_every_value() -> None:
    y, _ = Dropout(500, 0.5).train()(torch.ones(2, 2, 500))
    pairs = [(y[0, 0], y[0, 1]), (y[0, 0], y[1, 0])]
    assert all(same.eq(other).float().mean().item() == pytest.approx(0.5, abs=0.1) for same, other in pairs)


def test_variational_dropout_samples_once_for_all_steps_of_a_row() -> None:
    y, _ = VariationalDropout(500, 0.5).train()(torch.ones(2, 7, 500))
    assert y.eq(y[:, :1]).all()
    assert y[0, 0].eq(y[1, 0]).float().mean().item() == pytest.approx(0.5, abs=0.1)


@every_kind
@pytest.mark.parametrize("p", [1.0, -0.1])
def test_an_invalid_probability_is_an_error(kind: type[DropoutBase], p: float) -> None:
    with pytest.raises(
        ArgumentError, match=rf"{kind.__name__}: p is {p}; expected a probability, at least 0 and below 1"
    ):
        kind(4, p)
