"""What classify and tag share: batches by length, each row once, the same for the same seed."""

import pytest

from seqloom.tasks.classify.task import Classify
from seqloom.tasks.tag.task import Tag
from tests.training.small import tiny_session


def task(name: str, seed: int = 1) -> Classify | Tag:
    found = tiny_session(name, seed=seed, train={"batch_tokens": 40}).task
    assert isinstance(found, Classify | Tag)
    return found


@pytest.mark.parametrize("name", ["classify", "tag"])
def test_an_epoch_reads_every_row_once_within_the_budget(name: str) -> None:
    some = task(name)
    part = some.data.splits["train"]
    lengths = part[some.length_column].lengths()
    batches = [batch.tolist() for batch in some.epoch(0)]
    assert sorted(row for batch in batches for row in batch) == list(range(len(part)))
    assert all(max(lengths[batch]) * len(batch) <= 40 or len(batch) == 1 for batch in batches)


@pytest.mark.parametrize("name", ["classify", "tag"])
def test_the_order_is_a_pure_function_of_seed_and_epoch(name: str) -> None:
    def told(number: int) -> list[list[int]]:
        return [batch.tolist() for batch in task(name).epoch(number)]

    assert told(0) == told(0) != told(1)


@pytest.mark.parametrize("name", ["classify", "tag"])
def test_a_score_reads_every_row_once(name: str) -> None:
    some = task(name)
    part = some.data.splits["valid"]
    rows = [row for batch in some.batches(part) for row in batch.rows]
    assert sorted(rows) == list(range(len(part)))
    assert some.location(part, 0).partition(":")[0] in ("numbers", "copy")
