import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest
import torch

import seqloom
from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.nn.cells import CELLS, GRU, LSTM, RNN, LSTMCoupled
from seqloom.nn.heads.per_token import PerToken
from seqloom.nn.model import Model
from seqloom.nn.record import name_tokens, offer, record, recording, scope, step
from seqloom.nn.recording import Row
from seqloom.nn.recurrent import Backwards, Bidirectional, Recurrent
from seqloom.nn.stack import Stack
from seqloom.nn.state import State
from seqloom.nn.stems import TokenEmbedding
from seqloom.nn.word_embedding import CharacterLSTM, WordEmbedding

LENGTHS = torch.tensor([5, 2, 0])


def random_layer(cell: type, **settings) -> tuple[Recurrent, torch.Tensor]:
    layer = Recurrent(cell(3, 4), **settings).double()
    with torch.no_grad():
        for weight in layer.parameters():
            weight += 0.3 * torch.randn_like(weight)
    return layer, torch.randn(3, 5, 3).double()


def assert_close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)


# Recorded values -------------------------------------------------------------------------------------------------


def test_the_gates_of_a_gru_are_those_of_its_equation() -> None:
    layer, x = random_layer(GRU)
    with record("gates") as seen:
        y, _ = layer(x)
    gates = seen["gates"][""]
    assert set(gates) == {"reset", "update", "candidate"}
    (W_xr, W_xz, W_xh), (W_hr, W_hz, W_hh), (b_r, b_z, b_h) = (
        weight.chunk(3) for weight in (layer.cell.input_weight, layer.cell.recurrent_weight, layer.cell.bias)
    )
    h = torch.cat([torch.zeros(3, 1, 4), y[:, :-1]], dim=1)
    assert_close(gates["reset"], torch.sigmoid(x @ W_xr.T + h @ W_hr.T + b_r))
    assert_close(gates["update"], torch.sigmoid(x @ W_xz.T + h @ W_hz.T + b_z))
    assert_close(gates["candidate"], torch.tanh(x @ W_xh.T + (gates["reset"] * h) @ W_hh.T + b_h))
    assert_close(y, gates["update"] * h + (1 - gates["update"]) * gates["candidate"])


def test_the_gates_and_states_of_an_lstm_are_those_of_its_equation() -> None:
    layer, x = random_layer(LSTM)
    with record("gates", "states") as seen:
        y, state = layer(x)
    gates, states = seen["gates"][""], seen["states"][""]
    before = {name: torch.cat([torch.zeros(3, 1, 4), states[name][:, :-1]], dim=1) for name in ("hidden", "cell")}
    cell = layer.cell
    total = x @ cell.input_weight.T + before["hidden"] @ cell.recurrent_weight.T + cell.bias
    i, f, g, o = total.chunk(4, dim=2)
    for name, expected in {
        "input": i.sigmoid(),
        "forget": f.sigmoid(),
        "candidate": g.tanh(),
        "output": o.sigmoid(),
    }.items():
        assert_close(gates[name], expected)
    assert_close(states["cell"], gates["forget"] * before["cell"] + gates["input"] * gates["candidate"])
    assert_close(states["hidden"], gates["output"] * states["cell"].tanh())
    assert_close(states["hidden"], y)
    assert_close(states["cell"][:, -1], state["cell"])


def test_coupled_gates_add_to_one() -> None:
    layer, x = random_layer(LSTMCoupled)
    with record("gates") as seen:
        layer(x)
    assert_close(seen["gates"][""]["input"] + seen["gates"][""]["forget"], torch.ones(3, 5, 4).double())


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_recording_does_not_change_the_output(cell: type) -> None:
    layer, x = random_layer(cell)
    plain, end = layer(x, LENGTHS)
    with record("gates", "states") as seen:
        watched, watched_end = layer(x, LENGTHS)
    assert_close(watched, plain)
    for name in end:
        assert_close(watched_end[name], end[name])
    assert set(seen["states"][""]) == set(cell.carries)
    if len(cell.parts) > 1:
        names = {"input", "forget", "candidate", "output"} if issubclass(cell, LSTM) else set(cell.parts)
        assert set(seen["gates"][""]) == names


