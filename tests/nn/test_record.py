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
from seqloom.nn.record import offer, record, recording, scope
from seqloom.nn.recurrent import Backwards, Bidirectional, Recurrent
from seqloom.nn.stack import Stack

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
    assert len(chunked.records["gates"]) == 4
    for kind in ("gates", "states"):
        for name, values in whole[kind][""].items():
            assert_close(chunked[kind][""][name], values)


def test_every_layer_has_its_path() -> None:
    both = Bidirectional(Recurrent(GRU(3, 4)), Recurrent(GRU(3, 4)))
    deep = Stack({"lower": both, "upper": Recurrent(RNN(8, 2))})
    with record("gates", "states") as seen:
        deep(torch.randn(2, 5, 3))
    assert list(seen["gates"]) == ["lower.forwards", "lower.backwards"]  # an RNN has none
    assert list(seen["states"]) == ["lower.forwards", "lower.backwards", "upper"]
    assert seen["states"]["upper"]["hidden"].shape == (2, 5, 2)


def test_user_defined_layers_can_be_recorded() -> None:
    with record("attention") as seen, scope("outer"), scope("inner"):
        offer("attention", weights=torch.ones(2, 3))
        offer("attention", weights=torch.zeros(2, 3))
    assert seen["attention"]["outer.inner"]["weights"].shape == (2, 2, 3)  # two steps, without a time axis of their own


def test_records_of_unequal_size_are_padded() -> None:
    """The weights of each step are over the keys so far, one more than at the step before."""
    with record("attention") as seen:
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
    assert outer["gates"][""]["update"].shape == (3, 15, 4)
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
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_calls_of_other_rows_are_not_joined() -> None:
    layer = Recurrent(GRU(3, 4))
    with record("gates") as seen:
        layer(torch.randn(2, 5, 3))
        layer(torch.randn(4, 5, 3))
    with pytest.raises(ArgumentError, match=r"calls of \[2, 4\] rows; expected calls that continue each other"):
        seen["gates"]
    assert [item.tensors["update"].shape[0] for item in seen.records["gates"]] == [2, 4]
