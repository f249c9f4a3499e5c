"""The three dense layers, beyond the tests of every layer in the conformance suite."""

import pytest
import torch
from torch.testing import assert_close

from seqloom.core.problem import ArgumentError, CannotStep, UnknownName
from seqloom.nn.dense import DenseOverBoth, DenseOverFeatures, DenseOverTokens

fixed = {"tokens": lambda: DenseOverTokens(3, length=6), "both": lambda: DenseOverBoth(3, 4, length=6)}


def test_over_features_no_position_sees_another():
    assert sees(DenseOverFeatures(3, 4)) == torch.eye(6, dtype=torch.bool).tolist()


@pytest.mark.parametrize("make", fixed.values(), ids=fixed)
def test_over_tokens_and_over_both_every_position_sees_all(make):
    assert sees(make()) == torch.ones(6, 6, dtype=torch.bool).tolist()


def test_over_tokens_features_are_separate():
    layer = DenseOverTokens(3, length=6)
    x = torch.randn(1, 6, 3, requires_grad=True)
    layer(x)[0][..., 1].sum().backward()
    assert (x.grad.abs().sum(dim=(0, 1)) > 0).tolist() == [False, True, False]


def test_over_both_includes_the_other_two():
    """W = W_tokens ⊗ W_features"""
    features, tokens = DenseOverFeatures(3, 4, bias=False), DenseOverTokens(4, 6, bias=False)
    both = DenseOverBoth(3, 4, 6, bias=False)
    with torch.no_grad():
        both.linear.weight.copy_(torch.kron(tokens.linear.weight, features.linear.weight))
    x, lengths = torch.randn(3, 6, 3), torch.tensor([6, 2, 0])
    assert_close(both(x, lengths)[0], tokens(features(x, lengths)[0], lengths)[0])


@pytest.mark.parametrize("make", fixed.values(), ids=fixed)
def test_a_shorter_row_equals_one_padded_with_zeros(make):
    layer, x = make(), torch.randn(2, 4, 3)
    filled = torch.cat([x, torch.zeros(2, 2, 3)], dim=1)
    assert_close(layer(x)[0], layer(filled)[0][:, :4])
    assert_close(layer(x)[0], layer(torch.cat([x, torch.randn(2, 2, 3)], dim=1), torch.tensor([4, 4]))[0][:, :4])


@pytest.mark.parametrize("make", fixed.values(), ids=fixed)
def test_a_longer_sequence_is_an_error(make):
    with pytest.raises(ArgumentError, match=r"^DenseOver(Tokens|Both): x has 7 steps; expected at most 6 in all\.$"):
        make()(torch.randn(2, 7, 3))


@pytest.mark.parametrize("make", fixed.values(), ids=fixed)
def test_dense_layers_over_tokens_can_not_step(make):
    layer = make()
    _, state = layer(torch.randn(2, 1, 3))
    with pytest.raises(CannotStep, match="Give it all steps in one call"):
        layer(torch.randn(2, 1, 3), state=state)


def test_a_length_is_at_least_one():
    with pytest.raises(ArgumentError, match=r"^DenseOverTokens: length is 0; expected a whole number, at least 1\.$"):
        DenseOverTokens(3, length=0)
    with pytest.raises(ArgumentError, match=r"^DenseOverBoth: length is -2; expected a whole number, at least 1\.$"):
        DenseOverBoth(3, 4, length=-2)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("length", [2.5, "8", True])
def test_a_length_is_a_whole_number(length):
    with pytest.raises(ArgumentError, match="expected a whole number, at least 1"):
        DenseOverTokens(3, length=length)


def test_an_unknown_activation_names_the_nearest():
    with pytest.raises(UnknownName, match=r"unknown activation 'tan'\. Did you mean 'tanh'"):
        DenseOverFeatures(3, 4, activation="tan")


def sees(layer):
    """Which positions (columns) each position (row) depends on."""
    x = torch.randn(1, 6, 3, requires_grad=True)
    y, _ = layer(x)
    gradients = [torch.autograd.grad(y[0, t].sum(), x, retain_graph=True)[0] for t in range(6)]
    return (torch.stack(gradients).abs().sum(dim=(1, 3)) > 0).tolist()
