"""Prepared words with tags: every row is kept; vocabularies of the training split; letters of every word."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.problem import DataError, RunError
from seqloom.data import prepare as module
from seqloom.data.prepare import Dataset, Split, prepare, prepare_test
from seqloom.data.source import DataSource
from seqloom.data.split import TEST, TRAIN, VALID, split_by_content
from seqloom.data.vocabulary import UNKNOWN, Vocabulary
from seqloom.tasks.registry import experiment
from seqloom.tasks.tag.config import DATA_SPEC
from seqloom.tasks.tag.data import (
    FORMS,
    LETTERS_FILE,
    LONGEST,
    TAGS_FILE,
    WORDS_FILE,
    Forms,
    LetterLearner,
    Spellings,
    WordLearner,
    schema,
)

Words = list[tuple[str, str]]
SENTENCES: list[Words] = [[("The", "D"), (f"Dog{i}", "N"), ("barks", "V")][: i % 3 + 1] for i in range(150)]


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))


def write_conll(name: str, sentences: list[Words]) -> str:
    Path(name).write_text("\n".join("".join(f"{word} {tag}\n" for word, tag in sentence) for sentence in sentences))
    return name


def source(**data: Any) -> DataSource:
    config = experiment({"task": "tag", "data": {"train": "a.conll", **data}})
    return DataSource.resolve(config.data, DATA_SPEC).hashed()


def prepare_data(**data: Any) -> Dataset:
    data_source = source(**data)
    return prepare(data_source, schema(data_source.data))


def dataset_of(sentences: list[Words], **data: Any) -> Dataset:
    write_conll("a.conll", sentences)
    return prepare_data(**data)


def words(data: Dataset) -> Vocabulary:
    vocabulary: Vocabulary = data.encoders[WORDS_FILE]
    return vocabulary


def letters(data: Dataset) -> Vocabulary:
    vocabulary: Vocabulary = data.encoders[LETTERS_FILE]
    return vocabulary


def tags(data: Dataset) -> Vocabulary:
    vocabulary: Vocabulary = data.encoders[TAGS_FILE]
    return vocabulary


def decoded_sentences(data: Dataset, split: Split) -> list[Words]:
    """The sentences of a split, as in the file."""
    forms = Forms(data.folder)
    return [
        list(zip(forms.words(split[FORMS][row]), (tags(data)[tag] for tag in split["tags"][row]), strict=True))
        for row in range(len(split))
    ]


def validation_word(word: str) -> str:
    """A word that, as a sentence, the split assigns to validation."""
    return next(word for i in range(10_000) if split_by_content(word := f"{word}{i}", 1, 0.1, 0.0) == VALID)


def test_every_sentence_is_in_one_split_and_decodes() -> None:
    data = dataset_of(SENTENCES, test_share=0.2)
    assert sorted(sentence for split in data.splits.values() for sentence in decoded_sentences(data, split)) == sorted(
        SENTENCES
    )
    assert set(data.splits) == {TRAIN, VALID, TEST}
    assert tags(data).names == ("D", "N", "V")
    assert (data.cut, data.skipped) == (0, 0)


def test_each_sentence_has_its_file_and_line() -> None:
    data = dataset_of(SENTENCES)
    lines = Path("a.conll").read_text().splitlines()
    for split in data.splits.values():
        for row, sentence in enumerate(decoded_sentences(data, split)):
            assert lines[split.line[row] - 1] == " ".join(sentence[0])
            assert split.file[row] == 0


def test_duplicates_are_in_the_same_split() -> None:
    data = dataset_of([sentence for sentence in SENTENCES for _ in range(2)])
    split_sentences = [{str(sentence) for sentence in decoded_sentences(data, split)} for split in data.splits.values()]
    assert set.intersection(*split_sentences) == set()


def test_own_files_are_their_splits() -> None:
    write_conll("v.conll", SENTENCES[:20])
    write_conll("t.conll", SENTENCES[20:30])
    data = dataset_of(SENTENCES, valid="v.conll", test="t.conll")
    assert [decoded_sentences(data, data.splits[split]) for split in (TRAIN, VALID, TEST)] == [
        SENTENCES,
        SENTENCES[:20],
        SENTENCES[20:30],
    ]
    assert [set(data.splits[split].file.tolist()) for split in (TRAIN, VALID, TEST)] == [{0}, {1}, {2}]


def test_vocabularies_are_those_of_the_training_split_alone() -> None:
    word = validation_word("Ω")
    data = dataset_of([*SENTENCES, [(word, "N")]], min_count=1)
    assert [(word, "N")] in decoded_sentences(data, data.splits[VALID])
    assert word.lower() not in words(data)
    assert "Ω" not in letters(data)
    assert "barks" in words(data)


def test_rare_words_are_unknown_and_words_are_lowercased_but_their_letters_are_not() -> None:
    data = dataset_of(SENTENCES)  # min_count 2, lowercase
    assert words(data).names == (UNKNOWN, "the", "barks")
    assert {"T", "D", "o"} <= set(letters(data).names)
    assert "The" in words(dataset_of(SENTENCES, lowercase=False))


@pytest.mark.parametrize("lowercase", [True, False])
def test_the_table_has_a_row_for_each_word_form(lowercase: bool) -> None:
    data = dataset_of(SENTENCES, lowercase=lowercase)
    table = Forms(data.folder)
    forms = table.words(range(len(table.table)))
    assert len(set(forms)) == len(forms) == len(table.table)
    assert set(forms) == {word for sentence in SENTENCES for word, _ in sentence}
    assert table.table.tolist() == Spellings(words(data), letters(data), lowercase).rows(forms).tolist()


@given(st.lists(st.text("abcXYZ", min_size=1, max_size=40), max_size=5), st.booleans())
def test_the_row_of_a_word_is_its_index_and_its_letters(words_: list[str], lowercase: bool) -> None:
    known = Vocabulary(["", UNKNOWN, *"abcXYZ"])
    spellings = Spellings(Vocabulary([UNKNOWN, "a", "abc"]), known, lowercase)
    table = spellings.rows(words_)
    assert table.shape == (len(words_), 1 + LONGEST)
    for row, word in zip(table.tolist(), words_, strict=True):
        assert row[0] == {"a": 1, "abc": 2}.get(word.lower() if lowercase else word, 0)
        spelt = "".join(known[number] for number in row[1:])
        assert spelt == word if len(word) <= LONGEST else spelt == word[:12] + word[-12:]


def test_a_long_sentence_is_not_truncated() -> None:
    """Every word is scored; the task truncates it for training."""
    data = dataset_of([*SENTENCES, [("The", "D")] * 9], max_length=4)
    assert max(split["forms"].lengths().max() for split in data.splits.values()) == 9
    assert max(split["tags"].lengths().max() for split in data.splits.values()) == 9


def test_a_single_tag_is_refused() -> None:
    with pytest.raises(DataError, match=r"^a\.conll: only one tag, 'X', so there is nothing to distinguish\."):
        dataset_of([[(word, "X") for word, _ in sentence] for sentence in SENTENCES])


def test_tags_missing_from_train_are_moved_there() -> None:
    word = validation_word("new")
    data = dataset_of([*SENTENCES, [(word, "NEW")], [(word, "N")]], min_count=1)
    assert [(word, "NEW")] in decoded_sentences(data, data.splits[TRAIN])
    assert [(word, "N")] in decoded_sentences(data, data.splits[TRAIN])  # its duplicate moves with it
    assert "NEW" in tags(data)
    assert word in words(data)
    assert sorted(sentence for split in data.splits.values() for sentence in decoded_sentences(data, split)) == sorted(
        [*SENTENCES, [(word, "NEW")], [(word, "N")]]
    )


@pytest.mark.parametrize("split", ["valid", "test"])
def test_a_tag_that_only_another_file_has_is_refused(split: str) -> None:
    write_conll("v.conll", [*SENTENCES[:1], [("word", "NEW")]])
    with pytest.raises(DataError, match=r"^v\.conll:3: tag 'NEW' is not in the training split\."):
        dataset_of(SENTENCES, **{split: "v.conll"})


def test_too_few_sentences_leave_a_split_empty() -> None:
    few = [
        sentence
        for sentence in SENTENCES
        if split_by_content(" ".join(word for word, _ in sentence), 1, 0.1, 0.0) == TRAIN
    ][:5]
    with pytest.raises(DataError, match=r"^a\.conll: no example is left for the valid split"):
        dataset_of(few)


def test_bad_lines_are_counted_once() -> None:
    write_conll("a.conll", SENTENCES)
    with Path("a.conll").open("a") as file:
        file.write("\nalone\n")
    assert prepare_data(on_bad_line="skip").skipped == 1
    with pytest.raises(DataError, match=r"^a\.conll:\d+:"):
        prepare_data()


def test_the_second_preparation_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = dataset_of(SENTENCES)
    monkeypatch.setattr(module, "write_dataset", None)  # not called
    Path("a.conll").rename("b.conll")
    cached = prepare_data(train="b.conll")
    assert [decoded_sentences(cached, split) for split in cached.splits.values()] == [
        decoded_sentences(first, split) for split in first.splits.values()
    ]
    with pytest.raises(TypeError):
        prepare_data(train="b.conll", lowercase=False)


def test_a_tag_unknown_to_the_run_is_refused_with_its_location() -> None:
    data = dataset_of(SENTENCES)
    write_conll("t.conll", [*SENTENCES[:1], [("word", "NEW")]])
    test = DataSource.for_testing(experiment({"task": "tag"}).data, DATA_SPEC, ["t.conll"])
    with pytest.raises(DataError) as error:
        prepare_test(test, schema(test.data), data.encoders, Path("out"))
    message, advice = "tag 'NEW' is not one of the run's (D, N, V)", "Remove the sentence, or train on examples of it"
    assert str(error.value) == f"t.conll:3: {message}. {advice}."


def test_a_test_file_is_encoded_with_the_vocabularies_of_the_run() -> None:
    data = dataset_of(SENTENCES)
    write_conll("t.conll", [*SENTENCES[:2], [("Ωmega", "N")]])
    test = DataSource.for_testing(experiment({"task": "tag"}).data, DATA_SPEC, ["t.conll"])
    encoded = prepare_test(test, schema(test.data), data.encoders, Path("out"))
    assert list(encoded.splits) == [TEST]
    assert decoded_sentences(encoded, encoded.splits[TEST]) == [*SENTENCES[:2], [("Ωmega", "N")]]
    (index,) = encoded.splits[TEST][FORMS][2]
    row = Forms(encoded.folder).table[index].tolist()
    assert row[0] == words(data).unknown == 0
    assert row[1] == letters(data).unknown == 1


@pytest.mark.parametrize(
    ("learner", "file"), [(WordLearner((0,), True, 1, None), WORDS_FILE), (LetterLearner((0,)), LETTERS_FILE)]
)
def test_a_vocabulary_without_an_unknown_token_is_damaged(learner: WordLearner | LetterLearner, file: str) -> None:
    learned = learner.learn([("The", "dog"), ("dogs",)], {})
    assert learner.load(learned.to_json(), file).names == learned.names
    with pytest.raises(RunError) as error:
        learner.load(Vocabulary(["the", "dog"]).to_json(), file)
    message = "it has no token for unknown words"
    assert str(error.value) == f"{file}: {message}. Restore the file from a copy."
