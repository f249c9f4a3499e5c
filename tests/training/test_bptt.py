"""Truncated BPTT carries the state between chunks and detaches it."""

import pytest
import torch

from seqloom.nn import Model
from seqloom.nn.state import State
from seqloom.tasks.task import Batch
from tests.training.small import tiny_session

ARCHS = ("rnn", "lstm", "gru", "window", "conv")


def gradients(arch: str, chunk_sizes: list[int]) -> tuple[float, list[torch.Tensor]]:
    """The loss and gradients of one text in chunks, with the state carried and detached between them."""
    trainer = tiny_session("language", arch, model={"dropout": 0.0}).trainer([])
    trainer.model.double().train()
    tokens = torch.randint(5, (3, sum(chunk_sizes) + 1), generator=torch.Generator().manual_seed(0))
    total, start = 0.0, 0
    for number, size in enumerate(chunk_sizes):
        row = tokens[:, start : start + size + 1]
        loss, _ = trainer.backward(Batch(row[:, :-1], row[:, 1:], continues=number > 0))
        total, start = total + loss.item(), start + size
    return total, [weight.grad for weight in trainer.model.parameters() if weight.grad is not None]


@pytest.mark.parametrize("arch", ARCHS)
def test_gradients_are_not_truncated_if_bptt_covers_the_text(arch: str) -> None:
    """One chunk is compared with autograd through the sum over all steps, one step at a time."""
    total, cut = gradients(arch, [12])
    trainer = tiny_session("language", arch, model={"dropout": 0.0}).trainer([])
    model: Model = trainer.model.double().train()
    tokens = torch.randint(5, (3, 13), generator=torch.Generator().manual_seed(0))
    state: State | None = None
    loss = torch.zeros((), dtype=torch.float64)
    for t in range(12):
        y, state = model(tokens[:, t : t + 1], None, state)
        loss = loss + model.head.loss(y, tokens[:, t + 1 : t + 2]).total
    loss.backward()
    assert total == pytest.approx(loss.item(), abs=1e-9)
    for weight, gradient in zip(model.parameters(), cut, strict=True):
        torch.testing.assert_close(gradient, weight.grad, atol=1e-10, rtol=1e-8)


@pytest.mark.parametrize("arch", ["rnn", "lstm", "gru"])
def test_truncation_keeps_the_loss_and_changes_the_gradient(arch: str) -> None:
    whole, uncut = gradients(arch, [12])
    truncated, cut = gradients(arch, [5, 7])
    assert truncated == pytest.approx(whole, abs=1e-9)  # the state is carried
    distance = max(float((a - b).abs().max()) for a, b in zip(uncut, cut, strict=True))
    assert distance > 1e-6  # and detached


def test_the_truncated_gradient_is_that_of_a_detached_state() -> None:
    """The gradient of the second chunk does not reach the first."""
    _, cut = gradients("gru", [5, 7])
    trainer = tiny_session("language", "gru", model={"dropout": 0.0}).trainer([])
    model: Model = trainer.model.double().train()
    tokens = torch.randint(5, (3, 13), generator=torch.Generator().manual_seed(0))
    y, state = model(tokens[:, :5])
    model.head.loss(y, tokens[:, 1:6]).total.backward()
    y, _ = model(tokens[:, 5:12], None, state.detach())
    model.head.loss(y, tokens[:, 6:13]).total.backward()
    for weight, gradient in zip(model.parameters(), cut, strict=True):
        torch.testing.assert_close(gradient, weight.grad, atol=1e-12, rtol=1e-10)


def test_a_state_is_carried_within_an_epoch_only() -> None:
    trainer = tiny_session("language", train={"steps": 400, "epochs": 2}).trainer([])
    per_epoch = len(trainer.items)
    assert [trainer.items[i].continues for i in range(3)] == [False, True, True]
    for _ in range(per_epoch):
        trainer.step()
    assert trainer.state is not None
    assert trainer.state.max_position == trainer.items.length
