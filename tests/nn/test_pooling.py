"""Pools equal their formulas, over rows of any length."""

from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqloom.core import names
from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.nn.pooling import POOLS, AttentionPool, LastPool, MaxPool, MeanPool, Pool
from seqloom.nn.record import record

SIZE = 3
every_pool = pytest.mark.parametrize("name", list(POOLS))


def build_pool(name: str) -> Pool:
    return POOLS[name](SIZE).double()


def expected_pool(pool: Pool, row: Tensor) -> Tensor:
    """The formula for one row without padding, [time, dim]."""
    if len(row) == 0:
        return torch.zeros(SIZE, dtype=row.dtype)
    match pool:
        case LastPool():
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
