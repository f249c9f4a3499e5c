"""Residual connections: the sum, the position of the norm, and dropout."""

import pytest
import torch
from torch.testing import assert_close

from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.nn.feed_forward import FeedForward
from seqloom.nn.layer import Pointwise
from seqloom.nn.multihead import SelfAttention
from seqloom.nn.normalization import LayerNorm, RMSNorm
from seqloom.nn.record import record
from seqloom.nn.residual import NORM_ORDERS, PostNorm, PreNorm, Residual
from seqloom.nn.stack import Stack


class Double(Pointwise):
    """y = 2x"""

    def __init__(self, size, output_size=None):
        super().__init__()
        self.input_size, self.output_size = size, output_size or size

    def transform(self, x):
        return 2 * x


def norm(x):
    return (x - x.mean(dim=2, keepdim=True)) / torch.sqrt(x.var(dim=2, keepdim=True, correction=0) + 1e-5)


def test_residuals_equal_their_three_equations():
    x = torch.randn(2, 3, 4)
    assert_close(Residual(Double(4))(x)[0], x + 2 * x)
    assert_close(PreNorm(Double(4), norm="layer")(x)[0], x + 2 * norm(x))
    assert_close(PostNorm(Double(4), norm="layer")(x)[0], norm(x + 2 * x))


def test_only_normed_residuals_have_a_norm():
    assert list(Residual(Double(4)).sublayers()) == ["layer", "dropout"]
    assert all(list(order(Double(4)).sublayers()) == ["layer", "norm", "dropout"] for order in NORM_ORDERS.values())


@pytest.mark.parametrize("order", NORM_ORDERS.values(), ids=NORM_ORDERS)
def test_a_norm_is_a_name_or_a_module(order):
    assert isinstance(order(Double(4), norm="rms").sublayers()["norm"], RMSNorm)
    own = LayerNorm(4, eps=0.1)
    assert order(Double(4), norm=own).sublayers()["norm"] is own


@pytest.mark.parametrize(
    ("make", "around"),
    [
        (lambda: Residual(Double(4), dropout=0.5), lambda x, kept: x + 2 * x * kept),
        (lambda: PreNorm(Double(4), norm="layer", dropout=0.5), lambda x, kept: x + 2 * norm(x) * kept),
        (lambda: PostNorm(Double(4), norm="layer", dropout=0.5), lambda x, kept: norm(x + 2 * x * kept)),
    ],
    ids=["residual", "pre-norm", "post-norm"],
)
def test_dropout_drops_the_output_of_the_layer_and_never_x(make, around):
    layer, x = make(), torch.randn(2, 30, 4)
    torch.manual_seed(1)
    y, _ = layer.train()(x)
    torch.manual_seed(1)
    kept = torch.nn.functional.dropout(torch.ones_like(x), 0.5)
    assert_close(y, around(x, kept))
    assert_close(layer.eval()(x)[0], around(x, torch.ones_like(x)))


def test_gradients_flow_through_the_residual_connection():
    """∂y/∂x includes the identity for every layer; with f = 0 it is the identity."""
    layer = FeedForward(4, hidden_size=8)
    for weight in layer.parameters():
        torch.nn.init.zeros_(weight)
    x = torch.randn(1, 3, 4, requires_grad=True)
    deep = Stack([Residual(layer) for _ in range(50)])
    deep(x)[0].sum().backward()
    assert_close(x.grad, torch.ones_like(x))


def test_traits_are_those_of_the_layer_and_the_norm():
    assert PreNorm(SelfAttention(4, 2, causal=True), norm="layer").traits.causal
    assert not PreNorm(SelfAttention(4, 2), norm="layer").traits.causal
    assert not PreNorm(SelfAttention(4, 2, causal=True), norm="instance").traits.causal
    assert not PostNorm(Double(4), norm="batch").traits.rows_independent


def test_the_state_and_the_records_are_those_of_the_layer():
    layer = PreNorm(SelfAttention(4, 2, causal=True), norm="layer")
    with record("attention") as seen:
        _, state = layer(torch.randn(2, 3, 4))
    assert sorted(state) == ["layer.keys", "layer.values"]
    assert list(seen["attention"]) == ["layer"]


@pytest.mark.parametrize("kind", [Residual, PreNorm, PostNorm])
def test_a_layer_that_changes_the_width_cannot_be_residual(kind):
    sentence = r": Double has input_size 4 and output_size 5; expected the same, for x \+ f\(x\)\.$"
    with pytest.raises(ArgumentError, match=f"^{kind.__name__}{sentence}"):
        kind(Double(4, 5))


def test_a_norm_with_a_state_is_an_error():
    message = r"^PreNorm: norm is a norm that carries keys, values; expected one without a state\.$"
    with pytest.raises(ArgumentError, match=message):
        PreNorm(Double(4), norm=SelfAttention(4, 2, causal=True))


def test_invalid_settings_are_errors():
    with pytest.raises(ArgumentError, match=r"^Dropout: p is 1\.5; expected a probability"):
        Residual(Double(4), dropout=1.5)
    with pytest.raises(ArgumentError, match=r"^FeedForward: dropout is -0\.1; expected a probability"):
        FeedForward(4, 8, dropout=-0.1)
    with pytest.raises(UnknownName, match="unknown norm order 'before'"):
        NORM_ORDERS["before"]
