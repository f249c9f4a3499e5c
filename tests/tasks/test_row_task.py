"""Classification and tagging share batches by length: each row once, the same for the same seed."""

import pytest

from seqloom.tasks.classify.task import Classify
from seqloom.tasks.tag.task import Tag
from tests.training.small import tiny_session


def task_of(name: str, seed: int = 1) -> Classify | Tag:
    row_task = tiny_session(name, seed=seed, train={"batch_tokens": 40}).task
    assert isinstance(row_task, Classify | Tag)
    return row_task


@pytest.mark.parametrize("name", ["classify", "tag"])
def test_an_epoch_has_every_row_once_within_batch_tokens(name: str) -> None:
    row_task = task_of(name)
    split = row_task.data.splits["train"]
    lengths = split[row_task.length_column].lengths()
    batches = [batch.tolist() for batch in row_task.epoch(0)]
    assert sorted(row for batch in batches for row in batch) == list(range(len(split)))
    assert all(max(lengths[batch]) * len(batch) <= 40 or len(batch) == 1 for batch in batches)


@pytest.mark.parametrize("name", ["classify", "tag"])
def test_the_order_is_a_pure_function_of_seed_and_epoch(name: str) -> None:
    def epoch_batches(number: int) -> list[list[int]]:
        return [batch.tolist() for batch in task_of(name).epoch(number)]

    assert epoch_batches(0) == epoch_batches(0) != epoch_batches(1)


@pytest.mark.parametrize("name", ["classify", "tag"])
def test_evaluation_has_every_row_once(name: str) -> None:
    row_task = task_of(name)
    split = row_task.data.splits["valid"]
    rows = [row for batch in row_task.batches(split) for row in batch.rows]
    assert sorted(rows) == list(range(len(split)))
    assert row_task.location(split, 0).partition(":")[0] in ("numbers", "copy")
