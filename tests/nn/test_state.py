import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.problem import ArgumentError
from seqloom.nn.state import State, cat_padded, pad_to


def random_state(rows: int, capacity: int = 3) -> State:
    position = torch.randint(capacity + 1, (rows,))
    return State(
        hidden=torch.randn(rows, 4),
        keys=torch.randn(rows, capacity, 2),
        counts=torch.arange(rows),
        position=position,
        max_position=int(position.max()) if rows else 0,
    )


def assert_same(actual: State, expected: State) -> None:
    assert list(actual) == list(expected)
    assert all(torch.equal(actual[name], expected[name]) for name in expected)
    assert torch.equal(actual.position, expected.position)
    assert actual.max_position == expected.max_position


# Names -----------------------------------------------------------------------------------------------------------


def test_a_state_is_a_mapping_of_names_to_tensors() -> None:
    state = State({"a": torch.zeros(2, 1)}, b=torch.ones(2, 1))
    assert list(state) == ["a", "b"]
    assert len(state) == 2
    assert "a" in state
    assert dict(state)["b"].tolist() == [[1], [1]]
    with pytest.raises(KeyError):
        state["c"]


def test_a_state_without_tensors_is_true() -> None:
    assert State()
    assert State(position=torch.zeros(3, dtype=torch.int64)).rows == 3
    assert "no tensors" in repr(State())


def test_repr_has_names_and_shapes() -> None:
    assert repr(State(hidden=torch.zeros(2, 4), max_position=7)) == "State(hidden [2, 4]; max_position 7)"


def test_a_state_copies_its_dictionary() -> None:
    tensors = {"a": torch.zeros(1, 1)}
    state = State(tensors)
    tensors["b"] = torch.zeros(1, 1)
    assert list(state) == ["a"]


def test_join_and_substate_are_inverse() -> None:
    lower, upper = random_state(3), random_state(3)
    upper = upper.with_position(lower.position, lower.max_position)
    joined = State.join(
        {"1": lower, "10": upper, "bare": State(position=lower.position, max_position=lower.max_position)}
    )
    assert list(joined)[:2] == ["1.hidden", "1.keys"]
    assert_same(joined.substate("1"), lower)
    assert_same(joined.substate("10"), upper)
    assert len(joined.substate("bare")) == 0
    outer = State.join({"encoder": joined})
    assert_same(outer.substate("encoder").substate("10"), upper)


# Time ------------------------------------------------------------------------------------------------------------


def test_every_row_has_its_own_position() -> None:
    state = State(position=torch.tensor([2, 0]), max_position=2)
    position, max_position = state.advance(3, None)
    assert (position.tolist(), max_position) == ([5, 3], 5)
    position, max_position = state.advance(3, torch.tensor([0, 3]))
    assert (position.tolist(), max_position) == ([2, 3], 3)  # on the CPU the bound is the maximum itself


def test_without_a_position_there_is_a_max_position() -> None:
    assert State(max_position=2).advance(3, None) == (None, 5)


@pytest.mark.parametrize("max_position", [0, 5])
def test_step_positions(max_position: int) -> None:
    state = State(position=torch.tensor([max_position, 0]), max_position=max_position)
    expected = [[max_position, max_position + 1], [0, 1]]
    assert state.step_positions(torch.zeros(2, 2, 3)).expand(2, 2).tolist() == expected


# Rows ------------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 3), max_size=6))
def test_select_accepts_rows_in_any_order_and_number(rows: list[int]) -> None:
    state = random_state(4)
    selected = state.select(torch.tensor(rows, dtype=torch.int64))
    assert selected.rows == len(rows)
    for index, row in enumerate(rows):
        assert all(torch.equal(selected[name][index], state[name][row]) for name in state)
        assert selected.position[index] == state.position[row]
    assert selected.max_position == max((int(state.position[row]) for row in rows), default=0)


def test_select_copies() -> None:
    state = random_state(2)
    before = state["hidden"].clone()
    state.select(torch.tensor([0, 1]))["hidden"].zero_()
    assert torch.equal(state["hidden"], before)


def test_reorder_does_not_copy_fixed_tensors() -> None:
    state = State(random_state(3), position=torch.tensor([1, 2, 3]), max_position=3, fixed=["keys"])
    hidden = state["hidden"].clone()
    moved = state.reorder([2, 2, 0])
    assert moved["keys"] is state["keys"]
    assert torch.equal(moved["hidden"], hidden[[2, 2, 0]])
    assert torch.equal(state["hidden"], hidden)  # autograd may need it
    assert moved.position.tolist() == [3, 3, 1]
    assert list(moved) == list(state)


