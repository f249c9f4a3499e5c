"""Heads, masks and the memory, beyond the tests of every layer in the conformance suite."""

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

import seqloom.kernels.attention
from seqloom.core.problem import ArgumentError, CannotStep, MissingMemory
from seqloom.nn.multihead import CrossAttention, PlainSelfAttention, SelfAttention
from seqloom.nn.positions import Rotary
from seqloom.nn.record import record
from seqloom.nn.scores import SCORES, Bilinear, Dot, LowRank
from seqloom.nn.stack import Stack


def causal(**settings):
    return SelfAttention(8, heads=4, causal=True, **settings).double().eval()


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def weights_of(layer, x, lengths=None, state=None):
    with record("attention") as seen:
        layer(x, lengths, state)
    (seen_here,) = seen["attention"].values()
    return seen_here["weights"]


# Masks -----------------------------------------------------------------------------------------------------------


@given(time=st.integers(1, 7), earlier=st.integers(0, 5), window=st.one_of(st.none(), st.integers(1, 9)))
def test_a_causal_step_sees_the_steps_up_to_itself_within_the_window(time, earlier, window):
    layer = causal(window=window)
    state = layer(random(1, earlier, 8))[1] if earlier else None
    seen = weights_of(layer, random(1, time, 8), state=state)[0, 0] > 0
    for t in range(time):
        p = earlier + t
        for s in range(earlier + time):
            assert seen[t, s].item() == (s <= p and (window is None or p - s < window))


@given(time=st.integers(1, 7), length=st.integers(0, 7), window=st.one_of(st.none(), st.integers(1, 9)))
def test_a_step_sees_both_sides_within_the_window_but_no_padding(time, length, window):
    layer = SelfAttention(8, heads=1, window=window)
    seen = weights_of(layer, torch.randn(1, time, 8), torch.tensor([min(length, time)]))[0, 0] > 0
    for t in range(time):
        for s in range(time):
            assert seen[t, s].item() == (s < length and (window is None or abs(t - s) < window))


def test_a_memory_is_seen_up_to_its_length():
    layer = CrossAttention(8, memory_size=6, heads=2)
    state = layer.start(torch.randn(3, 4, 6), torch.tensor([4, 1, 0]))
    seen = weights_of(layer, torch.randn(3, 2, 8), state=state) > 0
    assert seen[:, 0, 0].tolist() == [[True] * 4, [True, False, False, False], [False] * 4]


@pytest.mark.parametrize("fill", [1e4, float("nan"), float("inf")])
def test_padding_of_a_memory_changes_nothing(fill):
    layer, memory, lengths = CrossAttention(8, 6, heads=2), torch.randn(3, 4, 6), torch.tensor([4, 1, 0])
    x, other = torch.randn(3, 2, 8), memory.clone()
    other[1, 1:], other[2] = fill, fill
    gradients = []
    for given_memory in (memory, other):
        layer.zero_grad()
        y, _ = layer(x, state=layer.start(given_memory, lengths))
        y.square().sum().backward()
        gradients.append([y.detach(), *(weight.grad.clone() for weight in layer.parameters())])
    assert all(torch.equal(actual, expected) for actual, expected in zip(*gradients, strict=True))


def test_without_keys_the_output_is_the_output_bias():
    layer = CrossAttention(8, 6, heads=2)
    y, _ = layer(torch.randn(1, 2, 8), state=layer.start(torch.randn(1, 4, 6), torch.tensor([0])))
    assert_close(y, layer.output.bias.expand(1, 2, 8))


def test_a_memory_is_projected_once():
    layer = CrossAttention(8, 6, heads=2)
    state = layer.start(torch.randn(2, 4, 6))
    layer.key.forward = layer.value.forward = lambda memory: pytest.fail("the memory was mapped again")
    for _ in range(2):
        _, state = layer(torch.randn(2, 1, 8), state=state)
    assert state.position.tolist() == [2, 2]


def test_steps_do_not_copy_the_cache(monkeypatch):
    """A Gaussian score maps keys to more features than values have; both are stored at the width of the kernel."""
    for layer in (
        SelfAttention(8, heads=2, score="gaussian", causal=True),
        SelfAttention(8, heads=2, score=LowRank(4, 4, rank=2), causal=True),
        CrossAttention(8, 8, heads=2, score="gaussian"),
    ):
        x, memory = torch.randn(1, 5, 8), torch.randn(1, 9, 8)
        _, state = layer(x, state=layer.start(memory))
        kernel, widened = seqloom.kernels.attention.pad_features, []

        def counted(x, width, kernel=kernel, widened=widened):
            if x.shape[-1] != width:
                widened.append(x.shape[2])
            return kernel(x, width)

        with monkeypatch.context() as patched:
            patched.setattr(seqloom.kernels.attention, "pad_features", counted)
            layer(x[:, :1], state=state)
        assert set(widened) <= {1}, "not the query alone"


