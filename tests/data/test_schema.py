"""Values are encoded as columns of numbers; learned encoders are saved as files."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.problem import ArgumentError, DataError, RunError, UserError
from seqloom.data.records import Location
from seqloom.data.schema import (
    AnswerColumn,
    AnswerLearner,
    Column,
    Learner,
    NumberColumn,
    Schema,
    TextColumn,
    TokenColumn,
    TokenizerLearner,
)
from seqloom.data.vocabulary import Vocabulary

WORDS = TokenizerLearner((0,), "word", vocabulary_size=100, min_count=1, lowercase=False, sample=1000)


def encode(column: Column, values: list[Any], **encoders: object) -> list[list[Any]]:
    """The rows of a column; each must fit the type of its array."""
    opened = column.open({f"{name}.json": encoder for name, encoder in encoders.items()})
    rows = opened.encode(values, [Location("a.tsv", line) for line in range(1, 1 + len(values))])
    assert all(np.array_equal(row.astype(opened.dtype), row) for row in rows)
    return [row.tolist() for row in rows]


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=5))
def test_a_text_is_encoded_as_its_bytes(texts: list[str]) -> None:
    assert [bytes(row).decode() for row in encode(TextColumn("texts", 0), texts)] == texts


def test_a_number_is_a_row_of_one_value() -> None:
    assert encode(NumberColumn("image", 0), [3, 0, 1 << 40]) == [[3], [0], [1 << 40]]
    assert encode(NumberColumn("score", 0, dtype="float32"), [0.5, -2.0]) == [[0.5], [-2.0]]


def test_tokens_are_encoded_by_the_tokenizer() -> None:
    tokenizer = WORDS.learn(["to be", "or not to be"], {})
    rows = encode(TokenColumn("tokens", 0, encoder="words.json"), ["be or", "", "who"], words=tokenizer)
    assert rows == [tokenizer.encode("be or").tolist(), [], [tokenizer.unknown]]


@pytest.mark.parametrize(("size", "dtype"), [(2, "uint8"), (256, "uint8"), (257, "uint16")])
def test_an_array_is_as_small_as_its_vocabulary_allows(size: int, dtype: str) -> None:
    names = Vocabulary([str(i) for i in range(size)])
    column = AnswerColumn("labels", 1, encoder="names.json")
    assert column.open({"names.json": names}).dtype == dtype
    assert encode(column, [[str(size - 1)]], names=names) == [[size - 1]]


def test_answers_are_encoded_by_their_vocabulary() -> None:
    names = Vocabulary(["even", "odd"])
    values: list[Any] = [("odd",), ("even", "odd"), (), ["odd", "odd"]]
    assert encode(AnswerColumn("labels", 1, encoder="names.json"), values, names=names) == [[1], [0, 1], [], [1, 1]]


def test_an_unknown_answer_is_refused_with_its_location() -> None:
    names = Vocabulary([f"l{i}" for i in range(12)])
    known = ", ".join(f"l{i}" for i in range(10))
    for options, noun, example in (({}, "label", "example"), ({"noun": "tag", "example": "row"}, "tag", "row")):
        with pytest.raises(DataError) as error:
            encode(AnswerColumn("labels", 1, encoder="names.json", **options), [["l1"], ["l2", "new"]], names=names)
        message, advice = f"{noun} 'new' is not one of the run's ({known})", "train on examples of it"
        assert str(error.value) == f"a.tsv:2: {message}. Remove the {example}, or {advice}."


def test_a_tokenizer_reads_back_from_its_file() -> None:
    tokenizer = WORDS.learn(iter(["to be", "or not to be"]), {})
    again = WORDS.load(tokenizer.to_json(), "source.json")
    assert again.parameters == tokenizer.parameters
    assert again.to_json() == tokenizer.to_json()


def test_a_tokenizer_is_trained_with_the_options_of_the_config() -> None:
    learner = TokenizerLearner((0,), "word", vocabulary_size=100, min_count=2, lowercase=True, sample=12)
    tokens = learner.learn(["To be to Be", "later later"], {}).parameters.tokens
    assert {"to", "be"} <= set(tokens)
    assert "later" not in tokens  # the sample has only one of its letters


def test_answers_are_learned_in_alphabetical_order() -> None:
    learner = AnswerLearner((1,))
    names = learner.learn(iter(()), {"odd": Counter(train=1), "even": Counter(valid=2)})
    assert names.names == ("even", "odd")
    assert learner.load(names.to_json(), "labels.json").names == names.names


@pytest.mark.parametrize(
    ("learner", "error", "advice"),
    [(WORDS, DataError, "Train again, or copy the file again"), (AnswerLearner((1,)), RunError, "Restore the file")],
    ids=["tokenizer", "answers"],
)
@pytest.mark.parametrize("content", ["", "{", "[1]", '"text"', "null"])
def test_a_damaged_file_is_refused_by_its_name(
    learner: Learner[Any], error: type[UserError], advice: str, content: str
) -> None:
    with pytest.raises(error, match=rf"^kept\.json: .*\. {advice} [^\n]*\.$"):
        learner.load(content, "kept.json")


def test_an_example_is_split_by_its_content() -> None:
    columns, values = (TextColumn("texts", 0),), ("a text", ("two", "words"), 3)
    assert Schema(columns, {}).content_of(values) == "a text"
    assert Schema(columns, {}, content=1).content_of(values) == "two words"


def test_different_schemas_have_different_keys() -> None:
    """The key has the `repr` of the schema, which must have everything that determines the data."""
    columns = (TokenColumn("tokens", 0, 5, encoder="source.json"), TextColumn("texts", 1))
    schema = Schema(columns, {"source.json": WORDS})
    others = [
        Schema(columns[:1], schema.learners),
        Schema((TokenColumn("tokens", 0, 6, encoder="source.json"), columns[1]), schema.learners),
        Schema((TokenColumn("tokens", 0, 5, encoder="target.json"), columns[1]), schema.learners),
        Schema(columns, {"source.json": TokenizerLearner((0,), "word", 100, 2, False, 1000)}),
        Schema(columns, {"source.json": TokenizerLearner((0, 1), "word", 100, 1, False, 1000)}),
        Schema(columns, schema.learners, content=1),
        Schema(columns, schema.learners, answers=1),
    ]
    assert repr(schema) == repr(Schema(columns, {"source.json": WORDS}))
    assert len({repr(variant) for variant in (schema, *others)}) == 1 + len(others)
    assert " at 0x" not in repr(schema)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("value", "dtype"), [(2.7, "int64"), (10**30, "float32"), ("7", "float32")])
def test_a_number_that_does_not_fit_is_refused(value: object, dtype: str) -> None:
    with pytest.raises(DataError, match=rf"^a\.tsv:1: {value} is not a number that fits {dtype}\. Write another\.$"):
        NumberColumn("n", 0, dtype=dtype).open({}).encode([value], [Location("a.tsv", 1)])


@pytest.mark.usefixtures("unchecked")
def test_members_of_a_schema_are_dataclasses() -> None:
    assert Schema((TextColumn("texts", 0),), {}).content_of(["a text"]) == "a text"
    undecorated = type("Undecorated", (), {})()
    with pytest.raises(ArgumentError, match="Undecorated is a plain class; expected a frozen dataclass"):
        Schema((undecorated,), {})
