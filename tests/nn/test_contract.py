"""The conformance suite: one for all layers. A layer's traits say which of these questions it is asked.

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
from seqloom.nn.conformance import (
    MORE_STEPS,
    check_causal,
    check_declarations,
    check_deterministic,
    check_empty_rows,
    check_gradients,
    check_more_padding,
    check_padding,
    check_rows_independent,
    check_splits,
    forward_backward,
)
from seqloom.nn.layer import Layer
from seqloom.nn.state import State
from tests.nn.catalogue import Case, cases
from tests.nn.questions import (
    ROWS,
    STEPS,
    assert_close,
    assert_equal,
    assert_state_close,
    causal,
    every,
    fixed_names,
    not_causal,
    random_batch,
    random_x,
    room_for,
    rows_independent,
    trial_of,
)

quickly = pytest.mark.usefixtures("unchecked")  # many calls, of shapes that another test has looked at
a_few_times = settings(
    max_examples=settings.default.max_examples // 4, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

# It computes its equation -----------------------------------------------------------------------------------------


@every(where=lambda case: case.reference is not None)
@pytest.mark.parametrize("ragged", [False, True], ids=["full", "ragged"])
def test_equals_the_textbook(case: Case, ragged: bool) -> None:
    layer = case.layer()
    x, lengths = random_batch(layer)
    lengths = lengths if ragged else None
    y, _ = layer(x, lengths, case.initial_state(layer, ROWS))
    assert_close(y, case.reference(layer, x, lengths), atol=1e-10)


@every()
@quickly
def test_gradients_check(case: Case) -> None:
    layer = case.layer()
    x, lengths = random_x(layer, rows=3, steps=3), torch.tensor([3, 0, 2])
    inputs = [tensor.requires_grad_() for tensor in (x, *layer.parameters()) if tensor.is_floating_point()]

    def outputs(*_: torch.Tensor) -> tuple[torch.Tensor, ...]:  # gradcheck moves the very tensors that the layer reads
        y, state = layer(x, lengths, case.initial_state(layer, 3))
        return y, *(state[name] for name in fixed_names(layer) if state[name].requires_grad)

    assert torch.autograd.gradcheck(outputs, inputs, fast_mode=True, atol=1e-6, rtol=1e-5)


# What is not there changes nothing --------------------------------------------------------------------------------


@every()
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@quickly
def test_what_lies_beyond_a_row_changes_nothing(case: Case, training: bool) -> None:
    assert check_padding(trial_of(case, training=training)) is None


@every(having=room_for(STEPS + MORE_STEPS))
@quickly
def test_more_padding_changes_nothing(case: Case) -> None:
    assert check_more_padding(trial_of(case)) is None


@every(having=rows_independent)
@quickly
def test_a_row_alone_gives_the_same(case: Case) -> None:
    assert check_rows_independent(trial_of(case)) is None


@every(having=rows_independent)
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@quickly
def test_batch_mates_change_nothing(case: Case, training: bool) -> None:
    layer = case.layer().train(training)
    x, lengths = random_batch(layer)
    others = torch.cat([x[:1], random_x(layer, ROWS, x.shape[1])[1:]])
    before = forward_backward(layer, x, lengths, case.initial_state(layer, ROWS))
    after = forward_backward(layer, others, lengths, case.initial_state(layer, ROWS))
    assert_close(after.y[0], before.y[0], atol=1e-14 if case.shares else 0)
    assert torch.equal(after.x_grad[0], before.x_grad[0])


# Time ------------------------------------------------------------------------------------------------------------


@every(having=causal)
@a_few_times
@given(cuts=st.lists(st.integers(0, STEPS), max_size=4))
@quickly
def test_any_split_in_time_gives_the_same(case: Case, cuts: list[int]) -> None:
    assert check_splits(trial_of(case), tuple(sorted(cuts))) is None


@every(having=causal)
def test_step_by_step_gives_the_same(case: Case) -> None:
    assert check_splits(trial_of(case)) is None


@every(having=causal)
@a_few_times
@given(
    pieces=st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=4),
    spare=st.integers(0, 2),
)
@quickly
def test_any_split_of_ragged_rows_gives_the_same(case: Case, pieces: list[list[int]], spare: int) -> None:
    """Piece k holds the next pieces[k][r] steps of row r, and padding after them."""
    layer = case.layer()
    limit = layer.traits.max_length or 99
    ends = torch.tensor(pieces).cumsum(0).clamp(max=limit)  # [piece, row]
    rows, steps = ends.shape[1], int(ends[-1].max())
    x = random_x(layer, rows, steps)
    whole, end = layer(x, ends[-1], case.initial_state(layer, rows))

    starts = torch.cat([torch.zeros(1, rows, dtype=torch.int64), ends[:-1]])
    parts: list[list[torch.Tensor]] = [[] for _ in range(rows)]
    state = case.initial_state(layer, rows)
    for start, stop in zip(starts, ends, strict=True):
        lengths = stop - start
        time = int(lengths.max()) + spare
        if (0 if state is None else state.max_position) + time > limit:
            time = int(lengths.max())
        piece = random_x(layer, rows, time)
        for row in range(rows):
            piece[row, : lengths[row]] = x[row, start[row] : stop[row]]
        y, state = layer(piece, lengths, state)
        for row in range(rows):
            parts[row].append(y[row, : lengths[row]])
    for row in range(rows):
        assert_close(torch.cat(parts[row]), whole[row, : ends[-1, row]])
    assert_state_close(state, end, layer)


@every(having=causal)
@quickly
def test_gradients_flow_through_a_carried_state(case: Case) -> None:
    layer = case.layer()
    x, _ = random_batch(layer)
    weights = torch.randn(x.shape[1], layer.output_size, dtype=torch.float64)
    gradients = []
    for cuts in ([], [1, 3]):
        layer.zero_grad()
        given_x = x.clone().requires_grad_(x.is_floating_point())
        parts, state = [], case.initial_state(layer, ROWS)
        for piece in given_x.tensor_split(cuts, dim=1):
            y, state = layer(piece, state=state)
            parts.append(y)
        (torch.cat(parts, dim=1) * weights).sum().backward()
        gradients.append([tensor.grad for tensor in (given_x, *layer.parameters()) if tensor.requires_grad])
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-10)


@every(having=causal)
def test_the_future_changes_nothing(case: Case) -> None:
    assert check_causal(trial_of(case)) is None


@every(having=not_causal)
def test_what_reads_the_whole_cannot_go_on(case: Case) -> None:
    layer = case.layer()
    x, _ = random_batch(layer)
    _, state = layer(x, state=case.initial_state(layer, ROWS))
    with pytest.raises(CannotStep, match=r"can't go on .* Give it all steps in one call, or use a causal layer\."):
        layer(x, state=state)


@every(having=not_causal)
def test_what_is_called_causal_is_only_what_is(case: Case) -> None:
    """The trait is not claimed too little either: some output depends on a later input."""
    layer = case.layer()
    x, _ = random_batch(layer)
    x.requires_grad_()
    y, _ = layer(x, state=case.initial_state(layer, ROWS))
    (to_x,) = torch.autograd.grad(y[:, 0].square().sum(), x)
    assert to_x[:, 1:].abs().sum() > 0


# Rows come and go -------------------------------------------------------------------------------------------------


@every(having=causal)
def test_rows_go_on_apart_and_together_again(case: Case) -> None:
    layer = case.layer()
    x, _ = random_batch(layer, (0,) * 5)
    half = x.shape[1] // 2
    lengths = torch.tensor([half, 1, 0, half, 1]).clamp(max=half)
    rest = x[:, : x.shape[1] - half]

    def begun() -> State:
        return layer(x[:, :half], lengths, case.initial_state(layer, 5))[1]

    alone = [layer(rest[r : r + 1], state=begun().select(torch.tensor([r])))[0] for r in range(5)]
    state = begun()
    apart = [state.select(torch.tensor([r])) for r in range(5)]
    order = [3, 0, 2, 4, 1, 3]
    together, _ = layer(rest[order], state=State.cat([apart[r] for r in order]))
    assert_close(together, torch.cat([alone[r] for r in order]))
    fewer, _ = layer(rest[[0, 2, 4]], state=begun().remove(torch.tensor([3, 1])))
    assert_close(fewer, torch.cat([alone[r] for r in (0, 2, 4)]))


@every(having=causal)
def test_a_new_row_joins_old_ones(case: Case) -> None:
    layer = case.layer()
    x, _ = random_batch(layer)
    half = x.shape[1] // 2
    whole, _ = layer(x, state=case.initial_state(layer, ROWS))
    _, old = layer(x[:, :half], state=case.initial_state(layer, ROWS))
    begin = case.initial_state(layer, ROWS) or layer.initial(ROWS, torch.zeros((), dtype=torch.float64))
    both, _ = layer(torch.cat([x[:, half:], x[:, : x.shape[1] - half]]), state=State.cat([old, begin]))
    assert_close(both[:ROWS], whole[:, half:])
    assert_close(both[ROWS:], whole[:, : x.shape[1] - half])


# Small numbers ----------------------------------------------------------------------------------------------------


@every()
def test_no_steps(case: Case) -> None:
    layer = case.layer()
    x, lengths = random_batch(layer)
    for none in (None, torch.zeros(ROWS, dtype=torch.int64)):
        y, state = layer(x[:, :0], none, case.initial_state(layer, ROWS))
        assert y.shape == (ROWS, 0, layer.output_size)
        assert y.dtype == torch.float64
        assert state.position.tolist() == [0] * ROWS
        assert_close(layer(x, lengths, state)[0], layer(x, lengths, case.initial_state(layer, ROWS))[0])


@every()
def test_one_step_of_one_row(case: Case) -> None:
    layer = case.layer()
    x, _ = random_batch(layer)
    y, state = layer(x[:1, :1], state=case.initial_state(layer, 1))
    assert y.shape == (1, 1, layer.output_size)
    assert state.position.tolist() == [1]
    if case.reference is not None:
        assert_close(y, case.reference(layer, x[:1, :1], None), atol=1e-10)


@every()
def test_no_rows(case: Case) -> None:
    layer = case.layer()
    x, lengths = random_batch(layer)
    for none in (None, lengths[:0]):
        y, state = layer(x[:0], none, case.initial_state(layer, 0))
        assert y.shape == (0, x.shape[1], layer.output_size)
        assert state.rows == 0


@every()
def test_rows_of_no_steps(case: Case) -> None:
    assert check_empty_rows(trial_of(case)) is None


@every(having=causal)
def test_a_row_that_waits_keeps_its_state(case: Case) -> None:
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


@every()
def test_lengths_of_either_integer_type(case: Case) -> None:
    layer = case.layer()
    x, lengths = random_batch(layer)
    y, _ = layer(x, lengths.int(), case.initial_state(layer, ROWS))
    assert torch.equal(y, layer(x, lengths, case.initial_state(layer, ROWS))[0])


# Modes, precision, storage ----------------------------------------------------------------------------------------


@every()
@quickly
def test_eval_mode_draws_nothing(case: Case) -> None:
    assert check_deterministic(trial_of(case)) is None


@every()
@quickly
def test_it_check_declarations(case: Case) -> None:
    assert check_declarations(trial_of(case)) is None
    assert check_gradients(trial_of(case)) is None


@every(having=rows_independent, where=lambda case: not case.noisy)
@quickly
def test_training_without_noise_is_eval(case: Case) -> None:
    layer = case.layer()
    x, lengths = random_batch(layer)
    evaluated = forward_backward(layer, x, lengths, case.initial_state(layer, ROWS))
    trained = forward_backward(layer.train(), x, lengths, case.initial_state(layer, ROWS))
    assert_close(trained.y, evaluated.y)
    assert_close(trained.x_grad, evaluated.x_grad)


@every(where=lambda case: case.noisy)
def test_noise_is_drawn_in_training_alone(case: Case) -> None:
    layer = case.layer()
    x, _ = random_batch(layer)
    evaluated = forward_backward(layer, x, None, case.initial_state(layer, ROWS)).y
    layer.train()
    first, again, other = (
        forward_backward(layer, x, None, case.initial_state(layer, ROWS), seed).y for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.allclose(first, other)
    assert not torch.allclose(first, evaluated)


@every()
@quickly
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_lower_precision(case: Case, dtype: torch.dtype) -> None:
    """Not far from float64; of a layer where one rounding may change much, in one draw of three."""
    near = 1e-5 if dtype == torch.float32 else 0.05
    draws = 3 if any(isinstance(part, SHARP) for part in case.make().modules()) else 1
    assert min(furthest_off(case, dtype) for _ in range(draws)) <= near


# ReLU turns a gradient on or off; a norm divides by what may be nearly nothing, here the spread of four numbers.
SHARP = (nn.ReLU, ReluRNN, LSTMLayerNorm)


def furthest_off(case: Case, dtype: torch.dtype) -> float:
    """How far this precision is from float64: root mean square, as a part of the largest value, of the worst tensor."""
    layer = case.layer(dtype)
    x, lengths = random_batch(layer, dtype=dtype)
    low = forward_backward(layer, x, lengths, case.initial_state(layer, ROWS))
    judge = copy.deepcopy(layer).double()
    high = forward_backward(judge, x.double() if x.is_floating_point() else x, lengths, case.initial_state(judge, ROWS))
    assert all(tensor.dtype == dtype for tensor in low.state.values() if tensor.is_floating_point())

    worst = 0.0
    came, expected = ({"y": it.y, "x": it.x_grad, **it.weight_grads} for it in (low, high))
    for name, value in came.items():
        if value.is_floating_point():  # unlike tokens
            assert value.dtype == dtype, name
            assert value.isfinite().all(), name
            off = (value.double() - expected[name]).square().mean().sqrt()
            worst = max(worst, (off / expected[name].abs().max().clamp(min=1)).item())
    return worst


@every()
@quickly
def test_saves_and_loads(case: Case) -> None:
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


def test_every_case_has_a_name_of_its_own() -> None:
    assert not [name for name, count in Counter(case.name for case in cases).items() if count > 1]
