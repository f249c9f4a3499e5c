"""Attention decoders in all combinations, and their recorded attention."""

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from seqloom.core.problem import ArgumentError, MissingMemory
from seqloom.nn.attention_decoder import AttentionDecoder, ConcatCombine, TanhCombine, last_output
from seqloom.nn.bridges import Bridge, LastBridge, LearnedBridge, NoBridge
from seqloom.nn.cells import GRU, LSTM
from seqloom.nn.decoder_context import AttentionAfter, AttentionBefore, Context, NoContext, PooledContext
from seqloom.nn.dropout import Dropout
from seqloom.nn.layer import Layer, Traits
from seqloom.nn.normalization import BatchNorm
from seqloom.nn.positions import LearnedPositions
from seqloom.nn.record import record
from seqloom.nn.recurrent import Bidirectional, Recurrent
from seqloom.nn.residual import Residual
from seqloom.nn.scores import Additive, Bilinear
from seqloom.nn.stack import Stack
from seqloom.nn.state import State

X, HIDDEN, MEMORY = 3, 4, 5
ROWS, STEPS, SOURCE = 3, 6, 7
SOURCE_LENGTHS = torch.tensor([7, 0, 4])

contexts: dict[str, Callable[[], Context]] = {
    "none": NoContext,
    "mean": lambda: PooledContext(MEMORY, "mean"),
    "max": lambda: PooledContext(MEMORY, "max"),
    "before": lambda: AttentionBefore(HIDDEN, MEMORY, "additive"),
    "after": lambda: AttentionAfter(HIDDEN, MEMORY, "bilinear"),
}


def decoder(
    context: Context,
    combine: type = ConcatCombine,
    feed: str = "every",
    input_feeding: bool = False,
    wrap: Callable[[Recurrent], Layer] = lambda layer: layer,
) -> AttentionDecoder:
    """A GRU decoder with these parts, in float64."""
    met = combine(context.size, HIDDEN)
    body = wrap(Recurrent(GRU(X + context.size * context.feeds_body + met.output_size * input_feeding, HIDDEN)))
    bridge = LearnedBridge(MEMORY, body)
    return AttentionDecoder(body, context, met, bridge, context_input=feed, input_feeding=input_feeding).double().eval()


def memory() -> Tensor:
    return torch.randn(ROWS, SOURCE, MEMORY, dtype=torch.float64)


def target() -> Tensor:
    return torch.randn(ROWS, STEPS, X, dtype=torch.float64)


def assert_close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)


# All combinations -------------------------------------------------------------------------------------------------

combinations = [
    (context, combine, feed, input_feeding)
    for context, combine, feed, input_feeding in itertools.product(
        contexts, (ConcatCombine, TanhCombine), ("every", "first"), (False, True)
    )
    if feed == "every" or contexts[context]().feeds_body
]


def named(combination: tuple) -> str:
    context, combine, feed, input_feeding = combination
    return f"{context}, {combine.__name__}, {feed}" + ", input feeding" * input_feeding


@pytest.mark.parametrize("combination", combinations, ids=named)
def test_stepwise_outputs_equal_those_of_one_call(combination: tuple) -> None:
    context, combine, feed, input_feeding = combination
    layer = decoder(contexts[context](), combine, feed, input_feeding)
    source, x = memory(), target()
    whole, end = layer(x, state=layer.start(source, SOURCE_LENGTHS))
    assert whole.shape == (ROWS, STEPS, layer.output_size)

    state, steps = layer.start(source, SOURCE_LENGTHS), []
    for step in x.split(1, dim=1):
        y, state = layer(step, state=state)
        steps.append(y)
    assert_close(torch.cat(steps, dim=1), whole)
    assert set(state) == set(end)
    for name in end:
        assert_close(state[name], end[name])

    lengths = torch.tensor([2, 3, 0])  # and in two ragged calls
    first, state = layer(x[:, :3], lengths, layer.start(source, SOURCE_LENGTHS))
    following = torch.stack([x[row, n : n + 3] for row, n in enumerate(lengths.tolist())])
    second, state = layer(following, state=state)
    for row, n in enumerate(lengths.tolist()):
        assert_close(torch.cat([first[row, :n], second[row]]), whole[row, : n + 3])


@pytest.mark.parametrize("combination", combinations, ids=named)
def test_different_settings_give_different_outputs(combination: tuple) -> None:
    """Each setting has an effect, except where the context does not feed the body."""
    context, combine, feed, input_feeding = combination
    layer = decoder(contexts[context](), combine, feed, input_feeding)
    x = target()
    state = layer.start(memory(), torch.full((ROWS,), SOURCE))
    y, _ = layer(x, state=state)
    other, _ = layer(x, state=layer.start(memory(), torch.full((ROWS,), SOURCE)))
    assert not torch.isclose(other, y).any()  # another source gives other outputs

    layer.context_input = "first" if feed == "every" else "every"
    with_other_input, _ = layer(x, state=state)
    assert torch.equal(with_other_input[:, 0], y[:, 0])
    assert torch.equal(with_other_input, y) == (not layer.context.feeds_body)


