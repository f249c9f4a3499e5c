"""MLP-Mixer, beyond the tests of every layer in the conformance suite."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from seqloom.core.problem import ArgumentError, CannotStep
from seqloom.nn.mixer import MixerBlock, TokenMixing
from seqloom.nn.stack import Stack


def test_a_block_equals_the_code_of_the_paper():
    """Appendix E of the paper, in torch: transpose, MLP, transpose, skip; MLP, skip."""
    block = MixerBlock(4, length=6, token_hidden_size=5, hidden_size=7).double()
    tokens, features = block.layers["tokens"].layers, block.layers["features"].layers

    def mlp(layer):
        return nn.Sequential(layer.widen, nn.GELU(), layer.narrow)

    x = torch.randn(2, 6, 4, dtype=torch.float64)
    mixed = x + mlp(tokens["layer"])(tokens["norm"](x)[0].transpose(1, 2)).transpose(1, 2)
    expected = mixed + mlp(features["layer"])(features["norm"](mixed)[0])
    assert_close(block(x)[0], expected)


def test_token_mixing_has_the_same_weights_for_all_features():
    layer, x = TokenMixing(4, length=6, hidden_size=5), torch.randn(2, 6, 4)
    order = torch.tensor([2, 0, 3, 1])
    assert_close(layer(x[..., order])[0], layer(x)[0][..., order])


def test_norm_outputs_on_padding_do_not_reach_other_tokens():
    """The shift β of a norm is not zero; on padding it must not enter the sum over tokens."""
    block, x = MixerBlock(4, length=6, token_hidden_size=5, hidden_size=7), torch.randn(1, 6, 4)
    with torch.no_grad():
        block.layers["tokens"].layers["norm"].bias.fill_(3.0)
    assert_close(block(x, torch.tensor([3]))[0][:, :3], block(x[:, :3])[0])


def test_a_mixer_is_a_stack_of_blocks():
    mixer = Stack([MixerBlock(4, length=6, token_hidden_size=5, hidden_size=7) for _ in range(3)])
    assert mixer.traits.max_length == 6
    assert not mixer.traits.causal


def test_a_longer_sequence_is_an_error():
    with pytest.raises(ArgumentError, match=r"^TokenMixing: x has 7 steps; expected at most 6 in all\.$"):
        TokenMixing(3, length=6, hidden_size=4)(torch.randn(2, 7, 3))
    with pytest.raises(ArgumentError, match=r"^MixerBlock: x has 7 steps; expected at most 6 in all\.$"):
        MixerBlock(3, length=6, token_hidden_size=4, hidden_size=4)(torch.randn(2, 7, 3))


def test_a_mixer_can_not_step():
    block = MixerBlock(3, length=6, token_hidden_size=4, hidden_size=4)
    _, state = block(torch.randn(2, 1, 3))
    with pytest.raises(CannotStep, match="Give it all steps in one call"):
        block(torch.randn(2, 1, 3), state=state)


def test_a_length_is_at_least_one():
    with pytest.raises(ArgumentError, match=r"^TokenMixing: length is 0; expected a whole number, at least 1\.$"):
        TokenMixing(3, length=0, hidden_size=4)
