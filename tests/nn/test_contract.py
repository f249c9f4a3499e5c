"""The conformance suite: the tests that every layer must pass, selected by its traits.

A new layer gets here by an entry in `tests/nn/catalogue`.
"""

import copy
import importlib
import inspect
import pkgutil
from collections import Counter

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save
from torch import nn

import seqloom.nn
from seqloom.core.problem import CannotStep
from seqloom.nn.cells import LSTMLayerNorm, ReluRNN
from seqloom.nn.conformance import LAYER_CHECKS, check_padding, check_splits, forward_backward
from seqloom.nn.layer import Layer
from seqloom.nn.state import State
from tests.nn.catalogue import Case, cases
from tests.nn.suite import (
    ROWS,
    STEPS,
    assert_close,
    assert_equal,
    assert_state_close,
    causal,
    every,
    every_class,
    fixed_names,
    not_causal,
    random_batch,
    random_x,
    representatives,
    rows_independent,
    trial_of,
)

# The first test checks the shape annotations of every call; the others run without them, several times faster.
unchecked = pytest.mark.usefixtures("unchecked")
few_examples = settings(
    max_examples=settings.default.max_examples // 4, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

# The equation -----------------------------------------------------------------------------------------------------


@every(where=lambda case: case.reference is not None)
def test_the_output_equals_the_textbook_reference(case: Case) -> None:
    layer = case.layer()
    batch, ragged = random_batch(layer)
    for x, lengths in ((batch, None), (batch, ragged), (batch[:1, :1], None)):
        y, state = layer(x, lengths, case.initial_state(layer, len(x)))
        assert_close(y, case.reference(layer, x, lengths), atol=1e-10)
    assert state.position.tolist() == [1]


@every()
@unchecked
def test_gradients_equal_finite_differences(case: Case) -> None:
    layer = case.layer()
    x, lengths = random_x(layer, rows=3, steps=3), torch.tensor([3, 0, 2])
    inputs = [tensor.requires_grad_() for tensor in (x, *layer.parameters()) if tensor.is_floating_point()]

    def outputs(*_: torch.Tensor) -> tuple[torch.Tensor, ...]:  # gradcheck changes the inputs in place
        y, state = layer(x, lengths, case.initial_state(layer, 3))
        return y, *(state[name] for name in fixed_names(layer) if state[name].requires_grad)

    assert torch.autograd.gradcheck(outputs, inputs, fast_mode=True, atol=1e-6, rtol=1e-5)


# The checks of user-defined parts: declarations, types, padding, rows, causality, splits ---------------------------


@every()
@unchecked
def test_layers_pass_the_checks_of_user_defined_layers(case: Case) -> None:
    trial = trial_of(case)
    for check in LAYER_CHECKS:
        check(trial)


@every()
@unchecked
def test_padding_changes_nothing_in_training(case: Case) -> None:
    check_padding(trial_of(case, training=True))


@every(having=rows_independent)
@unchecked
def test_other_rows_change_nothing(case: Case) -> None:
    for training in (False, True):
        layer = case.layer().train(training)
        x, lengths = random_batch(layer)
        others = torch.cat([x[:1], random_x(layer, ROWS, x.shape[1])[1:]])
        before = forward_backward(layer, x, lengths, case.initial_state(layer, ROWS))
        after = forward_backward(layer, others, lengths, case.initial_state(layer, ROWS))
        assert_close(after.y[0], before.y[0], atol=1e-14 if case.shares else 0)
        assert torch.equal(after.x_grad[0], before.x_grad[0])


# Time ------------------------------------------------------------------------------------------------------------


@every_class(having=causal)
@few_examples
@given(cuts=st.lists(st.integers(0, STEPS), max_size=4))
@unchecked
def test_any_split_in_time_gives_the_same(case: Case, cuts: list[int]) -> None:
    check_splits(trial_of(case), tuple(sorted(cuts)))


@every(having=causal)
@few_examples
@given(
    chunks=st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=4),
    padding=st.integers(0, 2),
)
@unchecked
def test_any_split_of_ragged_rows_gives_the_same(case: Case, chunks: list[list[int]], padding: int) -> None:
    """Chunk k holds the next chunks[k][r] steps of row r, and then padding."""
    layer = case.layer()
    limit = layer.traits.max_length or 99
    ends = torch.tensor(chunks).cumsum(0).clamp(max=limit)  # [chunk, row]
    rows, steps = ends.shape[1], int(ends[-1].max())
    x = random_x(layer, rows, steps)
    whole, end = layer(x, ends[-1], case.initial_state(layer, rows))

    starts = torch.cat([torch.zeros(1, rows, dtype=torch.int64), ends[:-1]])
    outputs: list[list[torch.Tensor]] = [[] for _ in range(rows)]
    state = case.initial_state(layer, rows)
    for start, stop in zip(starts, ends, strict=True):
        lengths = stop - start
        time = int(lengths.max()) + padding
        if (0 if state is None else state.max_position) + time > limit:
            time = int(lengths.max())
        chunk = random_x(layer, rows, time)
        for row in range(rows):
            chunk[row, : lengths[row]] = x[row, start[row] : stop[row]]
        y, state = layer(chunk, lengths, state)
        for row in range(rows):
            outputs[row].append(y[row, : lengths[row]])
    for row in range(rows):
        assert_close(torch.cat(outputs[row]), whole[row, : ends[-1, row]])
    assert_state_close(state, end, layer)