def test_the_body_runs_once_without_input_feeding_or_attention_before() -> None:
    for context, input_feeding, calls in (
        ("none", False, 1),
        ("mean", False, 1),
        ("after", False, 1),
        ("after", True, STEPS),
        ("before", False, STEPS),
    ):
        layer, seen = decoder(contexts[context](), input_feeding=input_feeding), []
        layer.body.register_forward_hook(lambda *_, seen=seen: seen.append(1))
        layer(target(), state=layer.start(memory()))
        assert len(seen) == calls, context


# The source -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("context", contexts)
def test_padding_of_the_source_changes_nothing(context: str) -> None:
    layer, x = decoder(contexts[context]()), target()
    clean = memory()
    padding = torch.arange(SOURCE) >= SOURCE_LENGTHS.unsqueeze(1)
    results = []
    for fill in (0.0, 1e4, float("nan")):
        source = clean.masked_fill(padding.unsqueeze(2), fill).requires_grad_()
        y, _ = layer(x, state=layer.start(source, SOURCE_LENGTHS))
        (to_source,) = torch.autograd.grad(y.square().sum(), source)
        assert to_source[padding].eq(0).all()
        assert to_source[~padding].abs().sum() > 0
        results.append(torch.cat([y.flatten(), to_source.flatten()]))
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


@pytest.mark.parametrize("context", contexts)
def test_a_source_may_have_no_steps(context: str) -> None:
    layer, x = decoder(contexts[context]()), target()
    y, _ = layer(x, state=layer.start(memory()[:, :0]))
    ragged, _ = layer(x, state=layer.start(memory(), torch.zeros(ROWS, dtype=torch.int64)))
    assert_close(y, ragged)


@pytest.mark.parametrize("context", contexts)
def test_gradients_reach_the_source(context: str) -> None:
    layer, x = decoder(contexts[context](), TanhCombine, input_feeding=True), target()
    source = memory().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda *_: layer(x, state=layer.start(source, SOURCE_LENGTHS))[0], (source, *layer.parameters()), fast_mode=True
    )


# Records ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("input_feeding", [False, True], ids=["", "input feeding"])
@pytest.mark.parametrize("context", ["before", "after"])
def test_recorded_attention_is_aligned(context: str, input_feeding: bool) -> None:
    layer, source, x = decoder(contexts[context](), input_feeding=input_feeding), memory(), target()
    with record("attention") as seen:
        y, _ = layer(x, state=layer.start(source, SOURCE_LENGTHS))
    weights = seen["attention"]["context.memory"]["weights"]
    assert weights.shape == (ROWS, 1, STEPS, SOURCE)
    beyond = (torch.arange(SOURCE) >= SOURCE_LENGTHS.unsqueeze(1))[:, None, None].expand_as(weights)
    assert weights[beyond].eq(0).all()
    assert_close(weights.sum(dim=3)[[0, 2]], torch.ones(2, 1, STEPS, dtype=torch.float64))
    assert_close(y[..., :MEMORY], weights.squeeze(1) @ source)  # the context, in [c; s]
    assert_close(y, layer(x, state=layer.start(source, SOURCE_LENGTHS))[0])

    with record("attention") as seen:
        state = layer.start(source, SOURCE_LENGTHS)
        for chunk in x.split([1, 3, 2], dim=1):
            _, state = layer(chunk, state=state)
    assert_close(seen["attention"]["context.memory"]["weights"], weights)


def test_without_attention_nothing_is_recorded() -> None:
    layer = decoder(PooledContext(MEMORY, "mean"))
    with record("attention", "gates") as seen:
        layer(target(), state=layer.start(memory()))
    assert seen["attention"] == {}
    assert seen["gates"]["body"]["update"].shape == (ROWS, STEPS, HIDDEN)


# The first query --------------------------------------------------------------------------------------------------


def test_the_first_query_is_the_initial_state_of_the_body() -> None:
    for wrap in (
        lambda layer: layer,
        lambda layer: Stack([layer, Recurrent(LSTM(HIDDEN, HIDDEN))]),
        lambda layer: Stack([layer, Stack([Recurrent(LSTM(HIDDEN, HIDDEN)), Dropout(HIDDEN, 0.1)])]),
    ):
        layer = decoder(contexts["before"](), wrap=wrap)
        state = layer.start(memory(), SOURCE_LENGTHS)
        top = [name for name in state if name.startswith("body.") and name.endswith("hidden")][-1]
        assert torch.equal(state["query"], state[top])
        assert state["query"].ne(0).all()


def test_the_first_query_is_zero_if_the_state_has_no_last_output() -> None:
    layer = decoder(contexts["before"](), wrap=lambda layer: Stack([layer, Residual(Recurrent(GRU(HIDDEN, HIDDEN)))]))
    assert last_output(layer.body, layer.start(memory()).substate("body")) is None
    assert layer.start(memory())["query"].eq(0).all()


# Traits -----------------------------------------------------------------------------------------------------------


