"""Prepared text: complete, in consecutive splits, with a tokenizer of the training split."""

from pathlib import Path
from typing import Any

import pytest

from seqloom.core.problem import DataError
from seqloom.data import text_stream as module
from seqloom.data.source import DataSource
from seqloom.data.split import TEST, TRAIN, VALID
from seqloom.data.text_stream import TokenStreams, prepare_stream, prepare_test_stream, split_spans
from seqloom.tasks.language.config import DATA_SPEC
from seqloom.tasks.language.task import learner
from seqloom.tasks.registry import experiment

TEXT = "".join(f"line {i} of a small text, ä\n" for i in range(200))


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    Path("a.txt").write_text(TEXT)


def source(**data: Any) -> DataSource:
    config = experiment({"task": "language", "data": {"train": "a.txt", **data}})
    return DataSource.resolve(config.data, DATA_SPEC).hashed()


def prepare_text(**data: Any) -> TokenStreams:
    data_source = source(**data)
    return prepare_stream(data_source, learner(data_source.data))


def decoded(data: TokenStreams) -> dict[str, str]:
    return {split: data.tokenizer.decode(tokens.tolist()) for split, tokens in data.tokens.items()}


@pytest.mark.parametrize("tokenizer", ["character", "byte", "bpe"])
def test_the_splits_join_to_the_text(tokenizer: str) -> None:
    size = {} if tokenizer == "byte" else {"vocabulary_size": 300}
    data = prepare_text(tokenizer=tokenizer, valid_share=0.2, test_share=0.1, **size)
    texts = decoded(data)
    assert list(texts) == [TRAIN, VALID, TEST]
    assert texts[TRAIN] + texts[VALID] + texts[TEST] == TEXT
    assert data.characters == {split: len(text) for split, text in texts.items()}
    for split, share in ((TRAIN, 0.7), (VALID, 0.2), (TEST, 0.1)):
        assert abs(len(texts[split]) / len(TEXT) - share) < 0.01


def test_words_keep_their_order() -> None:
    data = prepare_text(tokenizer="word")
    words = data.tokenizer.tokens(data.tokens[TRAIN][:6].tolist())
    assert words[:2] == ["line", "0"]


def test_without_a_share_there_is_no_test_split() -> None:
    assert list(prepare_text().tokens) == [TRAIN, VALID]


def test_files_of_other_splits_leave_the_training_text_whole() -> None:
    Path("v.txt").write_text("another text\n")
    texts = decoded(prepare_text(valid="v.txt"))
    assert texts[TRAIN] == TEXT
    assert texts[VALID].endswith("text\n")
    Path("t.txt").write_text("a third text\n")
    texts = decoded(prepare_text(valid="v.txt", test="t.txt"))
    assert list(texts) == [TRAIN, VALID, TEST]


def test_the_tokenizer_learns_from_the_training_split_alone() -> None:
    Path("a.txt").write_text(TEXT + "Ω" * 20 + "\n")
    data = prepare_text(valid_share=0.1)
    assert "Ω" not in data.tokenizer.parameters.tokens
    assert data.tokenizer.unknown in data.tokens[VALID]
    assert data.tokenizer.unknown not in data.tokens[TRAIN]


def test_tokens_do_not_depend_on_the_chunk_size(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {
        split: tokens.tolist() for split, tokens in prepare_text(tokenizer="bpe", vocabulary_size=300).tokens.items()
    }
    monkeypatch.setattr(module, "CHUNK_CHARACTERS", 100)
    monkeypatch.setattr(module, "CHUNKS_PER_BATCH", 3)
    chunked = prepare_text(tokenizer="bpe", vocabulary_size=300, sample=40_000_000)  # not in the cache
    assert {split: tokens.tolist() for split, tokens in chunked.tokens.items()} == expected


def test_prepared_text_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = prepare_text()
    monkeypatch.setattr(module, "write_streams", None)  # not called
    again = prepare_text()
    Path("a.txt").rename("b.txt")
    renamed = prepare_text(train="b.txt")
    for other in (again, renamed):
        assert decoded(other) == decoded(first)
        assert other.characters == first.characters
    with pytest.raises(TypeError):
        prepare_text(train="b.txt", lowercase=True)


@pytest.mark.parametrize("text", ["a", "ab\n", "0123456789"])
def test_a_text_that_is_too_short_is_refused(text: str) -> None:
    Path("a.txt").write_text(text)
    with pytest.raises(DataError, match=r"^a\.txt: only \d+ characters? for (validation|training)\. Give"):
        prepare_text()
    assert not list(Path("cache").glob("*"))


def test_a_file_of_a_split_that_is_too_short_is_named() -> None:
    Path("v.txt").write_text("a")
    with pytest.raises(DataError, match=r"^v\.txt: only 1 character for validation"):
        prepare_text(valid="v.txt")


def test_a_corpus_is_prepared_as_text() -> None:
    data_source = source(train=(), corpus="brackets", examples=50, corpus_length=6)
    texts = decoded(prepare_stream(data_source, learner(data_source.data)))
    assert texts[TRAIN] + texts[VALID] == "".join(data_source.text(TRAIN))


def test_spans_of_splits_are_contiguous() -> None:
    data_source = source(valid_share=0.33, test_share=0.33)
    spans = split_spans(data_source, {TRAIN: len(TEXT)}.__getitem__)
    assert spans[TRAIN][1] == 0
    assert spans[TRAIN][2] == spans[VALID][1]
    assert spans[VALID][2] == spans[TEST][1]
    assert spans[TEST][2] == len(TEXT)


def for_testing(text: str, folder: Path) -> TokenStreams:
    Path("t.txt").write_text(text)
    data_source = DataSource.for_testing(source().data, DATA_SPEC, ["t.txt"])
    return prepare_test_stream(data_source, prepare_text().tokenizer, folder)


def test_a_test_text_is_encoded_by_the_tokenizer_of_the_run(tmp_path: Path) -> None:
    data = for_testing("line 3Ω\n", tmp_path / "test")
    assert list(data.tokens) == [TEST]
    assert data.characters == {TEST: 8}
    assert data.tokenizer.parameters == prepare_text().tokenizer.parameters
    assert data.tokens[TEST].tolist() == data.tokenizer.encode("line 3Ω\n").tolist()
    assert data.tokenizer.unknown in data.tokens[TEST]


def test_a_test_text_that_is_too_short_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        for_testing("a", tmp_path / "test")
    assert str(error.value) == "t.txt: less than two tokens. Give a longer text."
