"""Words with tags made ready: nothing lost, vocabularies of the training part, letters of every word."""

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
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))


def saved(name: str, sentences: list[Words]) -> str:
    Path(name).write_text("\n".join("".join(f"{word} {tag}\n" for word, tag in each) for each in sentences))
    return name


def source(**data: Any) -> DataSource:
    chosen = experiment({"task": "tag", "data": {"train": "a.conll", **data}})
    return DataSource.resolve(chosen.data, DATA_SPEC).hashed()


def prepared(**data: Any) -> Dataset:
    found = source(**data)
    return prepare(found, schema(found.data))


def made(sentences: list[Words], **data: Any) -> Dataset:
    saved("a.conll", sentences)
    return prepared(**data)


def words(data: Dataset) -> Vocabulary:
    found: Vocabulary = data.encoders[WORDS_FILE]
    return found


def letters(data: Dataset) -> Vocabulary:
    found: Vocabulary = data.encoders[LETTERS_FILE]
    return found


def tags(data: Dataset) -> Vocabulary:
    found: Vocabulary = data.encoders[TAGS_FILE]
    return found


def told(data: Dataset, part: Split) -> list[Words]:
    """The sentences of a split as they were."""
    forms = Forms(data.folder)
    return [
        list(zip(forms.words(part[FORMS][row]), (tags(data)[tag] for tag in part["tags"][row]), strict=True))
        for row in range(len(part))
    ]


def kept_back(word: str) -> str:
    """A word that, as a sentence, the split keeps back from training."""
    return next(word for i in range(10_000) if split_by_content(word := f"{word}{i}", 1, 0.1, 0.0) == VALID)


def test_every_sentence_is_in_one_part_and_reads_as_it_did() -> None:
    data = made(SENTENCES, test_share=0.2)
    assert sorted(each for part in data.splits.values() for each in told(data, part)) == sorted(SENTENCES)
    assert set(data.splits) == {TRAIN, VALID, TEST}
    assert tags(data).names == ("D", "N", "V")
    assert (data.cut, data.skipped) == (0, 0)


def test_each_sentence_says_where_it_stood() -> None:
    data = made(SENTENCES)
    lines = Path("a.conll").read_text().splitlines()
    for part in data.splits.values():
        for row, sentence in enumerate(told(data, part)):
            assert lines[part.line[row] - 1] == " ".join(sentence[0])
            assert part.file[row] == 0


def test_a_duplicate_never_straddles() -> None:
    data = made([each for each in SENTENCES for _ in range(2)])
    parts = [{str(each) for each in told(data, part)} for part in data.splits.values()]
    assert set.intersection(*parts) == set()


def test_own_files_are_their_parts() -> None:
    saved("v.conll", SENTENCES[:20])
    saved("t.conll", SENTENCES[20:30])
    data = made(SENTENCES, valid="v.conll", test="t.conll")
    assert [told(data, data.splits[part]) for part in (TRAIN, VALID, TEST)] == [
        SENTENCES,
        SENTENCES[:20],
        SENTENCES[20:30],
    ]
    assert [set(data.splits[part].file.tolist()) for part in (TRAIN, VALID, TEST)] == [{0}, {1}, {2}]


def test_vocabularies_are_of_the_training_part_alone() -> None:
    word = kept_back("Ω")
    data = made([*SENTENCES, [(word, "N")]], min_count=1)
    assert [(word, "N")] in told(data, data.splits[VALID])
    assert word.lower() not in words(data)
    assert "Ω" not in letters(data)
    assert "barks" in words(data)


def test_rare_words_are_unknown_and_words_are_made_small_but_not_their_letters() -> None:
    data = made(SENTENCES)  # min_count 2, lowercase
    assert words(data).names == (UNKNOWN, "the", "barks")
    assert {"T", "D", "o"} <= set(letters(data).names)
    assert "The" in words(made(SENTENCES, lowercase=False))


@pytest.mark.parametrize("lowercase", [True, False])
def test_the_table_has_a_row_for_each_form(lowercase: bool) -> None:
    data = made(SENTENCES, lowercase=lowercase)
    table = Forms(data.folder)
    forms = table.words(range(len(table.table)))
    assert len(set(forms)) == len(forms) == len(table.table)
    assert set(forms) == {word for sentence in SENTENCES for word, _ in sentence}
    assert table.table.tolist() == Spellings(words(data), letters(data), lowercase).rows(forms).tolist()


@given(st.lists(st.text("abcXYZ", min_size=1, max_size=40), max_size=5), st.booleans())
def test_a_words_row_is_its_number_and_its_letters(some: list[str], lowercase: bool) -> None:
    known = Vocabulary(["", UNKNOWN, *"abcXYZ"])
    spellings = Spellings(Vocabulary([UNKNOWN, "a", "abc"]), known, lowercase)
    table = spellings.rows(some)
    assert table.shape == (len(some), 1 + LONGEST)
    for row, word in zip(table.tolist(), some, strict=True):
        assert row[0] == {"a": 1, "abc": 2}.get(word.lower() if lowercase else word, 0)
        spelt = "".join(known[number] for number in row[1:])
        assert spelt == word if len(word) <= LONGEST else spelt == word[:12] + word[-12:]