def test_traits_are_those_of_the_body() -> None:
    def positioned(layer: Recurrent) -> Stack:
        return Stack([LearnedPositions(layer.input_size, 9), layer, BatchNorm(HIDDEN)])

    assert decoder(NoContext()).traits == Traits(causal=True)
    assert decoder(NoContext(), wrap=positioned).traits == Traits(causal=True, max_length=9, rows_independent=False)


# Invalid input ----------------------------------------------------------------------------------------------------


def complaint(make: Callable[[], object]) -> str:
    with pytest.raises(ArgumentError) as caught:
        make()
    return str(caught.value)


def test_parts_of_different_sizes_are_an_error() -> None:
    body = Recurrent(GRU(X + MEMORY, HIDDEN))
    context, combine, bridge = AttentionBefore(HIDDEN, MEMORY, "additive"), ConcatCombine(MEMORY, HIDDEN), NoBridge()

    def about(
        body: Layer = body, context: Context = context, combine=combine, bridge: Bridge = bridge, feed: str = "every"
    ) -> str:
        return complaint(lambda: AttentionDecoder(body, context, combine, bridge, context_input=feed)).removeprefix(
            "AttentionDecoder: "
        )

    both = Bidirectional(Recurrent(GRU(X + MEMORY, 2)), Recurrent(GRU(X + MEMORY, 2)))
    assert about(body=both) == "body sees later steps; expected a causal layer."
    assert about(feed="last") == "context_input is 'last'; expected 'every' or 'first'."
    assert about(combine=ConcatCombine(4, HIDDEN)) == "combine has context_size 4; expected 5, the context's size."
    assert about(combine=TanhCombine(MEMORY, 5)) == "combine has hidden_size 5; expected 4, the body's output_size."
    other = AttentionBefore(6, MEMORY, "additive")
    assert about(context=other) == "context has query_size 6; expected 4, the body's output_size."
    bridge = LearnedBridge(6, body)
    assert about(bridge=bridge) == "bridge has memory_size 6; expected 5, the context's memory_size."
    small = Recurrent(GRU(MEMORY, HIDDEN))
    assert about(body=small) == "body has input_size 5; expected more than 5, the width of context and input feeding."


def test_a_score_of_other_sizes_is_an_error() -> None:
    for score in (Additive(3, MEMORY), Bilinear(HIDDEN, 3), Bilinear(HIDDEN, MEMORY, heads=2)):
        actual = f"query_size {score.query_size}, key_size {score.key_size} and heads {score.heads}"
        expected = f"AttentionAfter: score has {actual}; expected 4, 5 and 1."
        assert complaint(lambda score=score: AttentionAfter(HIDDEN, MEMORY, score)) == expected


@pytest.mark.usefixtures("unchecked")
def test_an_invalid_memory_is_an_error() -> None:
    for context in contexts.values():
        layer, source = decoder(context()), memory()
        for memory_, lengths, expected in (
            (source[..., :4], None, "memory has 4 features per step (its last dimension); expected 5."),
            (source[0], None, "memory has shape [7, 5]; expected three dimensions, [batch, time, 5]."),
            (
                source.long(),
                None,
                "memory has type torch.int64; expected real values; give tokens to a stem, such as TokenEmbedding.",
            ),
            (source, SOURCE_LENGTHS + 1, "lengths has the value 8; expected at most 7, the number of steps."),
            (source, SOURCE_LENGTHS[:2], "lengths has shape [2]; expected [3], one number per row."),
        ):
            message = complaint(lambda layer=layer, memory_=memory_, lengths=lengths: layer.start(memory_, lengths))
            assert message == f"AttentionDecoder: {expected}"


def test_a_decoder_without_a_memory_is_an_error() -> None:
    layer = decoder(contexts["before"]())
    with pytest.raises(MissingMemory, match=r"Begin with state = decoder\.start\(memory, lengths, final\)"):
        layer(target())
    body = Recurrent(GRU(X, HIDDEN))
    carried = AttentionDecoder(body, NoContext(), ConcatCombine(0, HIDDEN), LastBridge(body, body))
    assert complaint(lambda: carried.start(memory())).startswith("LastBridge: the encoder's final state has nothing;")


def test_the_state_of_another_decoder_is_an_error() -> None:
    layer, other = decoder(contexts["before"]()), decoder(contexts["after"]())
    assert "is it the state of another layer?" in complaint(lambda: layer(target(), state=other.start(memory())))
    assert complaint(lambda: layer(target()[:2], state=layer.start(memory()))) == (
        "AttentionDecoder: state['body.hidden'] has 3 rows; expected 2, the rows of x."
    )
    assert "expected" in complaint(lambda: layer(target(), state=State(hidden=torch.zeros(ROWS, HIDDEN))))


def test_context_input_first_is_refused_with_attention_after() -> None:
    body = Recurrent(GRU(3, 4))
    with pytest.raises(
        ArgumentError, match="context_input is 'first'; expected 'every', since this context does not feed"
    ):
        AttentionDecoder(
            body, AttentionAfter(4, 5, "bilinear"), ConcatCombine(5, 4), LearnedBridge(5, body), context_input="first"
        )