@every(having=causal)
@unchecked
def test_gradients_flow_through_a_carried_state(case: Case) -> None:
    layer = case.layer()
    x, _ = random_batch(layer)
    weights = torch.randn(x.shape[1], layer.output_size, dtype=torch.float64)
    gradients = []
    for cuts in ([], [1, 3]):
        layer.zero_grad()
        leaf = x.clone().requires_grad_(x.is_floating_point())
        outputs, state = [], case.initial_state(layer, ROWS)
        for chunk in leaf.tensor_split(cuts, dim=1):
            y, state = layer(chunk, state=state)
            outputs.append(y)
        (torch.cat(outputs, dim=1) * weights).sum().backward()
        gradients.append([tensor.grad for tensor in (leaf, *layer.parameters()) if tensor.requires_grad])
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-10)


@representatives(having=not_causal)
def test_a_layer_that_reads_the_whole_sequence_cannot_continue(case: Case) -> None:
    layer = case.layer()
    x, _ = random_batch(layer)
    _, state = layer(x, state=case.initial_state(layer, ROWS))
    with pytest.raises(CannotStep, match=r"can't continue .* Give it all steps in one call, or use a causal layer\."):
        layer(x, state=state)


@every(having=not_causal)
@unchecked
def test_a_layer_that_is_not_causal_sees_the_future(case: Case) -> None:
    """The trait is not understated: some output depends on a later input."""
    layer = case.layer()
    x, _ = random_batch(layer)
    x.requires_grad_()
    y, _ = layer(x, state=case.initial_state(layer, ROWS))
    (x_grad,) = torch.autograd.grad(y[:, 0].square().sum(), x)
    assert x_grad[:, 1:].abs().sum() > 0


# Rows come and go -------------------------------------------------------------------------------------------------


@every(having=causal)
@unchecked
def test_rows_continue_separately_and_together(case: Case) -> None:
    layer = case.layer()
    x, _ = random_batch(layer, (0,) * 5)
    half = x.shape[1] // 2
    lengths = torch.tensor([half, 1, 0, half, 1]).clamp(max=half)
    rest = x[:, : x.shape[1] - half]

    def first_half() -> State:
        return layer(x[:, :half], lengths, case.initial_state(layer, 5))[1]

    alone = [layer(rest[r : r + 1], state=first_half().select(torch.tensor([r])))[0] for r in range(5)]
    state = first_half()
    states = [state.select(torch.tensor([r])) for r in range(5)]
    order = [3, 0, 2, 4, 1, 3]
    together, _ = layer(rest[order], state=State.cat([states[r] for r in order]))
    assert_close(together, torch.cat([alone[r] for r in order]))
    fewer, _ = layer(rest[[0, 2, 4]], state=first_half().remove(torch.tensor([3, 1])))
    assert_close(fewer, torch.cat([alone[r] for r in (0, 2, 4)]))


@every(having=causal)
@unchecked
def test_a_new_row_joins_old_ones(case: Case) -> None:
    layer = case.layer()
    x, _ = random_batch(layer)
    half = x.shape[1] // 2
    whole, _ = layer(x, state=case.initial_state(layer, ROWS))
    _, old = layer(x[:, :half], state=case.initial_state(layer, ROWS))
    new = case.initial_state(layer, ROWS) or layer.initial(ROWS, torch.zeros((), dtype=torch.float64))
    both, _ = layer(torch.cat([x[:, half:], x[:, : x.shape[1] - half]]), state=State.cat([old, new]))
    assert_close(both[:ROWS], whole[:, half:])
    assert_close(both[ROWS:], whole[:, : x.shape[1] - half])


@every(having=causal)
@unchecked
def test_a_waiting_row_keeps_its_state(case: Case) -> None:
    layer = case.layer()
    x, _ = random_batch(layer)
    half = x.shape[1] // 2
    _, state = layer(x[:, :half], state=case.initial_state(layer, ROWS))
    before = State({name: tensor.clone() for name, tensor in state.items()}, position=state.position.clone())
    y, after = layer(x[:, half:], torch.tensor([0, 1, 0, x.shape[1] - half]), state)
    waiting = torch.tensor([0, 2])
    assert y[waiting].eq(0).all()
    assert_state_close(after.select(waiting), before.select(waiting), layer, atol=0)
    assert (after.position - before.position).tolist() == [0, 1, 0, x.shape[1] - half]


# Edges ------------------------------------------------------------------------------------------------------------