def test_a_long_sentence_is_kept_whole() -> None:
    """Every word of it is scored; how much of it is learnt from is the task's to say."""
    data = made([*SENTENCES, [("The", "D")] * 9], max_length=4)
    assert max(part["forms"].lengths().max() for part in data.splits.values()) == 9
    assert max(part["tags"].lengths().max() for part in data.splits.values()) == 9


def test_one_tag_is_nothing_to_distinguish() -> None:
    with pytest.raises(DataError, match=r"^a\.conll: only one tag, 'X', so there is nothing to distinguish\."):
        made([[(word, "X") for word, _ in sentence] for sentence in SENTENCES])


def test_tags_that_are_all_kept_back_are_learnt_from_instead() -> None:
    word = kept_back("new")
    data = made([*SENTENCES, [(word, "NEW")], [(word, "N")]], min_count=1)
    assert [(word, "NEW")] in told(data, data.splits[TRAIN])
    assert [(word, "N")] in told(data, data.splits[TRAIN])  # its duplicate goes with it
    assert "NEW" in tags(data)
    assert word in words(data)
    assert sorted(each for part in data.splits.values() for each in told(data, part)) == sorted(
        [*SENTENCES, [(word, "NEW")], [(word, "N")]]
    )


@pytest.mark.parametrize("part", ["valid", "test"])
def test_a_tag_that_only_another_file_has_is_refused(part: str) -> None:
    saved("v.conll", [*SENTENCES[:1], [("word", "NEW")]])
    with pytest.raises(DataError, match=r"^v\.conll:3: tag 'NEW' is not in the training split\."):
        made(SENTENCES, **{part: "v.conll"})


def test_too_few_sentences_leave_a_part_empty() -> None:
    few = [each for each in SENTENCES if split_by_content(" ".join(word for word, _ in each), 1, 0.1, 0.0) == TRAIN][:5]
    with pytest.raises(DataError, match=r"^a\.conll: no example is left for the valid split"):
        made(few)


def test_bad_lines_are_counted_once() -> None:
    saved("a.conll", SENTENCES)
    with Path("a.conll").open("a") as file:
        file.write("\nalone\n")
    assert prepared(on_bad_line="skip").skipped == 1
    with pytest.raises(DataError, match=r"^a\.conll:\d+:"):
        prepared()


def test_the_second_time_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = made(SENTENCES)
    monkeypatch.setattr(module, "write_dataset", None)  # not called
    Path("a.conll").rename("b.conll")
    again = prepared(train="b.conll")
    assert [told(again, part) for part in again.splits.values()] == [
        told(first, part) for part in first.splits.values()
    ]
    with pytest.raises(TypeError):
        prepared(train="b.conll", lowercase=False)


def test_a_tag_that_the_run_never_saw_has_a_place() -> None:
    data = made(SENTENCES)
    saved("t.conll", [*SENTENCES[:1], [("word", "NEW")]])
    test = DataSource.for_testing(experiment({"task": "tag"}).data, DATA_SPEC, ["t.conll"])
    with pytest.raises(DataError) as error:
        prepare_test(test, schema(test.data), data.encoders, Path("out"))
    what, do = "tag 'NEW' is not one of the run's (D, N, V)", "Remove the sentence, or train on examples of it"
    assert str(error.value) == f"t.conll:3: {what}. {do}."


def test_a_file_to_test_on_is_told_in_the_runs_words() -> None:
    data = made(SENTENCES)
    saved("t.conll", [*SENTENCES[:2], [("Ωmega", "N")]])
    test = DataSource.for_testing(experiment({"task": "tag"}).data, DATA_SPEC, ["t.conll"])
    read = prepare_test(test, schema(test.data), data.encoders, Path("out"))
    assert list(read.splits) == [TEST]
    assert told(read, read.splits[TEST]) == [*SENTENCES[:2], [("Ωmega", "N")]]
    (number,) = read.splits[TEST][FORMS][2]
    row = Forms(read.folder).table[number].tolist()
    assert row[0] == words(data).unknown == 0
    assert row[1] == letters(data).unknown == 1


@pytest.mark.parametrize(
    ("learner", "file"), [(WordLearner((0,), True, 1, None), WORDS_FILE), (LetterLearner((0,)), LETTERS_FILE)]
)
def test_a_vocabulary_without_what_is_unknown_is_damaged(learner: WordLearner | LetterLearner, file: str) -> None:
    learned = learner.learn([("The", "dog"), ("dogs",)], {})
    assert learner.load(learned.to_json(), file).names == learned.names
    with pytest.raises(RunError) as error:
        learner.load(Vocabulary(["the", "dog"]).to_json(), file)
    what = "it has no token for unknown words"
    assert str(error.value) == f"{file}: {what}. Restore the file from a copy."
