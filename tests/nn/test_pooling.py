"""Pools equal their formulas, over rows of any length."""

from itertools import product
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqloom.core import names
from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.nn.cells import GRU, Cell
from seqloom.nn.deep_recurrent import recurrent_stack
from seqloom.nn.dense import DenseOverFeatures
from seqloom.nn.dropout import Dropout
from seqloom.nn.normalization import NORMS
from seqloom.nn.pooling import POOLS, AttentionPool, LastPool, LastStepPool, MaxPool, MeanPool, Pool
from seqloom.nn.record import record
from seqloom.nn.recurrent import Recurrent
from seqloom.nn.residual import PostNorm, PreNorm
from seqloom.nn.stack import Stack
from tests.nn.references.final import deep

SIZE = 3
every_pool = pytest.mark.parametrize("name", list(POOLS))


def build_pool(name: str) -> Pool:
    return POOLS[name](SIZE).double()


def expected_pool(pool: Pool, row: Tensor) -> Tensor:
    """The formula for one row without padding, [time, dim]."""
    if len(row) == 0:
        return torch.zeros(SIZE, dtype=row.dtype)
    match pool:
        case LastStepPool():  # and LastPool of a layer that reads forwards
            return row[-1]
        case MeanPool():
            return torch.stack(list(row)).sum(0) / len(row)
        case MaxPool():
            return torch.stack([max(feature) for feature in row.T])
        case AttentionPool():
            scores = [
                pool.query.weight[0] @ torch.tanh(pool.hidden.weight @ step + pool.hidden.bias).squeeze()
                for step in row
            ]
            parts = [score.exp() for score in scores]
            return sum(part / sum(parts) * step for part, step in zip(parts, row, strict=True))
    raise AssertionError(pool)


def test_the_registry_has_the_names_of_the_spec() -> None:
    assert tuple(POOLS) == get_args(names.Pool)


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'mean'"):
        POOLS["meen"]


@every_pool
@given(data=st.data(), time=st.integers(0, 5), rows=st.integers(0, 4))
def test_a_pool_equals_its_formula(name: str, data: st.DataObject, time: int, rows: int) -> None:
    lengths = torch.tensor(data.draw(st.lists(st.integers(0, time), min_size=rows, max_size=rows)), dtype=torch.int64)
    pool, y = build_pool(name), torch.randn(rows, time, SIZE, dtype=torch.float64)
    pooled = pool(y, lengths)
    assert pooled.shape == (rows, SIZE)
    for row, length, actual in zip(y, lengths, pooled, strict=True):
        torch.testing.assert_close(actual, expected_pool(pool, row[:length]))


@pytest.mark.parametrize(
    ("connection", "directions", "depth", "cell"),
    list(product(("plain", "residual", "dense"), (1, 2), (1, 2), ("gru", "lstm"))),
)
def test_last_reads_each_direction_where_it_has_read_the_row(
    connection: str, directions: int, depth: int, cell: str
) -> None:
    """[→y_n; ←y_1] of the top layer, in place among the features of a dense stack, whose input is taken at n."""
    layer = recurrent_stack(
        cell, 6, 3, depth=depth, bidirectional=directions == 2, connection=connection, dropout=0.1, input_dropout=0.1
    )
    layer = Stack({"layers": layer, "dropout": Dropout(layer.output_size, 0.1)}).double().eval()
    x, lengths = torch.randn(4, 5, 6, dtype=torch.float64), torch.tensor([3, 5, 1, 0])
    pool, y = LastPool.over(layer), layer(x, lengths)[0]
    pooled = pool(y, lengths)
    cells = [module for module in layer.modules() if isinstance(module, Cell)]
    for row, length in enumerate(lengths.tolist()):
        _, _, last = deep(cells, directions, connection, x[row, :length].numpy())
        torch.testing.assert_close(pooled[row], torch.from_numpy(last) if length else torch.zeros_like(pooled[row]))
    torch.testing.assert_close(pooled[:1], pool(layer(x[:1, :3])[0]), rtol=0, atol=1e-14)  # a row alone
    changed = y.clone()
    changed[:, 1:-1] = torch.nan  # between the first step and the last nothing is read
    torch.testing.assert_close(pool(changed)[1], pooled[1])


def test_the_last_outputs_of_two_directions_are_their_final_states() -> None:
    layer = recurrent_stack("gru", 6, 3, bidirectional=True)
    lengths = torch.tensor([3, 5, 0])
    y, state = layer(torch.randn(3, 5, 6), lengths)
    expected = torch.cat([state["0.forwards.hidden"], state["0.backwards.reversed.hidden"]], dim=1)
    torch.testing.assert_close(LastPool.over(layer)(y, lengths), expected)
    torch.testing.assert_close(POOLS["last-step"].over(layer)(y, lengths)[:2], y[[0, 1], [2, 4]])