@representatives()
def test_a_batch_may_have_no_steps(case: Case) -> None:
    layer = case.layer()
    x, lengths = random_batch(layer)
    for empty in (None, torch.zeros(ROWS, dtype=torch.int64)):
        y, state = layer(x[:, :0], empty, case.initial_state(layer, ROWS))
        assert y.shape == (ROWS, 0, layer.output_size)
        assert y.dtype == torch.float64
        assert state.position.tolist() == [0] * ROWS
        assert_close(layer(x, lengths, state)[0], layer(x, lengths, case.initial_state(layer, ROWS))[0])


@every_class()
def test_a_batch_may_have_no_rows(case: Case) -> None:
    layer = case.layer()
    x, lengths = random_batch(layer)
    for empty in (None, lengths[:0]):
        y, state = layer(x[:0], empty, case.initial_state(layer, 0))
        assert y.shape == (0, x.shape[1], layer.output_size)
        assert state.rows == 0


@representatives()
def test_lengths_may_be_int32_or_int64(case: Case) -> None:
    layer = case.layer()
    x, lengths = random_batch(layer)
    y, _ = layer(x, lengths.int(), case.initial_state(layer, ROWS))
    assert torch.equal(y, layer(x, lengths, case.initial_state(layer, ROWS))[0])


# Modes, precision, storage ----------------------------------------------------------------------------------------


@every(having=rows_independent, where=lambda case: not case.noisy)
@unchecked
def test_training_without_noise_equals_eval(case: Case) -> None:
    layer = case.layer()
    x, lengths = random_batch(layer)
    evaluated = forward_backward(layer, x, lengths, case.initial_state(layer, ROWS))
    trained = forward_backward(layer.train(), x, lengths, case.initial_state(layer, ROWS))
    assert_close(trained.y, evaluated.y)
    assert_close(trained.x_grad, evaluated.x_grad)


@every(where=lambda case: case.noisy)
@unchecked
def test_noise_is_drawn_in_training_only(case: Case) -> None:
    layer = case.layer()
    x, _ = random_batch(layer)
    evaluated = forward_backward(layer, x, None, case.initial_state(layer, ROWS)).y
    layer.train()
    first, repeated, other = (
        forward_backward(layer, x, None, case.initial_state(layer, ROWS), seed).y for seed in (1, 1, 2)
    )
    assert torch.equal(first, repeated)
    assert not torch.allclose(first, other)
    assert not torch.allclose(first, evaluated)


# ReLU passes a gradient or not; a norm divides by a deviation, here of four numbers, that may be nearly zero. For
# these one rounding may change much, so the best of three draws counts.
SHARP = (nn.ReLU, ReluRNN, LSTMLayerNorm)


@every()
@unchecked
def test_lower_precision_is_close_to_float64(case: Case) -> None:
    draws = 3 if any(isinstance(module, SHARP) for module in case.make().modules()) else 1
    for dtype, limit in ((torch.float32, 1e-5), (torch.bfloat16, 0.05)):
        torch.manual_seed(0)
        assert min(relative_error(case, dtype) for _ in range(draws)) <= limit, dtype


def relative_error(case: Case, dtype: torch.dtype) -> float:
    """The root mean square difference from float64, relative to the largest value, of the worst tensor."""
    layer = case.layer(dtype)
    x, lengths = random_batch(layer, dtype=dtype)
    low = forward_backward(layer, x, lengths, case.initial_state(layer, ROWS))
    exact = copy.deepcopy(layer).double()
    high = forward_backward(exact, x.double() if x.is_floating_point() else x, lengths, case.initial_state(exact, ROWS))
    assert all(tensor.dtype == dtype for tensor in low.state.values() if tensor.is_floating_point())

    worst = 0.0
    actual, expected = ({"y": result.y, "x": result.x_grad, **result.weight_grads} for result in (low, high))
    for name, value in actual.items():
        if value.is_floating_point():  # unlike tokens
            assert value.dtype == dtype, name
            assert value.isfinite().all(), name
            error = (value.double() - expected[name]).square().mean().sqrt()
            worst = max(worst, (error / expected[name].abs().max().clamp(min=1)).item())
    return worst


@every_class()
@unchecked
def test_layers_save_and_load(case: Case) -> None:
    layer = case.layer()
    other = case.layer()
    other.load_state_dict(load(save(layer.state_dict())))
    x, lengths = random_batch(layer)
    expected = forward_backward(layer, x, lengths, case.initial_state(layer, ROWS))
    for twin in (other, copy.deepcopy(layer)):
        assert_equal(forward_backward(twin, x, lengths, case.initial_state(twin, ROWS)), expected, layer)


# The catalogue ----------------------------------------------------------------------------------------------------


def test_every_layer_is_in_the_catalogue() -> None:
    modules = [importlib.import_module(m.name) for m in pkgutil.walk_packages(seqloom.nn.__path__, "seqloom.nn.")]
    public = {
        value
        for module in modules
        for name, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Layer) and not inspect.isabstract(value) and name[0] != "_"
    }
    catalogued = {type(case.make()) for case in cases}
    missing = {layer.__name__ for layer in public - catalogued}
    assert not missing, f"not in tests/nn/catalogue, so not tested: {sorted(missing)}"


def test_names_of_cases_are_unique() -> None:
    assert not [name for name, count in Counter(case.name for case in cases).items() if count > 1]
