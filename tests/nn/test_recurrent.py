"""Recurrent layers: training, initial states and invalid input. The conformance suite tests the rest."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from seqloom import kernels
from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.nn.cells import GRU, LSTM, RNN, Cell, LinearRNN
from seqloom.nn.recurrent import Backwards, Bidirectional, Recurrent
from seqloom.nn.stack import DenseStack, Stack
from seqloom.nn.state import State


def remembering(size: int, **settings) -> Recurrent:
    """h' = x + h with one input per unit, so dropped values are visible."""
    cell = LinearRNN(size, size, bias=False)
    with torch.no_grad():
        cell.input_weight.copy_(torch.eye(size))
        cell.recurrent_weight.copy_(torch.eye(size))
    return Recurrent(cell, **settings)


# Weight drop -----------------------------------------------------------------------------------------------------


def test_weight_drop_drops_the_same_weights_at_every_step() -> None:
    layer, p = remembering(400, weight_drop=0.4).train(), 0.4
    x = torch.zeros(2, 4, 400)
    x[:, 0] = 1
    y, _ = layer(x)
    kept = y[0, 1] > 0
    assert kept.float().mean().item() == pytest.approx(1 - p, abs=0.08)
    for t in range(1, 4):
        assert torch.equal(y[0, t], y[1, t])
        torch.testing.assert_close(y[0, t], torch.where(kept, (1 - p) ** -t, 0.0))
    assert torch.equal(y[:, 0], x[:, 0])  # the input weights are not dropped


def test_weight_drop_samples_in_every_call_and_does_not_change_the_weights() -> None:
    layer, x = remembering(50, weight_drop=0.5).train(), torch.ones(1, 3, 50)
    before = layer.cell.recurrent_weight.clone()
    assert not torch.equal(layer(x)[0], layer(x)[0])
    assert torch.equal(layer.cell.recurrent_weight, before)
    assert torch.equal(layer.eval()(x)[0], remembering(50)(x)[0])


def test_weight_drop_passes_no_gradient_to_dropped_weights() -> None:
    layer = Recurrent(LSTM(3, 20), weight_drop=0.5).train()
    layer(torch.randn(2, 6, 3))[0].sum().backward()
    gradient = layer.cell.recurrent_weight.grad
    assert gradient.eq(0).float().mean().item() == pytest.approx(0.5, abs=0.05)


# Zoneout ---------------------------------------------------------------------------------------------------------


def test_zoneout_keeps_each_value_or_replaces_it() -> None:
    layer = remembering(500, zoneout=0.3).train()
    y, _ = layer(torch.ones(1, 3, 500))
    steps = torch.diff(y[0], dim=0, prepend=torch.zeros(1, 500))
    assert set(steps.unique().tolist()) == {0.0, 1.0}
    for step in steps:
        assert step.eq(0).float().mean().item() == pytest.approx(0.3, abs=0.08)
    assert not torch.equal(steps[0], steps[1])  # sampled at every step


def test_zoneout_in_eval_mode_is_the_mean() -> None:
    y, _ = remembering(4, zoneout=0.3).eval()(torch.ones(1, 3, 4))
    torch.testing.assert_close(y[0, :, 0], torch.tensor([0.7, 1.4, 2.1]))


def test_zoneout_samples_hidden_and_cell_separately() -> None:
    layer = Recurrent(LSTM(3, 300), zoneout=0.5).train()
    before = State(hidden=torch.randn(1, 300), cell=torch.randn(1, 300))
    _, after = layer(torch.randn(1, 1, 3), state=before)
    hidden, cell = (after[name].eq(before[name]) for name in ("hidden", "cell"))
    assert hidden.float().mean().item() == pytest.approx(0.5, abs=0.1)
    assert cell.float().mean().item() == pytest.approx(0.5, abs=0.1)
    assert (hidden & cell).float().mean().item() == pytest.approx(0.25, abs=0.1)


# Initial states --------------------------------------------------------------------------------------------------