def test_records_are_zero_on_padding() -> None:
    layer, x = random_layer(LSTM)
    with record("gates", "states") as seen:
        layer(x, LENGTHS)
    for values in (*seen["gates"][""].values(), *seen["states"][""].values()):
        assert values[1, 2:].eq(0).all()
        assert values[2].eq(0).all()
        assert values[1, :2].ne(0).all()


def test_recorded_states_have_zoneout_applied() -> None:
    layer, x = random_layer(GRU, zoneout=0.5)
    with record("states") as seen:
        y, _ = layer(x)
    assert_close(seen["states"][""]["hidden"], y)


def test_gradients_flow_through_a_recording() -> None:
    layer, x = random_layer(GRU)
    with record("gates") as seen:
        layer(x)
    seen["gates"][""]["update"].sum().backward()
    assert layer.cell.input_weight.grad.abs().sum() > 0


# Time and path --------------------------------------------------------------------------------------------------


def test_the_backward_direction_is_recorded_in_the_order_of_the_sequence() -> None:
    layer, x = random_layer(GRU)
    with record("gates") as seen:
        Backwards(layer)(x, LENGTHS)
    (gates,) = seen["gates"].values()
    for row, length in enumerate(LENGTHS.tolist()):
        if length == 0:
            continue
        with record("gates") as alone:
            layer(x[row : row + 1, :length].flip(1))
        for name, values in alone["gates"][""].items():
            assert_close(gates[name][row, :length], values[0].flip(0))


def test_calls_are_joined_over_time() -> None:
    layer, x = random_layer(LSTM)
    with record("gates", "states") as whole:
        layer(x)
    with record("gates", "states") as chunked:
        _, state = layer(x[:, :2])
        for step in x[:, 2:].split(1, dim=1):
            _, state = layer(step, state=state)
    (call,) = chunked.calls
    for kind in ("gates", "states"):
        for name, values in whole[kind][""].items():
            assert_close(chunked[kind][""][name], values)
            assert_close(call[kind][""][name], values)


def test_every_layer_has_its_path() -> None:
    both = Bidirectional(Recurrent(GRU(3, 4)), Recurrent(GRU(3, 4)))
    deep = Stack({"lower": both, "upper": Recurrent(RNN(8, 2))})
    with record("gates", "states") as seen:
        deep(torch.randn(2, 5, 3))
    assert list(seen["gates"]) == ["lower.forwards", "lower.backwards"]  # an RNN has none
    assert list(seen["states"]) == ["lower.forwards", "lower.backwards", "upper"]
    assert seen["states"]["upper"]["hidden"].shape == (2, 5, 2)


def test_user_defined_layers_can_be_recorded() -> None:
    with record("attention") as seen, step(torch.ones(2, 2), None), scope("outer"), scope("inner"):
        offer("attention", weights=torch.ones(2, 3))
        offer("attention", weights=torch.zeros(2, 3))
    assert seen["attention"]["outer.inner"]["weights"].shape == (2, 2, 3)  # two steps, without a time axis of their own


