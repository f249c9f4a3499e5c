"""Batches: tokens and devices. Tasks: generation and example inputs."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.config.decode import Decode
from seqloom.core.problem import UserError
from seqloom.models.family import Use
from seqloom.tasks.registry import TASKS
from seqloom.tasks.task import Batch, pad_rows
from tests.training.small import tiny_session

TOKENS = torch.ones(2, 4, dtype=torch.long)


def test_tokens_of_source_and_target_are_counted_without_padding() -> None:
    lengths, target_lengths = torch.tensor([4, 1]), torch.tensor([2, 4])
    assert Batch(TOKENS, TOKENS).tokens == 8
    assert Batch(TOKENS, TOKENS, lengths).tokens == 5
    assert Batch(TOKENS, TOKENS, lengths, decoder_input=TOKENS, target_lengths=target_lengths).tokens == 11
    images = torch.ones(2, 3, 8, 8)
    assert Batch(images, TOKENS, decoder_input=TOKENS, target_lengths=target_lengths).tokens == 6
    assert Batch(images, TOKENS, decoder_input=TOKENS).tokens == 8


def test_all_but_lengths_moves_to_a_device() -> None:
    batch = Batch(TOKENS, TOKENS, torch.tensor([4, 1]), decoder_input=TOKENS, target_lengths=torch.tensor([2, 4]))
    moved = batch.to(torch.device("meta"))
    assert moved.decoder_input is not None
    assert {tensor.device.type for tensor in (moved.source, moved.target, moved.decoder_input)} == {"meta"}
    assert moved.lengths is batch.lengths
    assert moved.target_lengths is batch.target_lengths
    assert Batch(TOKENS, TOKENS).to(torch.device("meta")).decoder_input is None


@pytest.mark.parametrize("name", TASKS)
def test_generation_is_refused_by_tasks_that_do_not_generate(name: str) -> None:
    task, use, cpu = tiny_session(name).task, TASKS[name].config.use, torch.device("cpu")
    model = task.build()
    if use is not Use.DECODE:
        with pytest.raises(UserError, match=rf"^{name}: this task generates no answers\. Use predict\.$"):
            task.generate(model, ["a"], Decode(), cpu)
    if use is not Use.GENERATE:
        with pytest.raises(UserError, match=rf"^{name}: this task continues no text\. Use predict\.$"):
            task.stream(model, ["a"], Decode(), 1, cpu)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_has_example_inputs(name: str, tmp_path: Path) -> None:
    task = tiny_session(name).task
    text = task.example_input(tmp_path)
    assert text.strip()
    if TASKS[name].config.help.file_advice.startswith("Name one image"):
        assert Path(text).is_relative_to(tmp_path)
        assert Path(text).exists()
    elif TASKS[name].config.use is not Use.GENERATE:
        texts = task.example_inputs("valid", 3)
        assert len(texts) == 3
        assert all(texts)
        assert task.example_input(tmp_path) in {" ".join(text.split()[:8]) for text in task.example_inputs("valid", 20)}


def test_the_example_input_of_a_language_model_is_its_prompt(tmp_path: Path) -> None:
    assert tiny_session("language", decode={"prompt": "[]"}).task.example_input(tmp_path) == "[]"


some_rows = st.lists(st.lists(st.integers(0, 255), max_size=6), min_size=1, max_size=8)


@given(some_rows, st.sampled_from(["uint8", "uint16", "uint32", "int64"]))
def test_padded_rows_and_lengths_equal_the_rows(rows: list[list[int]], kind: str) -> None:
    tokens, lengths = pad_rows([np.array(row, dtype=kind) for row in rows])
    assert tokens.dtype == lengths.dtype == torch.int64
    assert tokens.shape == (len(rows), max(1, *map(len, rows)))
    assert [row[:length] for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True)] == rows
    assert all(not any(row[length:]) for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True))
