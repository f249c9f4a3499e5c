"""Each scheme has the property that defines it."""

import math

import pytest
import torch
from torch import nn

from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.nn.cells import CELLS, GRU, LSTM, RNN, GRUAfter, LSTMCoupled, LSTMPeephole
from seqloom.nn.initialization import SCHEMES, initialize, log_prior
from seqloom.nn.recurrent import Bidirectional, Recurrent
from seqloom.nn.stack import Stack
from tests.nn.catalogue.recurrent import MinimalGated

FAN_IN, FAN_OUT = 300, 500


def filled(scheme: str, scale: float | None = None) -> torch.Tensor:
    layer = nn.Linear(FAN_IN, FAN_OUT)
    initialize(layer, weights=scheme, scale=scale)
    return layer.weight.detach()


def assert_uniform(values: torch.Tensor, bound: float) -> None:
    assert values.abs().max() <= bound
    assert values.abs().max() > 0.99 * bound
    assert values.var().item() == pytest.approx(bound**2 / 3, rel=0.03)
    assert values.mean().item() == pytest.approx(0, abs=0.02 * bound)


def assert_normal(values: torch.Tensor, deviation: float) -> None:
    assert values.std().item() == pytest.approx(deviation, rel=0.03)
    assert values.mean().item() == pytest.approx(0, abs=0.02 * deviation)
    assert (values.abs() < deviation).float().mean().item() == pytest.approx(0.6827, abs=0.01)


# Schemes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gain", [None, 2.0])
def test_glorot_keeps_the_variance_of_both_directions(gain: float | None) -> None:
    deviation = (gain or 1) * math.sqrt(2 / (FAN_IN + FAN_OUT))
    assert_uniform(filled("glorot-uniform", gain), math.sqrt(3) * deviation)
    assert_normal(filled("glorot-normal", gain), deviation)


@pytest.mark.parametrize("gain", [None, 2.0])
def test_he_keeps_the_variance_through_relu(gain: float | None) -> None:
    deviation = (gain or 1) * math.sqrt(2 / FAN_IN)
    assert_uniform(filled("he-uniform", gain), math.sqrt(3) * deviation)
    assert_normal(filled("he-normal", gain), deviation)


def test_uniform_and_normal_have_their_size() -> None:
    assert_uniform(filled("uniform"), 0.1)
    assert_uniform(filled("uniform", 0.08), 0.08)
    assert_normal(filled("normal"), 0.02)
    assert_normal(filled("normal", 0.5), 0.5)


def test_orthogonal_keeps_lengths() -> None:
    for gain in (None, 3.0):
        weight = filled("orthogonal", gain)  # taller than wide: WᵀW = gain² I
        torch.testing.assert_close(weight.T @ weight, (gain or 1) ** 2 * torch.eye(FAN_IN), rtol=0, atol=1e-4)


def test_identity_and_zero_fill_their_values() -> None:
    assert torch.equal(filled("identity"), torch.eye(FAN_OUT, FAN_IN))
    assert torch.equal(filled("identity", 0.5), 0.5 * torch.eye(FAN_OUT, FAN_IN))
    assert filled("zero").eq(0).all()


# Which weights ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [*CELLS.values(), MinimalGated])
def test_each_part_of_a_cell_is_initialized_separately(cell: type) -> None:
    new_cell = cell(60, 50)
    bound = math.sqrt(6 / (60 + 50))
    for weight in new_cell.input_weight.chunk(len(cell.parts)):
        assert_close_to_bound(weight, bound)
    for weight in new_cell.recurrent_weight.chunk(len(cell.parts)):
        torch.testing.assert_close(weight @ weight.T, torch.eye(50), rtol=0, atol=1e-5)
    biases = dict(zip(cell.parts, new_cell.bias.chunk(len(cell.parts)), strict=True))
    for part, bias in biases.items():
        assert bias.eq(1 if part == "forget" else 0).all()


def assert_close_to_bound(weight: torch.Tensor, bound: float) -> None:
    assert weight.abs().max() <= bound
    assert weight.abs().max() > 0.95 * bound


def test_only_the_forget_gate_starts_open() -> None:
    for cell in (LSTM(3, 4), LSTMPeephole(3, 4), LSTMCoupled(3, 4)):
        initialize(cell, forget=2.5)
        for part, bias in zip(cell.parts, cell.bias.chunk(len(cell.parts)), strict=True):
            assert bias.tolist() == [2.5 if part == "forget" else 0.0] * 4
    for cell in (GRU(3, 4), RNN(3, 4)):
        initialize(cell)
        assert cell.bias.eq(0).all()
    initialize(LSTM(3, 4, bias=False))


