"""A batch: how many tokens it counts for, and that all of it moves."""

import torch

from seqloom.tasks.task import Batch

TOKENS = torch.ones(2, 4, dtype=torch.long)


def test_real_tokens_of_source_and_answer_are_counted() -> None:
    lengths, written = torch.tensor([4, 1]), torch.tensor([2, 4])
    assert Batch(TOKENS, TOKENS).tokens == 8
    assert Batch(TOKENS, TOKENS, lengths).tokens == 5
    assert Batch(TOKENS, TOKENS, lengths, given=TOKENS, target_lengths=written).tokens == 11
    images = torch.ones(2, 3, 8, 8)
    assert Batch(images, TOKENS, given=TOKENS, target_lengths=written).tokens == 6
    assert Batch(images, TOKENS, given=TOKENS).tokens == 8


def test_all_but_lengths_moves_to_a_device() -> None:
    batch = Batch(TOKENS, TOKENS, torch.tensor([4, 1]), given=TOKENS, target_lengths=torch.tensor([2, 4]))
    moved = batch.to(torch.device("meta"))
    assert moved.given is not None
    assert {tensor.device.type for tensor in (moved.source, moved.target, moved.given)} == {"meta"}
    assert moved.lengths is batch.lengths
    assert moved.target_lengths is batch.target_lengths
    assert Batch(TOKENS, TOKENS).to(torch.device("meta")).given is None