def test_a_learned_initial_state_has_a_parameter_for_each_tensor() -> None:
    layer = Recurrent(LSTM(3, 4), initial="learned")
    assert {name for name, _ in layer.named_parameters()} >= {"first.hidden", "first.cell"}
    with torch.no_grad():
        layer.first["hidden"].fill_(0.5)
        layer.first["cell"].fill_(-2.0)
    begin = layer.initial(3, torch.zeros(1))
    assert begin["hidden"].tolist() == [[0.5] * 4] * 3
    assert begin["cell"].tolist() == [[-2.0] * 4] * 3
    layer(torch.randn(3, 5, 3), torch.tensor([5, 1, 0]))[0].sum().backward()
    assert layer.first["hidden"].grad.ne(0).all()
    assert layer.first["cell"].grad.ne(0).all()


def test_a_random_initial_state_is_noise_in_training_only() -> None:
    layer = Recurrent(LSTM(3, 8), initial="random")
    begin = layer.train().initial(2000, torch.zeros(1))
    assert not torch.equal(begin["hidden"], begin["cell"])
    for values in begin.values():
        assert not torch.equal(values[0], values[1])
        assert values.mean().item() == pytest.approx(0, abs=0.01)
        assert values.std().item() == pytest.approx(0.1, abs=0.01)
    assert all(values.eq(0).all() for values in layer.eval().initial(2, torch.zeros(1)).values())


def test_a_state_without_position_starts_at_zero() -> None:
    """Also in both directions: the backward direction starts at the end of each row."""
    ahead, back, x, lengths = Recurrent(GRU(3, 4)), Recurrent(GRU(3, 4)), torch.randn(2, 5, 3), torch.tensor([5, 2])
    first = State({"forwards.hidden": torch.randn(2, 4), "backwards.reversed.hidden": torch.randn(2, 4)})
    y, state = Bidirectional(ahead, back)(x, lengths, first)
    expected, _ = ahead(x, lengths, State(hidden=first["forwards.hidden"]))
    torch.testing.assert_close(y[..., :4], expected)
    short, _ = back(x[1:, :2].flip(1), state=State(hidden=first["backwards.reversed.hidden"][1:]))
    torch.testing.assert_close(y[1, :2, 4:], short[0].flip(0))
    assert state.position.tolist() == [5, 2]


def test_the_final_state_of_each_direction_is_its_last_step() -> None:
    layer = Bidirectional(Recurrent(GRU(3, 4)), Recurrent(GRU(3, 4)))
    y, state = layer(torch.randn(2, 5, 3), torch.tensor([5, 2]))
    assert torch.equal(state["forwards.hidden"], torch.stack([y[0, 4, :4], y[1, 1, :4]]))
    assert torch.equal(state["backwards.reversed.hidden"], y[:, 0, 4:])


def test_truncated_backpropagation_stops_at_a_detached_state() -> None:
    layer, x = Recurrent(LSTM(3, 4)), torch.randn(2, 6, 3).requires_grad_()
    _, state = layer(x[:, :3])
    y, _ = layer(x[:, 3:], state=state.detach())
    y.sum().backward()
    assert x.grad[:, :3].eq(0).all()
    assert x.grad[:, 3:].ne(0).any()


# Invalid input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1.0, -0.1, 2.0])
@pytest.mark.parametrize("argument", ["zoneout", "weight_drop"])
def test_an_invalid_probability_is_an_error(argument: str, p: float) -> None:
    with pytest.raises(
        ArgumentError, match=rf"Recurrent: {argument} is {p}; expected a probability, at least 0 and below"
    ):
        Recurrent(GRU(3, 4), **{argument: p})


def test_an_unknown_initial_state_is_an_error() -> None:
    with pytest.raises(UnknownName, match=r"unknown initial state 'zeros'\. Did you mean 'zero'\?"):
        Recurrent(GRU(3, 4), initial="zeros")


def test_layers_of_different_widths_do_not_stack() -> None:
    with pytest.raises(ArgumentError, match=r"Stack: Recurrent has input_size 5; expected 4, the width of its input"):
        Stack([Recurrent(GRU(3, 4)), Recurrent(GRU(5, 4))])
    with pytest.raises(ArgumentError, match=r"DenseStack: Recurrent has input_size 4; expected 7, the width"):
        DenseStack([Recurrent(GRU(3, 4)), Recurrent(GRU(4, 4))])
    with pytest.raises(ArgumentError, match=r"Stack: layers has nothing; expected at least one layer"):
        Stack([])


# Descriptions ----------------------------------------------------------------------------------------------------


