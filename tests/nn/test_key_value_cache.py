"""The key-value cache: doubled capacity, rows at their own positions, and writes in place."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from seqloom.core.problem import ArgumentError
from seqloom.nn.heads.per_token import PerToken
from seqloom.nn.model import Model
from seqloom.nn.multihead import PlainSelfAttention, SelfAttention, append_to_cache
from seqloom.nn.positions import Rotary
from seqloom.nn.state import State
from seqloom.nn.stems import TokenEmbedding


def causal(**settings):
    return SelfAttention(8, heads=4, causal=True, **settings).double().eval()


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64)


@torch.no_grad()
def test_capacity_doubles_when_full():
    layer, state = causal(), None
    capacities = []
    for _ in range(18):
        _, state = layer(random(2, 1, 8), state=state)
        capacities.append(state["keys"].shape[2])
    assert capacities == [1, 2, 4, 4, *[8] * 4, *[16] * 8, 32, 32]


@torch.no_grad()
def test_a_long_chunk_gets_the_capacity_that_it_needs():
    layer = causal()
    _, state = layer(random(2, 2, 8))
    _, state = layer(random(2, 9, 8), state=state)
    assert state["keys"].shape == (2, 4, 11, 2)


@torch.no_grad()
def test_a_step_without_gradients_writes_in_place():
    layer = causal()
    _, state = layer(random(2, 3, 8))
    _, state = layer(random(2, 1, 8), state=state)  # the storage grows, with room for more
    before = {name: (tensor.data_ptr(), tensor.clone()) for name, tensor in state.items()}
    _, after = layer(random(2, 1, 8), state=state)
    for name, (address, values) in before.items():
        assert after[name].data_ptr() == address
        assert torch.equal(after[name][:, :, :4], values[:, :, :4])
        assert not torch.equal(after[name][:, :, 4], values[:, :, 4])


def test_a_step_with_gradients_does_not_change_its_input_state():
    layer = causal()
    _, state = layer(random(2, 3, 8))
    _, state = layer(random(2, 1, 8), state=state)
    before = {name: tensor.clone() for name, tensor in state.items()}
    _, after = layer(random(2, 1, 8), state=state)
    for name, values in before.items():
        assert torch.equal(state[name], values)
        assert after[name].data_ptr() != state[name].data_ptr()


def test_in_place_and_out_of_place_writes_give_the_same():
    layer, x = causal(window=4, rotary=Rotary(2)), random(2, 9, 8)
    outputs = []
    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            parts, state = [], None
            for step in x.split(1, dim=1):
                y, state = layer(step, state=state)
                parts.append(y.detach())
        outputs.append(torch.cat(parts, dim=1))
    assert_close(*outputs)


def test_each_row_writes_at_its_own_position():
    stored, new = torch.zeros(3, 1, 4, 1), torch.tensor([[1.0, 2], [3, 4], [5, 6]]).reshape(3, 1, 2, 1)
    state = State(position=torch.tensor([2, 0, 1]), max_position=2)
    assert append_to_cache(stored, new, state).reshape(3, 4).tolist() == [[0, 0, 1, 2], [3, 4, 0, 0], [0, 5, 6, 0]]


@torch.no_grad()
@given(
    chunks=st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=6), grouped=st.booleans()
)
def test_ragged_rows_are_written_in_place(chunks, grouped):
    """As in the conformance suite, but without gradients, where steps share storage."""
    layer = causal(kv_heads=2 if grouped else None, rotary=Rotary(2))
    ends = torch.tensor(chunks).cumsum(0)
    x = random(3, int(ends[-1].max()) or 1, 8)
    whole, _ = layer(x, ends[-1])
    state, start = None, torch.zeros(3, dtype=torch.int64)
    for stop in ends:
        lengths = stop - start
        chunk = random(3, int(lengths.max()) + 1, 8)
        for row in range(3):
            chunk[row, : lengths[row]] = x[row, start[row] : stop[row]]
        y, state = layer(chunk, lengths, state)
        for row in range(3):
            assert_close(y[row, : lengths[row]], whole[row, start[row] : stop[row]])
        start = stop


@torch.no_grad()
def test_rows_leave_and_join_between_steps():
    layer, x = causal(rotary=Rotary(2)), random(4, 12, 8)
    whole, _ = layer(x)
    _, state = layer(x[:3, :5], torch.tensor([5, 2, 4]))  # rows 0 to 2 at positions 5, 2 and 4
    state = state.remove(torch.tensor([0]))  # 2, 4
    _, late = layer(x[3:, :7])
    state = State.cat([state, late]).select(torch.tensor([2, 0, 1, 2]))  # row 3 at 7, 1 at 2, 2 at 4, 3 at 7
    rows, position = torch.tensor([3, 1, 2, 3]), state.position
    assert position.tolist() == [7, 2, 4, 7]
    for _ in range(5):
        y, state = layer(x[rows, position].unsqueeze(1), state=state)
        assert_close(y.squeeze(1), whole[rows, position])
        position = state.position


@torch.no_grad()
def test_selected_rows_are_copies():
    """A row selected twice continues as two independent beams."""
    layer = causal()
    _, state = layer(random(1, 3, 8), torch.tensor([1]))  # with room left
    beams = state.select(torch.tensor([0, 0]))
    kept = state["keys"].clone()
    layer(random(2, 1, 8), state=beams)
    assert torch.equal(state["keys"], kept)


@torch.no_grad()
def test_the_cache_never_writes_into_tensors_of_the_caller():
    layer = PlainSelfAttention(4, causal=True)
    x, lengths = torch.randn(2, 5, 4), torch.tensor([1, 2])
    for given_lengths in (lengths, None):
        before = x.clone()
        _, state = layer(x, given_lengths)
        for _ in range(3):
            _, state = layer(torch.randn(2, 1, 4), state=state)
        assert torch.equal(x, before)


def test_a_step_without_gradients_does_not_break_the_backward_pass() -> None:
    layer = SelfAttention(4, heads=1, causal=True)
    _, state = layer(torch.randn(1, 1, 4))
    y, state = layer(torch.randn(1, 1, 4), state=state)
    y, state = layer(torch.randn(1, 1, 4), state=state)
    with torch.no_grad():
        layer(torch.randn(1, 1, 4), state=state)
    y.sum().backward()
    assert layer.key.weight.grad is not None


def test_reserved_storage_is_used_from_the_first_step() -> None:
    layer = PlainSelfAttention(4, causal=True)
    reserved = {name: torch.zeros(2, 1, 16, 4) for name in ("keys", "values")}
    x = torch.randn(2, 3, 4)
    with torch.no_grad():
        y, state = layer(x, state=State(reserved, position=torch.zeros(2, dtype=torch.int64)))
    assert state["keys"].data_ptr() == reserved["keys"].data_ptr()
    assert_close(y, layer(x)[0])


def test_a_state_overwritten_by_a_step_is_refused() -> None:
    """A second step from one state would find the keys of the first in its cache."""
    layer, x = SelfAttention(4, heads=1, causal=True), torch.randn(2, 1, 4)
    with torch.no_grad():
        _, state = layer(torch.randn(2, 3, 4))
        _, state = layer(x, state=state)  # the storage grows, with room for more
        copied = state.select(torch.arange(2))
        expected, after = layer(x, state=state)
        with pytest.raises(ArgumentError, match=r"state was used up by an earlier step, which wrote into it; expected"):
            layer(x, state=state)
        y, _ = layer(x, state=copied)
        layer(x, state=after)
    assert torch.equal(y, expected)


@pytest.mark.parametrize("same", [State.detach, State.to])
def test_a_state_that_shares_storage_is_overwritten_too(same: Callable[[State], State]) -> None:
    layer, x = SelfAttention(4, heads=1, causal=True), torch.randn(2, 1, 4)
    with torch.no_grad():
        _, state = layer(torch.randn(2, 3, 4))
        _, state = layer(x, state=state)
        shared, converted = same(state), state.to(dtype=torch.float64)
        layer(x, state=state)
        assert shared.consumed
        assert not converted.consumed
        with pytest.raises(ArgumentError, match="used up"):
            layer(x, state=shared)


def test_a_model_refuses_an_overwritten_state() -> None:
    model = Model(TokenEmbedding(5, 4), SelfAttention(4, heads=1, causal=True), PerToken(4, 5))
    tokens = torch.tensor([[1, 2, 3]])
    with torch.no_grad():
        _, state = model.step(tokens, model.start(tokens))
        _, state = model.step(tokens, state)
        model.step(tokens[:, :1], state)
        with pytest.raises(ArgumentError, match="used up"):
            model.step(tokens[:, :1], state)


@torch.no_grad()
def test_aligned_and_unaligned_rows_are_stored_the_same() -> None:
    layer, x = causal(), random(3, 6, 8)
    aligned, ragged = None, None
    for step in range(6):
        actual, aligned = layer(x[:, step : step + 1], state=aligned)
        unaligned = (
            None if ragged is None else ragged.with_position(ragged.position, ragged.max_position + 1)
        )  # so none is at it
        expected, ragged = layer(x[:, step : step + 1], state=unaligned)
        assert_close(actual, expected)