def test_records_of_unequal_size_are_padded() -> None:
    """The weights of each step are over the keys so far, one more than at the step before."""
    with record("attention") as seen, step(torch.ones(2, 3), None):
        for keys in (1, 2, 3):
            offer("attention", time=1, weights=torch.ones(2, 1, keys))
    assert seen["attention"][""]["weights"][0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


# Recorders -------------------------------------------------------------------------------------------------------


def test_nothing_is_computed_without_a_recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x = random_layer(LSTM)

    def step(self, projected, state):
        raise AssertionError("the loop ran")

    monkeypatch.setattr(LSTM, "step", step)
    layer(x)  # with the vendor kernel
    with record("attention"):
        layer(x)  # with a recorder of another kind
    with pytest.raises(AssertionError, match="the loop ran"), record("gates"):
        layer(x)
    assert not recording("gates")


def test_nothing_is_recorded_after_the_recorder_closes() -> None:
    layer, x = random_layer(GRU)
    with record("gates") as seen:
        layer(x)
    layer(x)
    assert seen["gates"][""]["update"].shape == (3, 5, 4)


def test_an_error_closes_the_recorder() -> None:
    with pytest.raises(ZeroDivisionError), record("gates"), scope("somewhere"):
        raise ZeroDivisionError
    assert not recording("gates")


def test_nested_recorders_have_their_own_kinds() -> None:
    layer, x = random_layer(GRU)
    with record("gates") as outer:
        layer(x)
        with record("gates", "states") as inner:
            layer(x)
        layer(x)
    assert [call["gates"][""]["update"].shape for call in outer.calls] == [(3, 5, 4)] * 3
    assert inner["gates"][""]["update"].shape == (3, 5, 4)
    assert inner["states"][""]["hidden"].shape == (3, 5, 4)
    with pytest.raises(UnknownName, match="states"):
        outer["states"]


def test_a_thread_does_not_see_the_recorder_of_another() -> None:
    open_in_thread = []
    with record("gates"):
        thread = threading.Thread(target=lambda: open_in_thread.append(recording("gates")))
        thread.start()
        thread.join()
        open_in_thread.append(recording("gates"))
    assert open_in_thread == [False, True]


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(UnknownName, match=r"unknown record 'gate'\. Did you mean 'gates'\?"), record("gate"):
        pytest.fail("the block should not run")
    with record("gates") as seen:
        pass
    assert seen["gates"] == {}
    with pytest.raises(UnknownName, match=r"'attention' was not recorded: this recorder was opened for gates\."):
        seen["attention"]


def test_record_is_exported_at_the_top() -> None:
    assert seqloom.record is record


def test_compiled_models_run_eagerly_while_any_recorder_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    stances = []

    @contextmanager
    def set_stance(stance: str) -> Iterator[None]:
        stances.append(stance)
        yield
        stances.append("default")

    monkeypatch.setitem(sys.modules, "torch._dynamo", sys.modules.get("torch._dynamo", ModuleType("torch._dynamo")))
    monkeypatch.setattr(torch.compiler, "set_stance", set_stance)
    with record("gates"):
        with record("states"):
            assert stances == ["force_eager"]
        assert stances == ["force_eager"]
    assert stances == ["force_eager", "default"]


@pytest.mark.slow
def test_a_compiled_model_is_recorded() -> None:
    """Runs in its own process, because the shape checks of the tests break compiled graphs."""
    program = """
import torch, seqloom
from seqloom.nn import SelfAttention
layer, x = SelfAttention(8, heads=2), torch.randn(2, 5, 8)
compiled = torch.compile(layer, backend="eager")
expected, _ = compiled(x)
for _ in range(2):
    with seqloom.record("attention") as seen:
        y, _ = compiled(x)
    assert seen["attention"][""]["weights"].shape == (2, 2, 5, 5)
    assert torch.allclose(y, expected)
whole = torch.compile(SelfAttention(8, heads=2, causal=True), backend="eager", fullgraph=True)
y, state = whole(x)
whole(x, state=state)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# Calls and rows ---------------------------------------------------------------------------------------------------


def record_alone(layer: Recurrent, x: torch.Tensor, kind: str = "gates") -> dict[str, torch.Tensor]:
    """The tensors of one row, [time, ...]."""
    with record(kind) as seen:
        layer(x)
    return {name: values[0] for name, values in seen[kind][""].items()}


def assert_row(row: Row, expected: dict[str, torch.Tensor], kind: str = "gates") -> None:
    assert row[kind][""].keys() == expected.keys()
    for name, values in expected.items():
        assert_close(row[kind][""][name], values)


@pytest.mark.parametrize("rows", [3, 2])
def test_unrelated_calls_are_not_joined(rows: int) -> None:
    layer, x = random_layer(LSTM)
    with record("gates") as seen:
        layer(x, LENGTHS)
        layer(x[:rows].flip(0))
    with pytest.raises(ArgumentError, match=r"has 2 calls that do not continue each other; expected one; its `calls`"):
        seen["gates"]
    first, second = seen.calls
    assert (len(first.rows), len(second.rows)) == (3, rows)
    assert first.tokens is None
    for row, values, length in zip(first.rows, x, LENGTHS.tolist(), strict=True):
        assert row["gates"][""]["forget"].shape == (length, 4)
        if length:
            assert_row(row, record_alone(layer, values[None, :length]))
    for row, values in zip(second.rows, x[:rows].flip(0), strict=True):
        assert_row(row, record_alone(layer, values[None]))


def test_layers_that_are_called_once_are_joined_into_one_mapping() -> None:
    """A pool that reads the output of a model is no part of its call, but its path is another."""
    layer, x = random_layer(GRU)
    with record("gates", "attention") as seen, scope("body"):
        layer(x)
        with scope("pool"):
            offer("gates", time=1, weights=torch.ones(3, 1))
    assert len(seen.calls) == 2
    assert list(seen["gates"]) == ["body", "body.pool"]
    assert seen["attention"] == {}


def test_a_recording_is_a_mapping_over_the_kinds_that_it_was_opened_for() -> None:
    layer, x = random_layer(GRU)
    with record("gates", "attention") as seen:
        layer(x)
        layer(x)
    for mapping in (seen, seen.calls[0], seen.calls[0].rows[0]):
        assert "gates" in mapping
        assert "attention" in mapping
        assert "states" not in mapping
        assert list(mapping) == ["gates", "attention"]
        assert len(mapping) == 2
        assert mapping == mapping
        with pytest.raises(UnknownName, match="'states' was not recorded"):
            mapping["states"]
    assert dict(seen.calls[0])["attention"] == {}
    assert [repr(seen), repr(seen.calls[0]), repr(seen.calls[0].rows[0])] == [
        *("Recording(gates, attention: 2 calls)", "Call(gates, attention: 3 rows)", "Row(gates, attention)"),
    ]


def test_two_sequences_that_take_turns_are_two_calls() -> None:
    layer, x = random_layer(GRU)
    other, states = x.flip(1), [None, None]
    with record("gates") as seen:
        for t in range(5):
            for i, sequence in enumerate((x, other)):
                _, states[i] = layer(sequence[:, t : t + 1], state=states[i])
    for call, sequence in zip(seen.calls, (x, other), strict=True):
        for row, values in zip(call.rows, sequence, strict=True):
            assert_row(row, record_alone(layer, values[None]))


def test_two_continuations_of_one_state_are_two_calls_with_the_same_beginning() -> None:
    layer, x = random_layer(GRU)
    other = torch.cat([x[:, :2], x[:, 2:].flip(1)], dim=1)
    with record("gates") as seen:
        _, state = layer(x[:, :2])
        layer(x[:, 2:], state=state)
        layer(other[:, 2:], state=state)
    for call, sequence in zip(seen.calls, (x, other), strict=True):
        for row, values in zip(call.rows, sequence, strict=True):
            assert_row(row, record_alone(layer, values[None]))


@pytest.mark.parametrize("how", ["select", "reorder"])
def test_a_row_keeps_its_own_past_where_rows_are_reordered(how: str) -> None:
    layer, x = random_layer(LSTM)
    chosen = [2, 0, 0]
    with record("gates") as seen, torch.no_grad():
        _, state = layer(x[:, :2])
        state = state.select(torch.tensor(chosen)) if how == "select" else state.reorder(chosen)
        layer(x[:, 2:], state=state)
    (call,) = seen.calls
    sequences = [torch.cat([x[old, :2], x[new, 2:]]) for new, old in enumerate(chosen)]
    for row, expected in zip(call.rows, [sequences[1], sequences[2], x[1, :2], sequences[0]], strict=True):
        with torch.no_grad():
            assert_row(row, record_alone(layer, expected[None]))


def test_rows_that_are_removed_and_added_keep_their_order_and_end() -> None:
    layer, x = random_layer(GRU)
    with record("gates") as seen:
        _, state = layer(x[:, :2])
        _, state = layer(x[[0, 2], 2:3], state=state.remove(torch.tensor([1])))
        _, new = layer(x[1:2, :1].flip(2))
        layer(x[[0, 2, 1], 3:4], state=State.cat([state, new]))
    (call,) = seen.calls
    expected = [x[0, :4], x[1, :2], torch.cat([x[2, :4]]), torch.cat([x[1, :1].flip(1), x[1, 3:4]])]
    for row, values in zip(call.rows, expected, strict=True):
        assert_row(row, record_alone(layer, values[None]))


def test_padding_between_the_steps_of_a_row_is_left_out() -> None:
    """Prompts of unequal length are read in one call, and the next tokens follow each row's own end."""
    layer, x = random_layer(LSTM)
    lengths = torch.tensor([2, 3, 1])
    with record("gates") as seen:
        _, state = layer(x[:, :3], lengths)
        layer(x[:, 3:], state=state)
    (call,) = seen.calls
    assert call["gates"][""]["forget"].shape == (3, 5, 4)
    for row, values, length in zip(call.rows, x, lengths.tolist(), strict=True):
        assert_row(row, record_alone(layer, torch.cat([values[:length], values[3:]])[None]))
        assert call["gates"][""]["forget"][call.rows.index(row), length + 2 :].eq(0).all()


def test_a_recorder_that_opens_later_begins_there() -> None:
    layer, x = random_layer(GRU)
    with record("gates") as outer:
        _, state = layer(x[:, :2])
        with record("gates") as inner:
            layer(x[:, 2:], state=state)
    assert (outer["gates"][""]["update"].shape, inner["gates"][""]["update"].shape) == ((3, 5, 4), (3, 3, 4))
    _, state = layer(x)
    assert state.recorded is None


def test_a_model_names_the_tokens_that_each_row_read() -> None:
    model = Model(TokenEmbedding(9, 4), Stack([Recurrent(GRU(4, 4))]), PerToken(4, 9))
    tokens = torch.tensor([[1, 2, 3], [4, 5, 0]])
    with record("gates") as seen:
        _, state = model(tokens, torch.tensor([3, 2]))
        model.step(torch.tensor([[6], [7]]), state)
        with name_tokens(lambda rows: [[f"t{token}" for token in row] for row in rows]):
            model(tokens[:1])
    assert [call.tokens for call in seen.calls] == [[[1, 2, 3, 6], [4, 5, 7]], [["t1", "t2", "t3"]]]
    assert [row.tokens for row in seen.calls[0].rows] == seen.calls[0].tokens
    assert seen.calls[0].rows[1]["gates"]["body.0"]["update"].shape == (3, 4)


def test_the_characters_of_words_are_a_call_of_their_own() -> None:
    """Their rows are words, of which there may be as many as sentences."""
    stem = WordEmbedding(vocabulary=10, size=4, spelling=CharacterLSTM(characters=9, width=3, size=4))
    model = Model(stem, Bidirectional(Recurrent(GRU(8, 4)), Recurrent(GRU(8, 4))), PerToken(8, 9))
    with record("gates") as seen:
        model(torch.tensor([[[7, 3, 1, 2], [1, 5, 0, 0]], [[1, 5, 0, 0], [7, 3, 1, 2]]]))
    sentences, words = seen.calls
    assert list(sentences["gates"]) == ["body.forwards", "body.backwards"]
    assert list(words["gates"]) == ["body.spelling.forwards", "body.spelling.backwards"]
    assert (sentences.tokens, words.tokens) == ([[7, 1], [1, 7]], None)
    assert sorted(len(row["gates"]["body.spelling.forwards"]["forget"]) for row in words.rows) == [1, 3]
