"""The text of a language model, prepared as its config says."""

from pathlib import Path
from typing import Any

import pytest

from seqloom.core.problem import DataError
from seqloom.data.schema import TokenizerLearner
from seqloom.data.source import DataSource
from seqloom.data.split import TEST, TRAIN, VALID
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.language.config import DATA_SPEC
from seqloom.tasks.language.task import Language, learner
from seqloom.tasks.registry import experiment

TEXT = "".join(f"Line {i} of a small text\n" for i in range(100))


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    Path("a.txt").write_text(TEXT)


def config_of(**data: Any) -> Experiment:
    return experiment({"task": "language", "data": {"train": "a.txt", **data}})


def task_of(**data: Any) -> Language:
    config = config_of(**data)
    return Language.prepare(config, DataSource.resolve(config.data, DATA_SPEC).hashed())


def test_tokens_are_characters_by_default() -> None:
    assert learner(config_of().data) == TokenizerLearner((0,), "character", 20_000, 1, False, 20_000_000)
    options = {"tokenizer": "bpe", "vocabulary_size": 300, "min_count": 2, "lowercase": True, "sample": 1000}
    assert learner(config_of(**options).data) == TokenizerLearner((0,), "bpe", 300, 2, True, 1000)


def test_a_text_is_prepared_as_configured() -> None:
    task = task_of(lowercase=True, min_count=99, test_share=0.1)
    assert task.splits() == (TRAIN, VALID, TEST)
    assert task.tokenizer.parameters.lowercase
    assert "l" in task.tokenizer.parameters.tokens
    assert not {"L", "9"} & set(task.tokenizer.parameters.tokens)
    assert sum(task.data.characters.values()) == len(TEXT)


def test_without_a_file_the_data_are_the_default_corpus() -> None:
    config = experiment({"task": "language"})
    source = DataSource.resolve(config.data, DATA_SPEC)
    assert source.corpus == DATA_SPEC.default_corpus == "python"
    assert (source.names(), source.inputs) == (["python"], ())


def test_an_embedded_corpus_is_prepared_like_a_text() -> None:
    task = task_of(train=(), corpus="brackets", corpus_length=4, examples=20)
    assert task.splits() == (TRAIN, VALID)
    assert set(task.tokenizer.parameters.tokens) > {"(", ")", "\n"}


def test_a_test_file_is_encoded_with_the_tokenizer_of_the_run() -> None:
    learned = task_of(tokenizer="bpe", vocabulary_size=300)
    task = Language.from_files(learned.experiment, learned.files())
    Path("t.txt").write_text("a new line\n")
    task.read_test_files(["t.txt"], Path("out"))
    assert task.splits() == (TEST,)
    assert task.data.tokens[TEST].tolist() == learned.tokenizer.encode("a new line\n").tolist()
    with pytest.raises(DataError, match=r"^none\.txt: there is no such file\."):
        task.read_test_files(["none.txt"], Path("out"))
