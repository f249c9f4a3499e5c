"""Properties of cells besides their equations, which the conformance suite tests."""

import pytest
import torch

from seqloom.nn.cells import CELLS, GRU, LSTM, Cell, GRUAfter, LinearRNN, LSTMPeephole, flip_update
from seqloom.nn.cells.gru import as_replacement
from seqloom.nn.record import record
from seqloom.nn.recurrent import Recurrent
from seqloom.nn.state import State

every_cell = pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)


def randomized(cell: Cell) -> Cell:
    with torch.no_grad():
        for weight in cell.parameters():
            weight += 0.3 * torch.randn_like(weight)
    return cell.double()


@every_cell
def test_weights_have_a_block_of_rows_for_each_part(cell: type[Cell]) -> None:
    layer = cell(3, 4)
    assert layer.input_weight.shape == (len(cell.parts) * 4, 3)
    assert layer.recurrent_weight.shape == (len(cell.parts) * 4, 4)
    assert layer.bias.shape == (len(cell.parts) * 4,)


@every_cell
def test_biases_can_be_off(cell: type[Cell]) -> None:
    layer = cell(3, 4, bias=False)
    assert layer.bias is None
    assert not [name for name, _ in layer.named_parameters(recurse=False) if "bias" in name]
    assert "bias=False" in repr(layer)


@every_cell
def test_one_step_equals_that_of_the_layer(cell: type[Cell]) -> None:
    layer = randomized(cell(3, 4))
    before = State({name: torch.randn(2, 4).double() for name in cell.carries})
    x = torch.randn(2, 3).double()
    y, after = layer.step(layer.project(x), before)
    assert tuple(after) == cell.carries
    assert torch.equal(y, after[cell.carries[0]])
    whole, end = Recurrent(layer)(x.unsqueeze(1), state=before)
    torch.testing.assert_close(whole[:, 0], y, rtol=0, atol=1e-12)
    torch.testing.assert_close(dict(end), dict(after), rtol=0, atol=1e-12)


@every_cell
def test_a_step_does_not_change_the_state_before_it(cell: type[Cell]) -> None:
    layer = randomized(cell(3, 4))
    before = State({name: torch.randn(2, 4).double() for name in cell.carries})
    copies = {name: tensor.clone() for name, tensor in before.items()}
    layer.step(layer.project(torch.randn(2, 3).double()), before)
    assert all(torch.equal(before[name], copies[name]) for name in copies)


def test_parts_are_found_by_name() -> None:
    cell = LSTM(3, 2)
    parts = cell.split(torch.arange(8).float().expand(5, 8))
    assert parts.forget.tolist() == [[2, 3]] * 5
    assert parts.output.tolist() == [[6, 7]] * 5


def test_with_weights_replaces_weights_for_one_call() -> None:
    cell = LSTMPeephole(3, 4)
    zeros = torch.zeros_like(cell.recurrent_weight)
    changed = cell.with_weights(recurrent_weight=zeros)
    assert changed.recurrent_weight is zeros
    assert changed.peepholes is cell.peepholes
    assert cell.recurrent_weight.abs().sum() > 0
    assert "recurrent_weight" in dict(cell.named_parameters())


# The two readings of a GRU's update gate --------------------------------------------------------------------------


def replacing_gru(weights: dict[str, torch.Tensor], x: torch.Tensor, after: bool) -> torch.Tensor:
    """h' = (1 − z) ⊙ h + z ⊙ h̃: z is the share that is replaced (Chung et al. 2014)."""
    W_x, W_h, b = (weights[name].chunk(3) for name in ("input_weight", "recurrent_weight", "bias"))
    h, outputs = torch.zeros(x.shape[0], 4).double(), []
    for x_t in x.unbind(1):
        r = torch.sigmoid(x_t @ W_x[0].T + h @ W_h[0].T + b[0])
        z = torch.sigmoid(x_t @ W_x[1].T + h @ W_h[1].T + b[1])
        past = r * (h @ W_h[2].T + weights["candidate_bias"]) if after else (r * h) @ W_h[2].T
        candidate = torch.tanh(x_t @ W_x[2].T + b[2] + past)
        h = (1 - z) * h + z * candidate
        outputs.append(h)
    return torch.stack(outputs, dim=1)


@pytest.mark.parametrize("cell", [GRU, GRUAfter])
def test_flip_update_equals_the_other_equation(cell: type[Cell]) -> None:
    theirs, ours = randomized(cell(3, 4)), cell(3, 4).double()
    ours.load_state_dict(flip_update(theirs.state_dict()))
    x = torch.randn(2, 6, 3).double()
    expected = replacing_gru(theirs.state_dict(), x, after=cell is GRUAfter)
    torch.testing.assert_close(Recurrent(ours)(x)[0], expected, rtol=0, atol=1e-12)
    assert not torch.allclose(Recurrent(theirs)(x)[0], expected)


def test_flip_update_converts_the_weights_of_a_layer() -> None:
    layer = Recurrent(GRUAfter(3, 4), initial="learned")
    flipped = flip_update(layer.state_dict())
    assert torch.equal(flipped["cell.bias"].chunk(3)[1], -layer.cell.bias.chunk(3)[1])
    assert torch.equal(flipped["cell.candidate_bias"], layer.cell.candidate_bias)
    assert torch.equal(flipped["first.hidden"], layer.first["hidden"])


def test_the_reset_gate_after_the_product_gives_another_output() -> None:
    before, after = randomized(GRU(3, 4, bias=False)), GRUAfter(3, 4, bias=False).double()
    after.load_state_dict(before.state_dict())
    x = torch.randn(2, 6, 3).double()
    ours, theirs = Recurrent(before)(x)[0], Recurrent(after)(x)[0]
    torch.testing.assert_close(ours[:, 0], theirs[:, 0])  # equal from h = 0
    assert not torch.allclose(ours[:, 1], theirs[:, 1])


# The vanishing-gradient proof ------------------------------------------------------------------------------------


def test_the_gradient_of_a_linear_rnn_is_a_power_of_its_matrix() -> None:
    """∂h_T/∂h_0 = W_h^T: it shrinks or grows with the largest eigenvalue."""
    cell = randomized(LinearRNN(3, 4))
    layer, x = Recurrent(cell), torch.randn(1, 7, 3).double()
    jacobian = torch.autograd.functional.jacobian(
        lambda h: layer(x, state=State(hidden=h.unsqueeze(0)))[0][0, -1], torch.randn(4).double()
    )
    torch.testing.assert_close(jacobian, torch.linalg.matrix_power(cell.recurrent_weight.detach(), 7))


def test_every_cell_has_its_equation_by_name() -> None:
    assert {name: cell.equation for name, cell in CELLS.items()} == {name: name for name in CELLS}


def test_as_replacement_flips_the_update_gate() -> None:
    layer = Recurrent(GRU(3, 4))
    with record("gates") as seen:
        layer(torch.randn(2, 5, 3))
    gates = seen["gates"][""]
    assert torch.equal(as_replacement(gates)["update"], 1 - gates["update"])
    assert torch.equal(as_replacement(gates)["reset"], gates["reset"])
