"""The layers that `recurrent_stack` builds. The conformance suite tests what they compute."""

from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core import names
from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.nn.deep_recurrent import CONNECTIONS, recurrent_stack
from seqloom.nn.dropout import DROPOUTS, Dropout, VariationalDropout
from seqloom.nn.recurrent import Recurrent
from seqloom.nn.residual import Residual


def dropouts(layer: torch.nn.Module) -> list[float]:
    return [part.p for part in layer.modules() if isinstance(part, Dropout | VariationalDropout) and part.p]


@given(
    cell=st.sampled_from(["rnn", "lstm", "gru", "gru-after"]),
    depth=st.integers(1, 4),
    bidirectional=st.booleans(),
    connection=st.sampled_from(get_args(names.Connection)),
    kind=st.sampled_from(get_args(names.DropoutKind)),
    dropout=st.sampled_from([0.0, 0.3]),
    input_dropout=st.sampled_from([0.0, 0.2]),
    input_size=st.integers(1, 5),
    hidden_size=st.integers(1, 3),
)
def test_a_stack_has_its_widths_and_dropouts(
    cell, depth, bidirectional, connection, kind, dropout, input_dropout, input_size, hidden_size
):
    layer = recurrent_stack(
        cell,
        input_size,
        hidden_size,
        depth=depth,
        bidirectional=bidirectional,
        connection=connection,
        dropout=dropout,
        input_dropout=input_dropout,
        dropout_kind=kind,
    )
    layer_width = hidden_size * (2 if bidirectional else 1)
    width = input_size + depth * layer_width if connection == "dense" else layer_width
    y, _ = layer(torch.randn(2, 3, input_size))
    assert y.shape == (2, 3, width) == (2, 3, layer.output_size)
    assert layer.traits.causal is not bidirectional
    assert sorted(dropouts(layer)) == [input_dropout] * (input_dropout > 0) + [dropout] * (depth - 1) * (dropout > 0)
    kinds = {type(part) for part in layer.modules() if isinstance(part, Dropout | VariationalDropout) and part.p}
    assert kinds <= {DROPOUTS[kind]}


@pytest.mark.parametrize(
    ("connection", "names"),
    [
        ("plain", ["0.hidden", "1.hidden"]),
        ("residual", ["0.layer.hidden", "1.layer.hidden"]),
        ("dense", ["dense.0.layer.hidden", "dense.1.layer.hidden"]),
    ],
)
def test_names_do_not_depend_on_dropout(connection: str, names: list[str]) -> None:
    plain = recurrent_stack("gru", 3, 4, depth=2, connection=connection)
    noisy = recurrent_stack("gru", 3, 4, depth=2, connection=connection, dropout=0.5, input_dropout=0.5)
    assert sorted(plain.state_shapes()) == sorted(noisy.state_shapes()) == names
    noisy.load_state_dict(plain.state_dict())
    x = torch.randn(2, 5, 3)
    torch.testing.assert_close(noisy.eval()(x)[0], plain(x)[0])


def test_each_layer_that_keeps_the_width_has_a_residual_connection() -> None:
    wider = recurrent_stack("lstm", 3, 4, depth=3, connection="residual")
    assert [isinstance(part, Residual) for part in wider.sublayers().values()] == [False, True, True]
    same = recurrent_stack("lstm", 8, 4, depth=3, connection="residual", bidirectional=True)
    assert [isinstance(part, Residual) for part in same.sublayers().values()] == [True, True, True]


def test_settings_reach_every_cell() -> None:
    layer = recurrent_stack(
        "lstm", 3, 4, depth=2, bidirectional=True, bias=False, initial="learned", weight_drop=0.1, zoneout=0.2
    )
    layers = [part for part in layer.modules() if isinstance(part, Recurrent)]
    assert len(layers) == 4
    for recurrent in layers:
        assert recurrent.cell.bias is None
        assert (recurrent.initial_kind, recurrent.weight_drop, recurrent.zoneout) == ("learned", 0.1, 0.2)


def test_dropout_of_a_residual_is_of_the_requested_kind() -> None:
    layer = Residual(Recurrent(recurrent_stack("gru", 4, 4).layers["0"].cell), dropout=VariationalDropout(4, 0.5))
    x = torch.zeros(1, 6, 4)
    dropped = layer(x)[0].eq(0)
    assert dropped.any()
    assert dropped.eq(dropped[:, :1]).all()


def test_registries_hold_the_names_of_the_config() -> None:
    assert tuple(CONNECTIONS) == get_args(names.Connection)
    assert tuple(DROPOUTS) == get_args(names.DropoutKind)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"cell": "lsmt"}, UnknownName, r"unknown cell 'lsmt'\. Did you mean 'lstm'\?"),
        ({"connection": "resdual"}, UnknownName, r"unknown connection 'resdual'\. Did you mean 'residual'\?"),
        ({"dropout_kind": "varational"}, UnknownName, r"unknown dropout 'varational'\. Did you mean 'variational'\?"),
        ({"initial": "one"}, UnknownName, r"unknown initial state 'one'"),
        ({"depth": 0}, ArgumentError, r"recurrent_stack: depth is 0; expected a whole number, at least 1\."),
        ({"hidden_size": -1}, ArgumentError, r"recurrent_stack: hidden_size is -1; expected"),
        ({"input_size": 0}, ArgumentError, r"recurrent_stack: input_size is 0; expected"),
        ({"dropout": 1.0}, ArgumentError, r"recurrent_stack: dropout is 1\.0; expected a probability"),
        ({"input_dropout": -0.1}, ArgumentError, r"recurrent_stack: input_dropout is -0\.1; expected a probability"),
        ({"zoneout": 2.0}, ArgumentError, r"Recurrent: zoneout is 2\.0; expected a probability"),
    ],
)
def test_invalid_settings_are_errors(settings: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        recurrent_stack(**{"cell": "lstm", "input_size": 3, "hidden_size": 4, **settings})
