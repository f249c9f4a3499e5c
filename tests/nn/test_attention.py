"""Attention pooling: the fast path equals the product with the recorded weights, and padding has no effect."""

import math

import pytest
import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing import assert_close

from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.kernels.attention import (
    causal_mask,
    divide_by_sum,
    dot_product_attention,
    masked_softmax,
    repeat_key_heads,
)
from seqloom.nn.attention import Attention
from seqloom.nn.record import record
from seqloom.nn.scores import SCORES, Additive, Bilinear, Dot, Gaussian, ScaledDot
from tests.nn.references.attention import softmax as plain_softmax

LENGTHS = torch.tensor([5, 2, 0])
SIZE, OUT = 4, 6


def batch(dtype=torch.float64):
    """Queries, keys and values, with random values on the padding of the last two."""
    query, key = torch.randn(3, 4, SIZE), torch.randn(3, 5, SIZE)
    return query.to(dtype), key.to(dtype), torch.randn(3, 5, OUT).to(dtype)


def watch(call):
    """The result of a call, and the weights that it offered to the recorder."""
    with record("attention") as seen:
        context = call()
    return context, seen["attention"][""]["weights"]


# The fast path and the weights -------------------------------------------------------------------------------------

precisions = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 0.03}


@pytest.mark.parametrize("dtype", precisions, ids=str)
@pytest.mark.parametrize("weighting", ["softmax", "sum"])
@pytest.mark.parametrize("name", SCORES)
def test_the_recorded_weights_are_those_that_were_used(name, weighting, dtype):
    attention = Attention(SCORES[name](SIZE, SIZE), weighting=weighting).to(dtype)
    query, key, value = batch(dtype)
    if weighting == "sum":  # with scores of one sign; otherwise their sum may be close to zero
        query, key = query.abs(), key.abs()
        with torch.no_grad():
            for weight in attention.parameters():
                weight.abs_()
    context, weights = watch(lambda: attention(query, key, value, LENGTHS))
    assert context.dtype == dtype
    assert_close(
        (weights.double() @ value.double().unsqueeze(1)).squeeze(1), context.double(), rtol=0, atol=precisions[dtype]
    )
    assert weights[1, 0, :, 2:].eq(0).all()
    assert torch.equal(context, attention(query, key, value, LENGTHS))  # with no recorder open


@pytest.mark.parametrize("name", SCORES)
def test_all_scores_but_additive_use_the_same_kernel(name, monkeypatch):
    calls, kernel = [], F.scaled_dot_product_attention

    def counted(*arguments, **settings):
        calls.append(settings)
        return kernel(*arguments, **settings)

    monkeypatch.setattr(F, "scaled_dot_product_attention", counted)
    query, key, value = batch(torch.float32)
    Attention(SCORES[name](SIZE, SIZE))(query, key, value, LENGTHS)
    assert len(calls) == (0 if name == "additive" else 1)
    Attention(SCORES[name](SIZE, SIZE), weighting="sum")(query, key, value, LENGTHS)
    assert len(calls) == (0 if name == "additive" else 1)


def test_attention_weights_are_materialized_only_for_a_recorder(monkeypatch):
    score = ScaledDot(SIZE, SIZE)
    monkeypatch.setattr(score, "scores", lambda query, key: pytest.fail("scores were computed"))
    query, key, value = batch(torch.float32)
    Attention(score)(query, key, value, LENGTHS)


