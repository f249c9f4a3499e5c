"""Positions equal their formulas, in every precision, and past the maximum length."""

import math

import pytest
import torch
from torch.testing import assert_close

from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.nn.initialization import initialize
from seqloom.nn.positions import POSITIONS, LearnedPositions, Rotary, Sinusoidal
from seqloom.nn.stack import Stack
from seqloom.nn.state import State


def formula(p, size, base=10_000.0):
    """PE_{p, 2i} = sin(p / base^(2i/dim)), PE_{p, 2i+1} = cos(p / base^(2i/dim))"""
    waves = (math.sin, math.cos)
    return [waves[feature % 2](p / base ** ((feature - feature % 2) / size)) for feature in range(size)]


def at(p, x):
    """One step of every row at position p."""
    return State(position=torch.full((x.shape[0],), p), max_position=p)


# Sinusoidal --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 7, 16])
def test_sinusoidal_positions_equal_their_formula(size):
    x = torch.randn(2, 20, size, dtype=torch.float64)
    y, _ = Sinusoidal(size)(x)
    assert_close(y - x, torch.tensor([formula(p, size) for p in range(20)], dtype=torch.float64).expand(2, -1, -1))


def test_sinusoidal_positions_may_have_another_base():
    y, _ = Sinusoidal(4, base=7.0)(torch.zeros(1, 9, 4, dtype=torch.float64))
    assert_close(y[0, 8].tolist(), formula(8, 4, base=7.0))


def test_a_shift_is_a_rotation():
    """PE_{p+k} is a linear map of PE_p that does not depend on p, as the paper says."""
    y, _ = Sinusoidal(8)(torch.zeros(1, 60, 8, dtype=torch.float64))
    early, later = y[0, :50], y[0, 7:57]
    shift = torch.linalg.lstsq(early, later).solution
    assert_close(early @ shift, later)


@pytest.mark.parametrize("p", [255, 256, 257, 1001, 20_011])
def test_bfloat16_counts_past_256(p):
    """bfloat16 can not represent 257, but positions are never in bfloat16."""
    x = torch.zeros(1, 1, 32, dtype=torch.bfloat16)
    y, _ = Sinusoidal(32)(x, state=at(p, x))
    assert y.dtype == torch.bfloat16
    assert_close(y.flatten().tolist(), formula(p, 32), rtol=0, atol=0.005)


def test_rows_may_be_at_different_positions():
    x = torch.zeros(3, 2, 4, dtype=torch.float64)
    y, _ = Sinusoidal(4)(x, state=State(position=torch.tensor([0, 7, 300]), max_position=300))
    for row, start in enumerate((0, 7, 300)):
        assert_close(y[row].tolist(), [formula(start, 4), formula(start + 1, 4)])


# Learned -----------------------------------------------------------------------------------------------------------


def test_learned_positions_are_added():
    layer, x = LearnedPositions(4, length=6), torch.randn(2, 5, 4)
    assert_close(layer(x)[0], x + layer.embedding.weight[:5])


def test_a_position_past_the_length_is_an_error():
    layer = LearnedPositions(4, length=6)
    with pytest.raises(ArgumentError, match=r"^LearnedPositions: x has 7 steps; expected at most 6 in all\.$"):
        layer(torch.randn(1, 7, 4))
    _, state = layer(torch.randn(1, 5, 4))
    layer(torch.randn(1, 1, 4), state=state)
    with pytest.raises(ArgumentError, match=r"x has 2 steps after 5 earlier ones; expected at most 6 in all\.$"):
        layer(torch.randn(1, 2, 4), state=state)
    with pytest.raises(ArgumentError, match=r"x has 7 steps; expected at most 6"):
        Stack([LearnedPositions(4, length=9), layer])(torch.randn(1, 7, 4))


def test_a_row_at_the_maximum_length_may_wait_while_others_continue():
    layer, x = LearnedPositions(4, length=6), torch.randn(2, 3, 4)
    state = State(position=torch.tensor([6, 1]), max_position=6)
    y, after = layer(x, torch.tensor([0, 3]), state)
    assert_close(y[1], x[1] + layer.embedding.weight[1:4])
    assert after.position.tolist() == [6, 4]
    with pytest.raises(ArgumentError, match="expected at most 6 in all"):
        layer(x, torch.tensor([1, 3]), state)


def test_only_used_learned_positions_have_gradients():
    layer = LearnedPositions(4, length=6)
    layer(torch.randn(2, 5, 4), torch.tensor([2, 4]))[0].sum().backward()
    assert layer.embedding.weight.grad[:, 0].tolist() == [2, 2, 1, 1, 0, 0]


def test_learned_positions_start_small_and_are_not_initialized():
    layer = LearnedPositions(64, length=50)
    assert layer.embedding.weight.std().item() == pytest.approx(0.02, rel=0.1)
    before = layer.embedding.weight.clone()
    initialize(Stack([layer]), embeddings="uniform")
    assert torch.equal(layer.embedding.weight, before)


def test_a_length_is_at_least_one():
    with pytest.raises(ArgumentError, match=r"^LearnedPositions: length is 0; expected a whole number, at least 1\.$"):
        LearnedPositions(4, length=0)


# Rotary ------------------------------------------------------------------------------------------------------------


def test_rotary_positions_equal_their_formula():
    rotary, x = Rotary(6, base=100.0), torch.randn(2, 3, 5, 6, dtype=torch.float64)
    y = rotary(x, torch.arange(5).unsqueeze(0))
    for p in range(5):
        for i in range(3):
            angle = p * 100.0 ** (-2 * i / 6)
            a, b = x[:, :, p, i], x[:, :, p, i + 3]
            assert_close(y[:, :, p, i], a * math.cos(angle) - b * math.sin(angle))
            assert_close(y[:, :, p, i + 3], b * math.cos(angle) + a * math.sin(angle))


def test_a_rotation_keeps_lengths():
    x = torch.randn(2, 3, 50, 8, dtype=torch.float64)
    assert_close(Rotary(8)(x, torch.arange(50).unsqueeze(0)).norm(dim=3), x.norm(dim=3))


@pytest.mark.parametrize("p", [257, 1001, 20_011])
def test_rotary_counts_past_256_in_bfloat16(p):
    x, position = torch.randn(1, 1, 1, 32).bfloat16(), torch.tensor([[p]])
    assert_close(Rotary(32)(x, position).double(), Rotary(32)(x.double(), position), rtol=0, atol=0.03)


# By name -----------------------------------------------------------------------------------------------------------


def test_positions_are_built_by_name():
    x = torch.randn(2, 5, 4)
    by_name = {name: POSITIONS[name](4, 5) for name in POSITIONS}
    assert all(layer(x)[0].shape == x.shape for layer in by_name.values())
    assert torch.equal(by_name["none"](x)[0], x)
    assert torch.equal(by_name["rotary"](x)[0], x)
    assert by_name["learned"].traits.max_length == 5
    with pytest.raises(UnknownName, match=r"unknown positions 'sinusoid'\. Did you mean 'sinusoidal'"):
        POSITIONS["sinusoid"]