def test_a_gaussian_score_is_exact_far_from_zero():
    """This holds when all keys are known; each head subtracts its own mean."""
    layer = SelfAttention(4, heads=4, kv_heads=2, score="gaussian")
    with torch.no_grad():
        layer.key.bias += torch.tensor([1000.0, -2000.0])
        layer.query.bias += torch.tensor([1000.0, 1000.0, -2000.0, -2000.0])
    x, lengths = torch.randn(3, 6, 4), torch.tensor([6, 3, 0])
    actual = layer(x, lengths)[0].double()
    assert_close(actual, layer.double()(x.double(), lengths)[0], rtol=0, atol=1e-3)


# Weights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_recorded_weights_reproduce_the_output(score, kv_heads):
    layer, x = causal(score=score, kv_heads=kv_heads), random(2, 5, 8)
    weights = weights_of(layer, x)
    values = layer.value(x).unflatten(2, (kv_heads, 2)).transpose(1, 2).repeat_interleave(4 // kv_heads, dim=1)
    expected = layer.output((weights @ values).transpose(1, 2).flatten(2))
    assert_close(layer(x)[0], expected)


def test_weights_recorded_stepwise_equal_those_of_one_call():
    layer, x = causal(window=3, rotary=Rotary(2)), random(2, 5, 8)
    with record("attention") as seen:
        state = None
        for step in x.split(1, dim=1):
            _, state = layer(step, state=state)
    assert_close(seen["attention"][""]["weights"], weights_of(layer, x))


def test_recorded_names_are_paths_of_modules():
    layers = Stack({"lower": SelfAttention(4, 2), "upper": SelfAttention(4, 2)})
    with record("attention") as seen:
        layers(torch.randn(1, 3, 4))
    assert list(seen["attention"]) == ["lower", "upper"]


def test_grouped_heads_equal_heads_with_the_same_keys():
    grouped, full = causal(kv_heads=2), causal()
    with torch.no_grad():
        for name in ("query", "output"):
            getattr(full, name).load_state_dict(getattr(grouped, name).state_dict())
        for name in ("key", "value"):
            for kind in ("weight", "bias"):
                shared = getattr(getattr(grouped, name), kind).unflatten(0, (2, 2))
                getattr(getattr(full, name), kind).copy_(shared.repeat_interleave(2, dim=0).flatten(0, 1))
    x = random(2, 5, 8)
    whole, _ = full(x)
    assert_close(grouped(x)[0], whole)
    _, state = grouped(x[:, :4])
    assert_close(grouped(x[:, 4:], state=state)[0], whole[:, 4:])  # one query has its own code path


def test_heads_are_independent():
    """Head 1 reaches the output only through its own columns of W_o."""
    layer, x = SelfAttention(8, heads=2).double(), random(1, 3, 8)
    other = copy.deepcopy(layer)
    with torch.no_grad():
        other.query.weight[4:] += 1
        for attention in (layer, other):
            attention.output.weight.copy_(torch.eye(8))
    changed = (layer(x)[0] != other(x)[0]).any(dim=1)
    assert changed.tolist() == [[False] * 4 + [True] * 4]


def test_attention_without_projections_equals_its_formula():
    """y_t = Σ_s softmax_s(x_t · x_s) x_s"""
    x = random(2, 4, 3)
    y, _ = PlainSelfAttention(3)(x)
    for row in range(2):
        assert_close(y[row], (x[row] @ x[row].T).softmax(dim=1) @ x[row])


# Rotary ------------------------------------------------------------------------------------------------------------


def test_rotary_scores_depend_on_the_distance_alone():
    rotary = Rotary(6).double()
    q, k = random(1, 1, 1, 6), random(1, 1, 1, 6)

    def score(p, s):
        return (rotary(q, torch.tensor([[p]])) * rotary(k, torch.tensor([[s]]))).sum()

    for p, s in ((3, 1), (9, 2), (0, 4)):
        for shift in (1, 100, 5000):
            assert_close(score(p + shift, s + shift), score(p, s), rtol=0, atol=1e-9)
    assert abs(score(3, 1) - score(4, 1)) > 1e-3


def test_rotary_attention_does_not_depend_on_the_first_position():
    """The same steps at later positions give the same output within the window."""
    layer, x = causal(rotary=Rotary(2), window=3), random(1, 8, 8)
    late = layer(random(1, 40, 8))[1]
    assert_close(layer(x, state=late)[0][:, 2:], layer(x)[0][:, 2:])


def test_attention_that_is_not_causal_has_no_state():
    layer = SelfAttention(8, heads=2)
    _, state = layer(torch.randn(2, 3, 8))
    assert dict(state) == {}
    with pytest.raises(CannotStep):
        layer(torch.randn(2, 1, 8), state=state)


# Invalid input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: SelfAttention(8, heads=3),
            r"SelfAttention: heads is 3; expected a divisor of the size, 8; or set head_size",
        ),
        (lambda: SelfAttention(8, heads=0), r"SelfAttention: heads is 0; expected a whole number, at least 1"),
        (lambda: SelfAttention(8, 4, kv_heads=3), r"SelfAttention: kv_heads is 3; expected a divisor of heads, 4"),
        (lambda: SelfAttention(8, 4, kv_heads=-2), r"SelfAttention: kv_heads is -2; expected a whole number, at least"),
        (lambda: CrossAttention(8, 6, 4, kv_heads=0), r"CrossAttention: kv_heads is 0; expected a whole number, at"),
        (lambda: SelfAttention(8, 4, head_size=0), r"SelfAttention: head_size is 0; expected a whole number, at least"),
        (
            lambda: SelfAttention(8, 4, value_size=0),
            r"SelfAttention: value_size is 0; expected a whole number, at least",
        ),
        (lambda: SelfAttention(8, 4, window=0), r"SelfAttention: window is 0; expected a whole number, at least 1"),
        (
            lambda: SelfAttention(8, 4, score="cosine", rotary=Rotary(2)),
            r"SelfAttention: rotary has the score Cosine with it; expected dot or scaled-dot, the scores that it",
        ),
        (lambda: SelfAttention(8, 4, rotary=Rotary(4)), r"SelfAttention: rotary has size 4; expected 2, a head's size"),
        (lambda: Rotary(5), r"Rotary: size is 5; expected an even number, since it rotates pairs"),
        (
            lambda: SelfAttention(8, 4, score=Bilinear(2, 2, heads=3)),
            r"SelfAttention: score has 3 heads and 3 key heads; expected 4 and 4, or 1 to share its weights",
        ),
        (
            lambda: SelfAttention(8, 4, kv_heads=2, score=LowRank(2, 2, heads=4)),
            r"SelfAttention: score has 4 heads and 4 key heads; expected 4 and 2, or 1 to share its weights",
        ),
        (
            lambda: PlainSelfAttention(4, score=Dot(3, 3)),
            r"PlainSelfAttention: score has sizes 3 and 3; expected 4 for both, the width of x",
        ),
    ],
)
def test_invalid_settings_are_errors(make, message):
    with pytest.raises(ArgumentError, match=f"^{message}"):
        make()


