"""Norms equal those of torch without padding, and do not depend on padding."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.nn.normalization import NORMS, BatchNorm, GroupNorm, InstanceNorm, LayerNorm, PlainLayerNorm, RMSNorm
from seqloom.nn.stack import Stack

SIZE = 6
LENGTHS = torch.tensor([5, 2, 0, 4])


def over_channels(torch_norm):
    """torch's norms over time expect features before time."""
    return lambda x: torch_norm(x.transpose(1, 2)).transpose(1, 2)


def double(norm):
    """With γ and β that are not 1 and 0."""
    for weight in norm.parameters():
        nn.init.normal_(weight, 1.0, 0.3)
    return norm.double()


pairs = {
    "layer": (LayerNorm(SIZE), nn.LayerNorm(SIZE)),
    "layer-plain": (PlainLayerNorm(SIZE), nn.LayerNorm(SIZE, elementwise_affine=False)),
    "rms": (RMSNorm(SIZE), nn.RMSNorm(SIZE, eps=1e-6)),
    "group": (GroupNorm(SIZE, groups=3), nn.GroupNorm(3, SIZE)),
    "instance": (InstanceNorm(SIZE), nn.InstanceNorm1d(SIZE, affine=True)),
    "batch": (BatchNorm(SIZE), nn.BatchNorm1d(SIZE)),
}


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize(("ours", "theirs"), pairs.values(), ids=pairs)
def test_norms_without_padding_equal_torch(ours, theirs, training):
    ours, theirs = double(copy.deepcopy(ours)).train(training), copy.deepcopy(theirs).double().train(training)
    with torch.no_grad():
        for name, weight in ours.named_parameters():
            getattr(theirs, name).copy_(weight)
    judge = over_channels(theirs) if isinstance(theirs, nn.GroupNorm | nn.InstanceNorm1d | nn.BatchNorm1d) else theirs
    x = (3 + 2 * torch.randn(4, 5, SIZE, dtype=torch.float64)).requires_grad_()
    weights = torch.randn_like(x)
    results = []
    for norm in (lambda x: ours(x)[0], lambda x: ours(x, torch.full((4,), 5))[0], judge):
        y = norm(x)
        results.append([y, *torch.autograd.grad((y * weights).sum(), x)])
    assert_close(results[0], results[2])
    assert_close(results[1], results[2])


# Batch norm --------------------------------------------------------------------------------------------------------


def both_batch_norms():
    ours, theirs = double(BatchNorm(SIZE, momentum=0.3)), nn.BatchNorm1d(SIZE, momentum=0.3).double()
    with torch.no_grad():
        theirs.weight.copy_(ours.weight)
        theirs.bias.copy_(ours.bias)
    return ours, theirs


def test_running_statistics_equal_torch_without_padding():
    ours, theirs = both_batch_norms()
    for _ in range(3):
        x = 2 + torch.randn(4, 5, SIZE, dtype=torch.float64)
        real = torch.cat([row[:length] for row, length in zip(x, LENGTHS.tolist(), strict=True)])
        y, _ = ours(x, LENGTHS)
        expected = theirs(real)
        assert_close(torch.cat([row[:length] for row, length in zip(y, LENGTHS.tolist(), strict=True)]), expected)
        assert_close(ours.running_mean, theirs.running_mean)
        assert_close(ours.running_variance, theirs.running_var)
    x = torch.randn(4, 5, SIZE, dtype=torch.float64)
    assert_close(ours.eval()(x)[0], over_channels(theirs.eval())(x))


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside"])
def test_in_training_more_padding_changes_nothing(name, inside):
    """Inside another layer the padding may be nonzero, here β, and must not enter a mean."""
    x = torch.randn(4, 5, SIZE, dtype=torch.float64)
    longer = torch.cat([x, 1e3 * torch.randn(4, 3, SIZE, dtype=torch.float64)], dim=1)
    norm = double(NORMS[name](SIZE))
    layers = Stack([double(LayerNorm(SIZE)), norm] if inside else [norm]).train()
    results = []
    for padded in (x, longer):
        layer, padded = copy.deepcopy(layers), padded.clone().requires_grad_()
        y, _ = layer(padded, LENGTHS)
        y.square().sum().backward()
        gradients = [weight.grad for weight in layer.parameters()]
        results.append([y[:, :5], padded.grad[:, :5], gradients, list(layer.buffers())])
    assert_close(*results)


