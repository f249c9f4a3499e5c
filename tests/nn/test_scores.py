"""Every score equals its formula, and softmax and sum turn scores into weights."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.kernels.attention import divide_by_sum, masked_softmax
from seqloom.nn.attention import Attention
from seqloom.nn.record import record
from seqloom.nn.scores import SCORES, Additive, Bilinear, Cosine, Dot, Gaussian, LowRank, ScaledDot
from tests.nn.references import attention as textbook

ROWS, HEADS, QUERIES, KEYS, SIZE = 2, 4, 3, 5, 3

two_sizes = {"bilinear": Bilinear, "low-rank": LowRank, "additive": Additive}
one_size = {name: kind for name, kind in SCORES.items() if name not in two_sizes}


def random_queries_and_keys(query_size=SIZE, key_size=SIZE, heads=HEADS, key_heads=HEADS, dtype=torch.float64):
    return (
        torch.randn(ROWS, heads, QUERIES, query_size, dtype=dtype),
        torch.randn(ROWS, key_heads, KEYS, key_size, dtype=dtype),
    )


def by_formula(score, q, k):
    """The textbook score of every query with every key, one at a time."""
    formula = textbook.SCORES[type(score).__name__]
    scores = torch.zeros(*q.shape[:3], k.shape[2], dtype=torch.float64)
    for b, j, t, s in torch.cartesian_prod(*(torch.arange(n) for n in scores.shape)).tolist():
        g = j // (q.shape[1] // k.shape[1])
        scores[b, j, t, s] = formula(score, q[b, j, t].double().numpy(), k[b, g, s].double().numpy(), j, g)
    return scores


def scores_of(score, q, k):
    return score.scores(score.query(q), score.key(k))


# Formulas ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key_heads", [4, 2, 1])
@pytest.mark.parametrize("name", SCORES)
def test_a_score_equals_its_formula(name, key_heads):
    score = SCORES[name](SIZE, SIZE, heads=HEADS, key_heads=key_heads).double()
    q, k = random_queries_and_keys(key_heads=key_heads)
    assert_close(scores_of(score, q, k), by_formula(score, q, k))


@pytest.mark.parametrize("key_heads", [4, 2])
@pytest.mark.parametrize("name", SCORES)
def test_one_score_serves_all_heads(name, key_heads):
    score = SCORES[name](SIZE, SIZE).double()
    q, k = random_queries_and_keys(key_heads=key_heads)
    assert_close(scores_of(score, q, k), by_formula(score, q, k))


@pytest.mark.parametrize(
    "score",
    [Cosine(3, 3, temperature=0.25), Gaussian(3, 3, width=0.5), LowRank(3, 3, rank=2), Additive(3, 3, hidden_size=7)],
    ids=lambda score: type(score).__name__,
)
def test_settings_enter_the_formula(score):
    q, k = random_queries_and_keys()
    assert_close(scores_of(score.double(), q, k), by_formula(score, q, k))


@pytest.mark.parametrize("kind", two_sizes.values(), ids=two_sizes)
def test_some_scores_accept_queries_and_keys_of_different_sizes(kind):
    score = kind(2, 5, heads=HEADS, key_heads=2).double()
    q, k = random_queries_and_keys(2, 5, key_heads=2)
    assert_close(scores_of(score, q, k), by_formula(score, q, k))


@pytest.mark.parametrize("kind", one_size.values(), ids=one_size)
def test_other_scores_need_equal_sizes(kind):
    with pytest.raises(
        ArgumentError, match=r"sizes are 2 \(queries\) and 5 \(keys\); expected the same; bilinear, low"
    ):
        kind(2, 5)


@pytest.mark.parametrize("name", [name for name in SCORES if name != "additive"])
def test_all_but_additive_are_a_dot_product_of_two_maps(name):
    """Up to a constant for all keys of a query, which softmax ignores."""
    score = SCORES[name](SIZE, SIZE, heads=HEADS).double()
    q, k = random_queries_and_keys()
    assert score.kind == "dot"
    assert score.key(k).shape[3] == score.query(q).shape[3] == score.mapped_size
    products = score.scale * torch.einsum("bhqd,bhkd->bhqk", score.query(q), score.key(k))
    assert_close(products.softmax(dim=3), by_formula(score, q, k).softmax(dim=3))


def test_low_rank_is_bilinear_with_the_product_of_its_weights():
    low, full = LowRank(4, 5, rank=2).double(), Bilinear(4, 5).double()
    with torch.no_grad():
        full.weight.copy_(low.query_weight @ low.key_weight.transpose(1, 2))
    q, k = random_queries_and_keys(4, 5)
    assert_close(scores_of(low, q, k), scores_of(full, q, k))
    assert torch.linalg.matrix_rank(full.weight.detach()).item() == 2


def test_a_bilinear_score_with_the_identity_is_dot():
    score = Bilinear(SIZE, SIZE).double()
    with torch.no_grad():
        score.weight.copy_(torch.eye(SIZE))
    q, k = random_queries_and_keys()
    assert_close(scores_of(score, q, k), scores_of(Dot(SIZE, SIZE), q, k))


def test_scaled_dot_keeps_the_variance():
    q, k = torch.randn(1, 1, 300, 256), torch.randn(1, 1, 300, 256)
    assert 0.9 < scores_of(ScaledDot(256, 256), q, k).var().item() < 1.1
    assert scores_of(Dot(256, 256), q, k).var().item() > 200


def test_cosine_depends_on_directions_only():
    score = Cosine(SIZE, SIZE)
    q, k = random_queries_and_keys()
    assert_close(scores_of(score, q, k), scores_of(score, 7 * q, k / 3))
    assert scores_of(score, q, k).abs().max() <= 1


def test_cosine_with_a_zero_vector_is_zero():
    q, k = random_queries_and_keys()
    k[0, 0, 0] = 0
    assert scores_of(Cosine(SIZE, SIZE), q, k)[0, 0, :, 0].eq(0).all()


@pytest.mark.parametrize("name", ["bilinear", "low-rank", "additive"])
def test_each_head_has_its_own_weights(name):
    score = SCORES[name](SIZE, SIZE, heads=HEADS).double()
    q, k = (x[:, :1].expand(-1, HEADS, -1, -1) for x in random_queries_and_keys())
    before = scores_of(score, q, k)
    assert all(not torch.allclose(before[:, 0], before[:, j]) for j in range(1, HEADS))
    for weight in score.parameters():
        with torch.no_grad():
            weight[1] += 1
    changed = (scores_of(score, q, k) != before).flatten(2).any(dim=2)
    assert changed.tolist() == [[False, True, False, False]] * ROWS


@pytest.mark.parametrize("kind", two_sizes.values(), ids=two_sizes)
def test_weights_start_glorot_uniform_in_each_head(kind):
    for weight in kind(30, 50, heads=2).parameters():
        bound = math.sqrt(6 / (weight.shape[1] + weight.shape[2]))
        for head in weight:
            assert head.abs().max() <= bound
            assert head.var().item() == pytest.approx(bound**2 / 3, rel=0.4)


def test_gaussian_is_accurate_in_bfloat16():
    """−|k|²/2 is near −130 here, where the spacing of bfloat16 is 1; that is a factor e in a weight."""
    score = Gaussian(64, 64)
    centre = 2 * torch.randn(64)
    q, k = ((centre + 0.2 * torch.randn(1, 1, 8, 64)).bfloat16() for _ in range(2))
    exact = by_formula(score, q, k).softmax(dim=3)

    def off_by(key):
        products = score.query(q).float() @ key.float().transpose(
            2, 3
        )  # as in kernels: exact products, summed in float32
        return (products.softmax(dim=3) - exact).abs().max().item()

    two_columns = score.key(k)
    one_column = torch.cat([two_columns[..., :-1], torch.zeros_like(two_columns[..., -1:])], dim=3)
    assert two_columns.dtype == torch.bfloat16
    assert off_by(two_columns) < 0.001
    assert off_by(one_column) > 0.05

    value = torch.randn(1, 1, 8, 64).bfloat16()
    context = Attention(score).attend(score.query(q), two_columns, value)
    assert_close(context.double(), exact @ value.double(), atol=0.01, rtol=0)


def test_scores_are_float32_for_narrow_inputs():
    q, k = random_queries_and_keys(64, 64, dtype=torch.bfloat16)
    for name in ("dot", "gaussian"):
        score = SCORES[name](64, 64)
        assert_close(scores_of(score, q, k).double(), by_formula(score, q, k), atol=1e-3, rtol=1e-5)


# Weights -----------------------------------------------------------------------------------------------------------


def masks(queries=QUERIES, keys=KEYS):
    return st.lists(st.lists(st.booleans(), min_size=keys, max_size=keys), min_size=queries, max_size=queries)


@given(mask=masks())
def test_softmax_is_over_the_visible_keys(mask):
    scores = 5 * torch.randn(ROWS, HEADS, QUERIES, KEYS, dtype=torch.float64)
    weights = masked_softmax(scores, torch.tensor(mask)[None, None])
    for b, j, t in torch.cartesian_prod(torch.arange(ROWS), torch.arange(HEADS), torch.arange(QUERIES)).tolist():
        seen = [s for s in range(KEYS) if mask[t][s]]
        expected = torch.zeros(KEYS, dtype=torch.float64)
        for s, weight in zip(seen, textbook.softmax(scores[b, j, t, seen].tolist()), strict=True):
            expected[s] = weight
        assert_close(weights[b, j, t], expected)
        assert weights[b, j, t].sum().item() == pytest.approx(1 if seen else 0)


@given(mask=masks())
def test_sums_are_over_the_visible_keys(mask):
    scores = torch.randn(ROWS, HEADS, QUERIES, KEYS, dtype=torch.float64)
    weights = divide_by_sum(scores, torch.tensor(mask)[None, None])
    for t in range(QUERIES):
        seen = [s for s in range(KEYS) if mask[t][s]]
        hidden = [s for s in range(KEYS) if not mask[t][s]]
        assert weights[:, :, t, hidden].eq(0).all()
        if seen:
            assert_close(weights[:, :, t, seen], scores[:, :, t, seen] / scores[:, :, t, seen].sum(dim=2, keepdim=True))


def test_without_a_mask_all_keys_are_visible():
    scores = torch.randn(ROWS, HEADS, QUERIES, KEYS)
    assert_close(masked_softmax(scores, None), scores.softmax(dim=3))
    assert_close(divide_by_sum(scores, None), scores / scores.sum(dim=3, keepdim=True))


def test_softmax_is_finite_for_large_scores():
    weights = masked_softmax(torch.tensor([[[[1e4, 1e4 - 1, -1e4]]]]), torch.ones(1, 1, 1, 3, dtype=torch.bool))
    assert_close(weights.flatten()[0].item(), 1 / (1 + math.exp(-1)))


def test_scores_that_sum_to_zero_give_zero_weights():
    scores = torch.tensor([[[[1.0, -1.0], [1.0, 3.0]]]], requires_grad=True)
    weights = divide_by_sum(scores, None)
    assert weights.tolist() == [[[[0.0, 0.0], [0.25, 0.75]]]]
    weights.square().sum().backward()
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("weigh", [masked_softmax, divide_by_sum])
def test_a_query_without_visible_keys_has_finite_gradients(weigh):
    scores = torch.randn(1, 1, 2, 3, requires_grad=True)
    mask = torch.tensor([[[[False, False, False], [True, False, True]]]])
    weigh(scores, mask).square().sum().backward()
    assert scores.grad[0, 0, 0].eq(0).all()
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("name", SCORES)
def test_recorded_weights_sum_to_one(name):
    x = torch.randn(3, 6, 4)
    lengths = torch.tensor([6, 1, 0])
    with record("attention") as seen:
        Attention(SCORES[name](4, 4))(x, x, x, lengths)
    weights = seen["attention"][""]["weights"]
    assert weights.shape == (3, 1, 6, 6)
    assert_close(weights.sum(dim=3), torch.tensor([1.0, 1.0, 0.0]).reshape(3, 1, 1).expand(3, 1, 6))


# Invalid settings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cosine(3, 3, temperature=0.0), r"Cosine: temperature is 0\.0; expected a number above 0\."),
        (lambda: Gaussian(3, 3, width=-1.0), r"Gaussian: width is -1\.0; expected a number above 0\."),
        (lambda: LowRank(3, 3, rank=0), r"LowRank: rank is 0; expected a whole number, at least 1\."),
        (lambda: Additive(3, 3, hidden_size=-1), r"Additive: hidden_size is -1; expected a whole number, at least 1\."),
        (lambda: Dot(3, 3, heads=0), r"Dot: heads is 0; expected a whole number, at least 1\."),
        (lambda: Dot(3, 3, key_heads=0), r"Dot: key_heads is 0; expected a whole number, at least 1\."),
    ],
)
def test_an_invalid_setting_is_an_error(make, message):
    with pytest.raises(ArgumentError, match=f"^{message}$"):
        make()


def test_an_unknown_score_names_the_nearest():
    with pytest.raises(UnknownName, match=r"unknown score 'scaled_dot'\. Did you mean 'scaled-dot'"):
        SCORES["scaled_dot"]