def test_repr_has_the_settings() -> None:
    text = repr(Stack([Recurrent(RNN(3, 4), zoneout=0.1, initial="learned")]))
    assert "RNN(3, 4)" in text
    assert "zoneout=0.1, initial='learned'" in text


def test_one_direction_can_step_and_the_other_cannot() -> None:
    assert Recurrent(GRU(3, 4)).traits.causal
    assert not Backwards(Recurrent(GRU(3, 4))).traits.causal
    assert not Stack([Recurrent(GRU(3, 4)), Backwards(Recurrent(GRU(4, 4)))]).traits.causal


class Doubled(LSTM):
    """An LSTM with a doubled output, which the kernels for the LSTM do not compute."""

    def step(self, projected: Tensor, state: State) -> tuple[Tensor, State]:
        hidden, after = super().step(projected, state)
        return 2 * hidden, State(hidden=2 * hidden, cell=after["cell"])


def test_a_subclass_of_a_cell_runs_its_own_equation() -> None:
    x = torch.randn(2, 5, 3)
    plain, doubled = Recurrent(LSTM(3, 4)), Recurrent(Doubled(3, 4))
    doubled.load_state_dict(plain.state_dict())
    assert Doubled.equation is None
    torch.testing.assert_close(doubled(x[:, :1])[0], 2 * plain(x[:, :1])[0])
    with kernels.use("reference"):
        expected, _ = doubled(x)
    torch.testing.assert_close(doubled(x)[0], expected)


@pytest.mark.usefixtures("unchecked")
def test_a_cell_name_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="Recurrent: cell is 'lstm'; expected a cell of seqloom"):
        Recurrent("lstm")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"cell is a torch\.nn\.modules\.rnn\.LSTM; expected a cell of seqloom"):
        Recurrent(torch.nn.LSTM(3, 4))  # type: ignore[arg-type]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("sizes", "wrong"), [((-1, 4), "input"), ((3, 0), "hidden"), ((3.0, 4), "input")])
def test_an_invalid_size_is_an_error(sizes: tuple[int, int], wrong: str) -> None:
    with pytest.raises(ArgumentError, match=f"LSTM: {wrong}_size is"):
        LSTM(*sizes)


class Own(Cell):
    """A user-defined cell; subclasses return invalid results from step."""

    parts = ("hidden",)
    returns: Callable[[Tensor], object]

    def step(self, projected: Tensor, state: State) -> tuple[Tensor, State]:
        return self.returns(projected)  # type: ignore[return-value]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("returns", "actual"),
    [
        (lambda y: (y, State(h=y)), r"y \[2, 4\] and a State of \['h'\]"),
        (lambda y: (torch.cat([y, y], dim=1), State(hidden=y)), r"y \[2, 8\] and a State of \['hidden'\]"),
        (lambda y: y, "type Tensor"),
        (lambda y: (y, {"hidden": y}), "type tuple"),
    ],
    ids=["other names", "other width", "no state", "a dict"],
)
def test_an_invalid_result_of_a_step_is_an_error(returns: Callable[[Tensor], object], actual: str) -> None:
    cell = Own(3, 4)
    cell.returns = returns
    expected = r"\(y, state\) with y \[2, 4\] and a State of \['hidden'\], as in `carries`"
    with pytest.raises(ArgumentError, match=rf"Own\.step: what it returned has {actual}; expected {expected}"):
        Recurrent(cell)(torch.randn(2, 5, 3))


@pytest.mark.usefixtures("unchecked")
def test_a_step_that_reads_an_unknown_state_is_an_error() -> None:
    class Asks(Own):
        def step(self, projected: Tensor, state: State) -> tuple[Tensor, State]:
            return state["slow"], state

    with pytest.raises(ArgumentError, match=r"Asks\.step: state\['slow'\] is unknown; expected one of \['hidden'\]"):
        Recurrent(Asks(3, 4))(torch.randn(2, 5, 3))


def test_a_cell_without_parts_is_an_error() -> None:
    class Bare(Cell):
        def step(self, projected: Tensor, state: State) -> tuple[Tensor, State]:
            return projected, state

    with pytest.raises(ArgumentError, match="Bare: parts is missing; expected a tuple of names"):
        Bare(3, 4)