def test_a_score_by_name_needs_the_heads_of_the_layer_too(monkeypatch):
    def two_heads(query_size, key_size, *, heads, key_heads):
        return Bilinear(query_size, key_size, heads=2)

    monkeypatch.setattr("seqloom.nn.multihead.SCORES", {"mine": two_heads})
    with pytest.raises(ArgumentError, match="score has 2 heads and 2 key heads; expected 4 and 4, or 1 to share"):
        SelfAttention(8, 4, score="mine")


def test_a_missing_memory_is_an_error():
    layer = CrossAttention(8, 6, heads=2)
    with pytest.raises(
        MissingMemory, match=r"no memory to attend to\. Begin with state = layer\.start\(memory, lengths\)"
    ):
        layer(torch.randn(1, 3, 8))
    with pytest.raises(MissingMemory, match="outermost"):
        Stack([SelfAttention(8, 2), layer])(torch.randn(1, 3, 8))


@pytest.mark.usefixtures("unchecked")
def test_a_memory_of_another_size_is_an_error():
    layer = CrossAttention(8, 6, heads=2)
    with pytest.raises(ArgumentError, match=r"^CrossAttention: memory has 5 features per step .*; expected 6\.$"):
        layer.start(torch.randn(1, 3, 5))
    with pytest.raises(ArgumentError, match=r"^CrossAttention: lengths has the value 4; expected at most 3"):
        layer.start(torch.randn(1, 3, 6), torch.tensor([4]))


def test_the_state_of_another_layer_is_an_error():
    _, state = causal()(random(2, 3, 8))
    with pytest.raises(ArgumentError, match=r"^SelfAttention: state\['keys'\] has shape .*is it the state of another"):
        causal(kv_heads=2)(random(2, 1, 8), state=state)
    with pytest.raises(ArgumentError, match="is it the state of another layer"):
        CrossAttention(8, 6, heads=4).double()(random(2, 1, 8), state=state)
