"""Activation penalties equal a double loop over rows of unequal length."""

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.config.train import Train
from seqloom.training.activation_regularization import activation_penalty
from tests.training.small import tiny, tiny_session

DIM = 3


def config(activation_l2: float, temporal_activation_l2: float) -> Train:
    return tiny(
        "language", train={"activation_l2": activation_l2, "temporal_activation_l2": temporal_activation_l2}
    ).train


def expected_penalty(y: torch.Tensor, lengths: Sequence[int], alpha: float, beta: float) -> float:
    squares, differences = [], []
    for row, length in zip(y.tolist(), lengths, strict=True):
        for t in range(length):
            squares += [value**2 for value in row[t]]
            if t:
                differences += [(value - before) ** 2 for value, before in zip(row[t], row[t - 1], strict=True)]
    return alpha * sum(squares) / max(1, len(squares)) + beta * sum(differences) / max(1, len(differences))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.sampled_from([0.0, 0.7]), st.sampled_from([0.0, 1.3]))
def test_the_penalty_equals_a_double_loop(lengths: list[int], alpha: float, beta: float) -> None:
    y = torch.randn(len(lengths), max(1, *lengths), DIM, requires_grad=True)
    penalty = activation_penalty(y, torch.tensor(lengths), config(alpha, beta))
    if not alpha and not beta:
        assert penalty is None
        return
    assert penalty is not None
    assert penalty.item() == pytest.approx(expected_penalty(y.detach(), lengths, alpha, beta), rel=1e-5, abs=1e-6)
    (penalty + 0 * y.sum()).backward()
    assert y.grad is not None
    for row, length in zip(y.grad, lengths, strict=True):
        assert not row[length:].any()  # no gradient beyond the end of a row


def test_without_lengths_no_step_is_padding() -> None:
    y = torch.randn(2, 4, DIM)
    penalty = activation_penalty(y, None, config(0.5, 2.0))
    assert penalty is not None
    assert penalty.item() == pytest.approx(expected_penalty(y, [4, 4], 0.5, 2.0), rel=1e-5)


def test_one_step_has_no_temporal_penalty() -> None:
    penalty = activation_penalty(torch.randn(2, 1, DIM), torch.tensor([1, 1]), config(0.0, 2.0))
    assert penalty is not None
    assert penalty.item() == 0


def test_the_penalty_is_in_the_gradient_and_not_in_the_reported_loss() -> None:
    """The sum over a step is Σ ∂loss + n ∂penalty, so the mean over n tokens has the penalty once."""
    plain, regularized, alone = (
        tiny_session("language", model={"dropout": 0.0}, train={"activation_l2": alpha}).trainer([])
        for alpha in (0.0, 5.0, 0.0)
    )
    batch = plain.task.batch(plain.items[0])
    (loss, count), (regularized_loss, _) = plain.backward(batch), regularized.backward(batch)
    assert loss == regularized_loss
    y, _ = alone.model(batch.source)
    (5.0 * y.square().mean()).backward()
    for actual, of_loss, of_penalty in zip(regularized.parameters, plain.parameters, alone.parameters, strict=True):
        assert actual.grad is not None
        assert of_loss.grad is not None
        expected = (
            of_loss.grad if of_penalty.grad is None else of_loss.grad + count * of_penalty.grad
        )  # the penalty does not reach the head
        torch.testing.assert_close(actual.grad, expected, rtol=1e-4, atol=1e-4)