def test_norms_and_residual_connections_keep_the_directions_of_features() -> None:
    both = recurrent_stack("gru", 6, 3, bidirectional=True)
    flags = (False,) * 3 + (True,) * 3
    assert both.backward_features() == flags
    for norm in NORMS.values():
        layer = norm(6)
        assert layer.backward_features(flags) == flags
        assert layer.backward_features() == (False,) * 6
    assert Stack([PreNorm(both, norm="layer"), PostNorm(Recurrent(GRU(6, 6)), norm="rms")]).backward_features() == flags
    assert Stack([both, DenseOverFeatures(6, 2)]).backward_features() == (False, False)  # each mixes both directions


def test_last_needs_a_direction_for_each_feature() -> None:
    with pytest.raises(ArgumentError, match=r"^LastPool: backward has 2 values; expected 3, one per feature\.$"):
        LastPool(3, (False, True))


@every_pool
def test_without_lengths_nothing_is_padding(name: str) -> None:
    pool, y = build_pool(name), torch.randn(2, 4, SIZE, dtype=torch.float64)
    torch.testing.assert_close(pool(y), pool(y, torch.tensor([4, 4])))
    assert pool(y[:, :0]).eq(0).all()


@every_pool
@pytest.mark.parametrize("fill", [1e4, float("nan"), float("inf")])
def test_padding_changes_nothing(name: str, fill: float) -> None:
    pool, lengths = build_pool(name), torch.tensor([4, 2, 0, 1])
    y = torch.randn(4, 4, SIZE, dtype=torch.float64)
    beyond = torch.arange(4) >= lengths.unsqueeze(1)

    def run(inside: float) -> list[Tensor]:
        pool.zero_grad()
        x = y.masked_fill(beyond.unsqueeze(2), inside).requires_grad_()
        pooled = pool(x, lengths)
        pooled.sin().sum().backward()
        assert x.grad is not None
        assert x.grad.isfinite().all()
        return [pooled, x.grad, *(p.grad.clone() for p in pool.parameters() if p.grad is not None)]

    for plain, filled in zip(run(0.0), run(fill), strict=True):
        assert torch.equal(plain, filled)
    assert run(fill)[0][2].eq(0).all()


@every_pool
def test_gradients_equal_finite_differences(name: str) -> None:
    y = torch.randn(3, 3, SIZE, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(build_pool(name), (y, torch.tensor([3, 0, 2])))


@every_pool
def test_pools_run_in_bfloat16(name: str) -> None:
    pool, y = POOLS[name](SIZE), torch.randn(2, 4, SIZE)
    exact = pool(y, torch.tensor([4, 2]))
    pooled = pool.bfloat16()(y.bfloat16(), torch.tensor([4, 2]))
    assert pooled.dtype == torch.bfloat16
    torch.testing.assert_close(pooled.float(), exact, atol=0.05, rtol=0.05)


def test_max_shares_the_gradient_between_ties() -> None:
    y = torch.tensor([[[2.0], [2.0], [1.0]]], requires_grad=True)
    MaxPool(1)(y).sum().backward()
    assert y.grad.flatten().tolist() == [0.5, 0.5, 0.0]


def test_attention_pooling_records_its_weights() -> None:
    pool, y, lengths = AttentionPool(SIZE), torch.randn(3, 4, SIZE), torch.tensor([4, 2, 0])
    with record("attention") as seen:
        pooled = pool(y, lengths)
    weights = seen["attention"][""]["weights"]
    assert weights.shape == (3, 1, 1, 4)
    torch.testing.assert_close(weights.sum(3).flatten(), torch.tensor([1.0, 1.0, 0.0]))
    assert weights[1, 0, 0, 2:].eq(0).all()
    torch.testing.assert_close(torch.einsum("bhqt,btd->bd", weights, y), pooled)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("y", "lengths", "message"),
    [
        (torch.zeros(2, 4, 5), None, "MeanPool: y has 5 features per step (its last dimension); expected 3."),
        (torch.zeros(2, 3), None, "MeanPool: y has shape [2, 3]; expected three dimensions, [batch, time, 3]."),
        (torch.zeros(2, 4, 3), torch.tensor([5, 1]), "MeanPool: lengths has the value 5; expected at most 4"),
    ],
)
def test_invalid_input_is_an_error(y: Tensor, lengths: Tensor | None, message: str) -> None:
    with pytest.raises(ArgumentError) as error:
        MeanPool(3)(y, lengths)
    assert str(error.value).startswith(message)