def test_initializing_twice_with_one_seed_gives_the_same() -> None:
    """Values are replaced, not added: a forget bias of 1 stays 1."""
    cell = GRUAfter(3, 4)
    nn.init.ones_(cell.candidate_bias)
    nn.init.ones_(cell.bias)
    lstm = LSTM(3, 4)
    for module in (cell, lstm):
        initialize(module)
        initialize(module)
    assert cell.bias.eq(0).all()
    assert cell.candidate_bias.eq(0).all()
    assert lstm.bias.chunk(4)[1].eq(1).all()


def test_schemes_reach_every_layer_inside() -> None:
    both = Bidirectional(Recurrent(LSTM(3, 4)), Recurrent(LSTM(3, 4)))
    model = nn.Sequential(nn.Embedding(9, 3), Stack([both, Recurrent(RNN(8, 8))]), nn.Linear(8, 2))
    uniform = {"weights": "uniform", "embeddings": "uniform", "biases": "uniform"}
    initialize(model, **uniform, recurrent="identity", scale=0.01, forget=0.0)
    for name, weight in model.named_parameters():
        if "recurrent_weight" in name:
            assert all(torch.equal(part, torch.eye(part.shape[1])) for part in weight.split(weight.shape[1]))
        else:
            assert 0 < weight.abs().max() <= 0.01, name


def test_embeddings_start_at_length_one() -> None:
    table = nn.Embedding(2000, 64)
    initialize(table)
    assert_normal(table.weight, 64**-0.5)
    initialize(table, embeddings="uniform", scale=0.05)
    assert_uniform(table.weight, 0.05)


@pytest.mark.parametrize("convolution", [nn.Conv1d(30, 50, 5), nn.Conv2d(12, 20, 5)])
def test_fan_in_of_a_convolution_includes_its_kernel(convolution: nn.Module) -> None:
    outputs, inputs, *kernel = convolution.weight.shape
    initialize(convolution)
    assert_uniform(convolution.weight, math.sqrt(6 / ((inputs + outputs) * math.prod(kernel))))
    assert convolution.bias.eq(0).all()


def test_norms_peepholes_and_learned_states_are_not_initialized() -> None:
    layer = Recurrent(CELLS["lstm-layer-norm"](3, 4), initial="learned")
    peephole = LSTMPeephole(3, 4)
    kept = [layer.cell.input_norm.weight, layer.first["hidden"], peephole.peepholes]
    for weight in kept:
        nn.init.constant_(weight, 0.7)
    initialize(layer)
    initialize(peephole)
    assert all(weight.eq(0.7).all() for weight in kept)


def test_initialization_records_no_gradient() -> None:
    layer = nn.Linear(3, 4)
    initialize(layer)
    assert layer.weight.grad_fn is None
    assert layer.weight.requires_grad


# The prior of the classes ----------------------------------------------------------------------------------------


def test_log_prior_is_the_logarithm_of_the_frequencies() -> None:
    expected = torch.tensor([0.5, 0.25, 0.25]).log()
    torch.testing.assert_close(log_prior(torch.tensor([2.0, 1.0, 1.0])), expected)
    torch.testing.assert_close(log_prior(torch.tensor([20, 10, 10])), expected)
    torch.testing.assert_close(log_prior(torch.tensor([0.5, 0.25, 0.25])), expected)


def test_a_class_that_never_occurs_has_a_small_prior() -> None:
    start = log_prior(torch.tensor([9, 1, 0]))
    assert start.isfinite().all()
    assert start[2] < start[1]
    assert start.exp().sum().item() == pytest.approx(1)


# Mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("argument", ["weights", "recurrent"])
def test_an_unknown_scheme_is_an_error(argument: str) -> None:
    with pytest.raises(UnknownName, match=r"unknown initialization 'orthogonl'\. Did you mean 'orthogonal'\?"):
        initialize(LSTM(3, 4), **{argument: "orthogonl"})


def test_a_scheme_that_can_not_fill_a_vector_is_an_error() -> None:
    with pytest.raises(
        ArgumentError, match=r"initialize: biases is 'orthogonal'; expected 'zero', 'uniform' or 'normal'"
    ):
        initialize(LSTM(3, 4), biases="orthogonal")


def test_every_scheme_is_tested() -> None:
    glorot, he = ("glorot-uniform", "glorot-normal"), ("he-uniform", "he-normal")
    assert set(SCHEMES) == {"uniform", "normal", *glorot, *he, "orthogonal", "identity", "zero"}