def test_without_gradients_reorder_is_in_place() -> None:
    state = random_state(3)
    hidden = state["hidden"].clone()
    with torch.no_grad():
        moved = state.reorder([0, 2, 2])
    assert moved["hidden"] is state["hidden"]
    assert torch.equal(moved["hidden"], hidden[[0, 2, 2]])
    assert state.consumed
    assert not moved.consumed
    assert moved.reorder([0, 1, 2]) is moved


def test_reorder_moves_a_tensor_with_two_names_once() -> None:
    hidden = torch.arange(3.0).reshape(3, 1)
    with torch.no_grad():
        moved = State(hidden=hidden, asked=hidden, position=torch.arange(3), max_position=2).reorder([2, 1, 0])
    assert moved["hidden"] is moved["asked"]
    assert moved["hidden"].flatten().tolist() == [2.0, 1.0, 0.0]


def test_reorder_moves_two_views_of_one_tensor_once() -> None:
    y = torch.arange(6.0).reshape(3, 2, 1)
    with torch.no_grad():
        moved = State(hidden=y[:, -1], asked=y[:, -1], other=y[:, 0]).reorder([2, 1, 0])
    assert moved["hidden"].flatten().tolist() == moved["asked"].flatten().tolist() == [5, 3, 1]
    assert moved["other"].flatten().tolist() == [4, 2, 0]


def test_reorder_without_tensors_moves_positions() -> None:
    moved = State(position=torch.tensor([3, 5]), max_position=5).reorder([1, 1])
    assert moved.position.tolist() == [5, 5]
    nothing = State()
    assert nothing.reorder([1, 0]) is nothing


def test_fixed_names_survive_every_method() -> None:
    state = State(random_state(3), position=torch.tensor([1, 2, 3]), max_position=3, fixed=["keys"])
    rows = torch.tensor([0, 2, 1])
    others = [
        state.select(rows),
        state.reorder(rows.tolist()),
        state.remove(torch.tensor([1])),
        state.with_position(None, 0),
        state.as_checked(),
        state.detach(),
        state.to(dtype=torch.float64),
        State.cat([state, state]),
        state.where(torch.tensor([True, False, True]), state),
        State.join({"a": random_state(3), "b": state}).substate("b"),
    ]
    assert {other.fixed for other in others} == {frozenset({"keys"})}
    assert State.join({"b": state}).fixed == {"b.keys"}
    assert State.join({"b": state}).substate("a").fixed == set()


@given(st.sets(st.integers(0, 3)))
def test_remove_keeps_the_others_in_order(removed: set[int]) -> None:
    state = random_state(4)
    rows = torch.tensor(sorted(removed, reverse=True), dtype=torch.int64)
    kept = torch.tensor([row for row in range(4) if row not in removed], dtype=torch.int64)
    assert_same(state.remove(rows), state.select(kept))


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 5)), min_size=1, max_size=3))
def test_cat_undoes_select(sizes: list[tuple[int, int]]) -> None:
    states = [random_state(rows, capacity) for rows, capacity in sizes]
    together = State.cat(states)
    assert together.rows == sum(rows for rows, _ in sizes)
    assert together.max_position == max(state.max_position for state in states)
    first = 0
    for state in states:
        back = together.select(torch.arange(first, first + state.rows))
        first += state.rows
        assert torch.equal(back["hidden"], state["hidden"])
        capacity = state["keys"].shape[1]
        assert torch.equal(back["keys"][:, :capacity], state["keys"])
        assert back["keys"][:, capacity:].eq(0).all()
        assert torch.equal(back.position, state.position)
        assert back["counts"].dtype == torch.int64


def test_cat_of_states_of_different_layers_is_an_error() -> None:
    with pytest.raises(ArgumentError, match=r"a state has tensors \['cell'\]; expected \['hidden'\], as the first"):
        State.cat([State(hidden=torch.zeros(1, 2)), State(cell=torch.zeros(1, 2))])


def test_where_selects_by_row() -> None:
    left, right = random_state(3), random_state(3)
    mixed = left.where(torch.tensor([True, False, True]), right)
    for name in left:
        assert torch.equal(mixed[name][[0, 2]], left[name][[0, 2]])
        assert torch.equal(mixed[name][1], right[name][1])