def test_other_rows_matter_in_training_only():
    layer, x = BatchNorm(SIZE), torch.randn(2, 3, SIZE)
    other = torch.cat([x[:1], torch.randn(1, 3, SIZE)])
    assert not layer.traits.rows_independent
    assert not torch.allclose(layer.train()(x)[0][0], layer(other)[0][0])
    assert torch.equal(layer.eval()(x)[0][0], layer(other)[0][0])


def test_a_batch_of_padding_changes_no_statistics():
    layer = BatchNorm(SIZE).train()
    layer(torch.randn(4, 5, SIZE))
    before = [statistic.clone() for statistic in layer.buffers()]
    y, _ = layer(torch.randn(4, 5, SIZE), torch.zeros(4, dtype=torch.int64))
    assert y.eq(0).all()
    assert_close(list(layer.buffers()), before)


def test_the_mean_of_one_step_is_that_step():
    layer = BatchNorm(SIZE).train()
    y, _ = layer(torch.randn(2, 3, SIZE), torch.tensor([1, 0]))
    assert y.eq(0).all()
    assert layer.running_mean.isfinite().all()
    assert_close(layer.running_variance, torch.full((SIZE,), 0.9))


def test_bfloat16_counts_past_256():
    """In bfloat16, a count of 1001 steps would be 1000, and a sum of squares would lose most of its terms."""
    x = (5 + torch.randn(13, 77, SIZE)).bfloat16()
    low, high = BatchNorm(SIZE, momentum=1.0).bfloat16().train(), BatchNorm(SIZE, momentum=1.0).double().train()
    assert_close(low(x)[0].double(), high(x.double())[0], rtol=0, atol=0.02)
    assert_close(low.running_mean.double(), high.running_mean, rtol=0.005, atol=0)
    assert_close(low.running_variance.double(), high.running_variance, rtol=0.005, atol=0)


def test_batch_norm_runs_under_autocast():
    layer, x = BatchNorm(SIZE).train(), torch.randn(4, 5, SIZE).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        layer(x)
    assert layer.running_mean.dtype == torch.float32
    assert_close(layer.running_mean, 0.1 * x.float().mean(dim=(0, 1)))


# The others --------------------------------------------------------------------------------------------------------


def test_a_large_mean_costs_no_precision():
    x = 1000 + torch.randn(2, 50, SIZE)
    for norm in (GroupNorm(SIZE, groups=2), InstanceNorm(SIZE), BatchNorm(SIZE)):
        assert_close(norm.train()(x)[0].double(), norm.double()(x.double())[0], rtol=0, atol=1e-3)


def test_the_norm_none_is_the_identity():
    x = torch.randn(2, 3, SIZE)
    assert torch.equal(NORMS["none"](SIZE)(x)[0], x)


def test_group_norm_by_name_fits_any_size():
    assert {size: NORMS["group"](size).groups for size in (3, 6, 8, 64, 100)} == {3: 1, 6: 2, 8: 8, 64: 8, 100: 4}


def test_groups_divide_the_size():
    with pytest.raises(ArgumentError, match=r"^GroupNorm: groups is 4; expected a divisor of the size, 6\.$"):
        GroupNorm(6, groups=4)


def test_an_unknown_norm_names_the_nearest():
    with pytest.raises(UnknownName, match=r"unknown norm 'layr'\. Did you mean 'layer'"):
        NORMS["layr"]