# name: heads, key heads, queries, width of keys, width of values, mask, causal
calls = {
    "plain": (4, 4, 7, 8, 8, None, False),
    "causal": (4, 4, 7, 8, 8, None, True),
    "padding": (4, 4, 7, 8, 8, "padding", False),
    "window": (4, 4, 7, 8, 8, "window", False),
    "wide keys": (4, 4, 7, 10, 8, "padding", False),
    "wide values": (4, 4, 7, 3, 8, None, True),
    "grouped": (4, 2, 7, 8, 8, None, False),
    "grouped, causal": (4, 2, 7, 8, 8, None, True),
    "grouped, padding": (4, 1, 7, 8, 8, "padding", False),
    "one query": (4, 4, 1, 8, 8, "padding", False),
    "one query, grouped": (4, 2, 1, 8, 8, "padding", False),
    "one query, grouped, wide keys": (4, 2, 1, 10, 8, "padding", False),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("call", calls.values(), ids=calls)
def test_every_call_uses_the_flash_kernel_and_pools(call, dtype):
    heads, key_heads, queries, width, out, kind, causal = call
    keys = queries if queries > 1 else 9
    query = torch.randn(3, queries, heads, width).to(dtype).transpose(1, 2)
    key = torch.randn(3, keys, key_heads, width).to(dtype).transpose(1, 2)
    value = torch.randn(3, keys, key_heads, out).to(dtype).transpose(1, 2)
    mask = {
        None: None,
        "padding": (torch.arange(keys) < torch.tensor([[keys], [3], [0]]))[:, None, None],
        "window": ((torch.arange(keys)[:, None] - torch.arange(keys)).abs() < 2)[None, None],
    }[kind]
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        context = dot_product_attention(query, key, value, scale=0.3, mask=mask, causal=causal)

    scores = 0.3 * query.double() @ repeat_key_heads(key, heads).double().transpose(2, 3)
    weights = masked_softmax(scores, causal_mask(queries, keys, scores.device) if causal else mask)
    assert context.shape == (3, heads, queries, out)
    assert_close(
        context.double(), weights @ repeat_key_heads(value, heads).double(), rtol=0, atol=10 * torch.finfo(dtype).eps
    )


@pytest.mark.parametrize("key_heads", [1, 2, 4])
def test_one_query_with_a_mask_for_each_head(key_heads):
    query, mask = torch.randn(3, 4, 1, 5), torch.rand(3, 4, 1, 9) < 0.5
    key, value = torch.randn(3, key_heads, 9, 5), torch.randn(3, key_heads, 9, 5)
    with torch.no_grad():
        context = dot_product_attention(query, key, value, scale=0.3, mask=mask)
    weights = masked_softmax(0.3 * query @ repeat_key_heads(key, 4).transpose(2, 3), mask)
    assert_close(context, weights @ repeat_key_heads(value, 4))


def test_causal_masks_count_from_the_first_step():
    assert causal_mask(2, 4, torch.device("cpu")).tolist() == [
        [[[True, False, False, False], [True, True, False, False]]]
    ]


def test_groups_of_heads_share_keys():
    key = torch.randn(2, 2, 3, 4)
    assert torch.equal(repeat_key_heads(key, 6), key[:, [0, 0, 0, 1, 1, 1]])
    assert repeat_key_heads(key, 2) is key


# Padding -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighting", ["softmax", "sum"])
@pytest.mark.parametrize("name", SCORES)
def test_a_row_without_keys_gets_zeros_and_finite_gradients(name, weighting):
    attention = Attention(SCORES[name](SIZE, SIZE), weighting=weighting).double()
    inputs = [x.requires_grad_() for x in batch()]
    context = attention(*inputs, LENGTHS)
    assert context[2].eq(0).all()
    context.square().sum().backward()
    for x in (*inputs, *attention.parameters()):
        assert x.grad.isfinite().all()
    assert all(x.grad[2].eq(0).all() for x in inputs)
    assert all(x.grad[1, 2:].eq(0).all() for x in inputs[1:])


@pytest.mark.parametrize("fill", [1e4, float("nan"), float("inf")])
@pytest.mark.parametrize("name", SCORES)
def test_padding_changes_nothing(name, fill):
    attention = Attention(SCORES[name](SIZE, SIZE)).double()
    query, key, value = batch()
    results = []
    for beyond in (0.0, fill):
        padded = [query.clone(), key.clone(), value.clone()]
        for x in padded[1:]:
            x[1, 2:], x[2] = beyond, beyond
        for x in padded:
            x.requires_grad_()
        attention.zero_grad()
        context = attention(*padded, LENGTHS)
        context.square().sum().backward()
        results.append([context.detach(), *(x.grad for x in padded), *(w.grad.clone() for w in attention.parameters())])
    assert all(torch.equal(actual, expected) for actual, expected in zip(*results, strict=True))


# Kernel regression -------------------------------------------------------------------------------------------------


def test_nadaraya_watson_is_attention_with_a_gaussian_score():
    """ŷ(q) = Σ_s K((q − x_s)/w) y_s / Σ_s K((q − x_s)/w),  K(u) = e^(−u²/2)"""
    x, width = torch.rand(30, dtype=torch.float64).sort().values, 0.05
    y = torch.sin(6 * x) + 0.1 * torch.randn_like(x)
    grid = torch.linspace(0, 1, 50, dtype=torch.float64)
    smooth = Attention(Gaussian(1, 1, width=width))(grid.reshape(1, -1, 1), x.reshape(1, -1, 1), y.reshape(1, -1, 1))
    for q, actual in zip(grid.tolist(), smooth.flatten().tolist(), strict=True):
        kernel = [math.exp(-(((q - at) / width) ** 2) / 2) for at in x.tolist()]
        expected = sum(k * value for k, value in zip(kernel, y.tolist(), strict=True)) / sum(kernel)
        assert actual == pytest.approx(expected)


@pytest.mark.parametrize("weighting", ["softmax", "sum"])
@pytest.mark.parametrize("lengths", [None, torch.tensor([20, 7, 0])], ids=["full", "ragged"])
def test_a_gaussian_score_is_exact_far_from_zero(lengths, weighting):
    """For years, q · k and |k|²/2 are near four million, where the spacing of float32 is 1/4."""
    x, y = 2000 + torch.arange(20.0).reshape(1, -1, 1).expand(3, -1, 1), torch.randn(3, 20, 1)
    query = torch.tensor([2000.4, 2003.0, 2010.2, 2019.9]).reshape(1, -1, 1).expand(3, -1, 1)
    smooth = Attention(Gaussian(1, 1), weighting=weighting)
    context, weights = watch(lambda: smooth(query, x, y, lengths))
    exact = -(query.double() - x.double().transpose(1, 2)).square() / 2
    exact = (masked_softmax if weighting == "softmax" else divide_by_sum)(
        exact[:, None], None if lengths is None else (torch.arange(20) < lengths[:, None])[:, None, None]
    )
    assert_close(weights.double(), exact, rtol=0, atol=1e-4)
    assert_close(context.double(), (exact @ y.double()[:, None])[:, 0], rtol=0, atol=1e-3)


def test_a_gaussian_score_has_its_own_gradients():
    """Subtracting the mean of the keys changes nothing, so the mean has no gradient."""
    inputs = [(3 + torch.randn(3, 4, 2, dtype=torch.float64)).requires_grad_() for _ in range(3)]
    assert torch.autograd.gradcheck(lambda *x: Attention(Gaussian(2, 2))(*x, torch.tensor([4, 2, 0])), inputs)


def test_sum_weighting_equals_its_formula():
    attention = Attention(Dot(SIZE, SIZE), weighting="sum")
    query, key, value = (x.abs() for x in batch())
    context = attention(query, key, value)
    scores = query @ key.transpose(1, 2)
    assert_close(context, (scores / scores.sum(dim=2, keepdim=True)) @ value)


def test_one_query_with_two_keys():
    """score = q · k = 1 and 0; α = e/(e + 1) and 1/(e + 1)"""
    matching, orthogonal = plain_softmax([1.0, 0.0])
    query, key = torch.tensor([[[1.0, 0.0]]]), torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    context = Attention(Dot(2, 2))(query, key, torch.tensor([[[10.0], [20.0]]]))
    assert context.item() == pytest.approx(10 * matching + 20 * orthogonal)


# Dropout -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scaled-dot", "additive"])
def test_dropout_drops_weights_in_training_only(name):
    attention = Attention(SCORES[name](SIZE, SIZE), dropout=0.5)
    query, key = torch.randn(1, 200, SIZE), torch.randn(1, 5, SIZE)
    value = torch.eye(5).unsqueeze(0)  # the context equals the weights
    evaluated, weights = watch(lambda: attention.eval()(query, key, value))
    assert_close(evaluated, weights.squeeze(1))
    trained, recorded = watch(lambda: attention.train()(query, key, value))
    assert_close(recorded, weights)  # before dropout
    kept = trained != 0
    assert 0.4 < kept.float().mean().item() < 0.6
    assert_close(trained[kept], 2 * evaluated[kept])


# Invalid input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shapes", "lengths", "message"),
    [
        (((2, 3, 5), (2, 4, 4), (2, 4, 1)), None, r"query has 5 features per step \(its last dimension\); expected 4"),
        (((2, 3, 4), (2, 4, 6), (2, 4, 1)), None, r"key has 6 features per step \(its last dimension\); expected 4"),
        (((3, 4), (2, 4, 4), (2, 4, 1)), None, r"query has shape \[3, 4\]; expected three dimensions"),
        (((2, 3, 4), (1, 4, 4), (1, 4, 1)), None, r"key has 1 rows; expected 2, the rows of query"),
        (((2, 3, 4), (2, 4, 4), (2, 3, 1)), None, r"value has 2 rows of 3 steps; expected 2 of 4: one value for each"),
        (
            ((2, 3, 4), (2, 4, 4), (2, 4, 1)),
            [4, 5],
            r"lengths has the value 5; expected at most 4, the number of steps",
        ),
        (((2, 3, 4), (2, 4, 4), (2, 4, 1)), [4], r"lengths has shape \[1\]; expected \[2\]"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_invalid_input_is_an_error(shapes, lengths, message):
    inputs = [torch.randn(shape) for shape in shapes]
    with pytest.raises(ArgumentError, match=f"^Attention: {message}"):
        Attention(ScaledDot(4, 4))(*inputs, None if lengths is None else torch.tensor(lengths))


@pytest.mark.usefixtures("unchecked")
def test_a_score_of_several_heads_is_an_error():
    with pytest.raises(ArgumentError, match=r"^Attention: score has 2 heads; expected 1; SelfAttention takes more\.$"):
        Attention(Bilinear(SIZE, SIZE, heads=2))(*batch(torch.float32))


def test_invalid_settings_are_errors():
    with pytest.raises(UnknownName, match=r"unknown weighting 'softmx'\. Did you mean 'softmax'"):
        Attention(Dot(4, 4), weighting="softmx")
    with pytest.raises(
        ArgumentError, match=r"^Attention: dropout is 1\.0; expected a probability, at least 0 and below 1"
    ):
        Attention(Additive(4, 4), dropout=1.0)