# All tensors -----------------------------------------------------------------------------------------------------


def test_detach_removes_the_graph_and_keeps_the_values() -> None:
    hidden = torch.randn(2, 3, requires_grad=True)
    state = State(hidden=2 * hidden, position=torch.tensor([1, 2]), max_position=2)
    cut = state.detach()
    assert not cut["hidden"].requires_grad
    assert_same(cut, state)


def test_to_another_precision_keeps_integers() -> None:
    state = random_state(2).to(dtype=torch.bfloat16)
    assert state["hidden"].dtype == torch.bfloat16
    assert state["counts"].dtype == torch.int64
    assert state.position.dtype == torch.int64


def test_to_another_device_moves_all_tensors() -> None:
    state = random_state(2).to("meta")
    assert {tensor.device.type for tensor in (*state.values(), state.position)} == {"meta"}
    assert (
        state.select(torch.tensor([0], device="meta")).max_position == state.max_position
    )  # the meta device has no values


def test_padding_is_at_the_end() -> None:
    assert pad_to(torch.ones(1, 2), [2, 3]).tolist() == [[1, 1, 0], [0, 0, 0]]
    assert cat_padded([torch.ones(1, 1), torch.ones(2, 2)], dim=0).tolist() == [[1, 0], [1, 1], [1, 1]]
    assert cat_padded([torch.ones(1, 1), torch.ones(2, 2)], dim=1).tolist() == [[1, 1, 1], [0, 1, 1]]


def test_only_time_is_padded_in_cat() -> None:
    with pytest.raises(ArgumentError, match=r"state\['hidden'\] has shapes \[\[1, 2\], \[1, 3\]\]"):
        State.cat([State(hidden=torch.zeros(1, 2)), State(hidden=torch.zeros(1, 3))])
    joined = State.cat([State(keys=torch.ones(1, 2, 3)), State(keys=torch.ones(1, 4, 3))])
    assert joined["keys"].sum(dim=(1, 2)).tolist() == [6, 12]
    with pytest.raises(ArgumentError, match="states has nothing"):
        State.cat([])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("rows", [[0, 1], torch.tensor([True, False]), torch.tensor([0.0])])
def test_rows_of_another_type_are_an_error(rows: object) -> None:
    with pytest.raises(ArgumentError, match="rows has type"):
        State(hidden=torch.zeros(2, 3)).select(rows)  # type: ignore[arg-type]


def test_max_position_shrinks_with_removed_rows() -> None:
    state = State(hidden=torch.zeros(2, 3), position=torch.tensor([9, 4]), max_position=30)
    assert state.remove(torch.tensor([0])).max_position == 4


def test_substates_come_from_dotted_names() -> None:
    inner = State(keys=torch.ones(2, 1), values=torch.zeros(2, 1), fixed=["keys"])
    joined = State.join({"0": State.join({"layer": inner}), "1": State(hidden=torch.ones(2, 3))})
    flat = joined.select(torch.tensor([1, 0]))
    assert list(flat) == list(joined) == ["0.layer.keys", "0.layer.values", "1.hidden"]
    for state in (joined, flat):
        layer = state.substate("0").substate("layer")
        assert dict(layer).keys() == {"keys", "values"}
        assert layer.fixed == {"keys"}
        assert list(state.substate("0.layer")) == list(layer)
        assert list(state.substate("1")) == ["hidden"]
        assert list(state.substate("2")) == []
    with pytest.raises(ArgumentError, match=r"State.join: a name is '0.layer'; expected without a dot"):
        State.join({"0.layer": inner})


def test_aligned_if_all_rows_are_at_max_position() -> None:
    assert State(position=torch.tensor([3, 3]), max_position=3).aligned
    assert State(position=torch.tensor([3, 3]), max_position=3).substate("0").aligned
    assert not State(position=torch.tensor([2, 3]), max_position=3).aligned
    assert not State(position=torch.tensor([3, 3]), max_position=4).aligned
    assert not State(hidden=torch.ones(2, 1)).aligned


def test_aligned_is_read_once_for_all_substates() -> None:
    state = State(position=torch.tensor([3, 3]), max_position=3)
    assert state.substate("0").aligned
    state.position.zero_()  # the state does not notice
    assert state.aligned
    assert state.substate("1").aligned
    assert not state.with_position(state.position, state.max_position).aligned
