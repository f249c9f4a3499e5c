"""Words with tags made ready: nothing lost, vocabularies of the training part, letters of every word."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data import tagged as module
from seqloom.data.lines import refuse
from seqloom.data.origin import Origin
from seqloom.data.split import TEST, TRAIN, VALID, part_of
from seqloom.data.tagged import LONGEST, Spellings, TaggedData, TaggedPart, tagged, write
from seqloom.data.vocabulary import UNKNOWN, Vocabulary
from seqloom.spec.errors import DataError
from seqloom.tasks.registry import experiment

Words = list[tuple[str, str]]
SENTENCES: list[Words] = [[("The", "D"), (f"Dog{i}", "N"), ("barks", "V")][: i % 3 + 1] for i in range(150)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))


def saved(name: str, sentences: list[Words]) -> str:
    Path(name).write_text("\n".join("".join(f"{word} {tag}\n" for word, tag in each) for each in sentences))
    return name


def origin(**data: Any) -> Origin:
    return Origin.of(experiment({"task": "tag", "data": {"train": "a.conll", **data}}))


def made(sentences: list[Words], **data: Any) -> TaggedData:
    saved("a.conll", sentences)
    return tagged(origin(**data))


def told(data: TaggedData, part: TaggedPart) -> list[Words]:
    """The sentences of a part as they were."""
    return [
        list(zip(data.words(part.forms[row]), (data.tags[tag] for tag in part.tags[row]), strict=True))
        for row in range(len(part))
    ]


def kept_back(word: str) -> str:
    """A word that, as a sentence, the split keeps back from training."""
    return next(word for i in range(10_000) if part_of(word := f"{word}{i}", 1, 0.1, 0.0) == VALID)


def test_every_sentence_is_in_one_part_and_reads_as_it_did() -> None:
    data = made(SENTENCES, test_share=0.2)
    assert sorted(each for part in data.parts.values() for each in told(data, part)) == sorted(SENTENCES)
    assert set(data.parts) == {TRAIN, VALID, TEST}
    assert data.tags.names == ("D", "N", "V")
    assert (data.cut, data.skipped) == (0, 0)


def test_each_sentence_says_where_it_stood() -> None:
    data = made(SENTENCES)
    lines = Path("a.conll").read_text().splitlines()
    for part in data.parts.values():
        for row, sentence in enumerate(told(data, part)):
            assert lines[part.line[row] - 1] == " ".join(sentence[0])
            assert part.file[row] == 0


def test_a_duplicate_never_straddles() -> None:
    data = made([each for each in SENTENCES for _ in range(2)])
    parts = [{str(each) for each in told(data, part)} for part in data.parts.values()]
    assert set.intersection(*parts) == set()


def test_own_files_are_their_parts() -> None:
    saved("v.conll", SENTENCES[:20])
    saved("t.conll", SENTENCES[20:30])
    data = made(SENTENCES, valid="v.conll", test="t.conll")
    assert [told(data, data.parts[part]) for part in (TRAIN, VALID, TEST)] == [
        SENTENCES,
        SENTENCES[:20],
        SENTENCES[20:30],
    ]
    assert [set(data.parts[part].file.tolist()) for part in (TRAIN, VALID, TEST)] == [{0}, {1}, {2}]


def test_vocabularies_are_of_the_training_part_alone() -> None:
    word = kept_back("Ω")
    data = made([*SENTENCES, [(word, "N")]], min_count=1)
    assert [(word, "N")] in told(data, data.parts[VALID])
    assert word.lower() not in data.spellings.words
    assert "Ω" not in data.spellings.letters
    assert "barks" in data.spellings.words


def test_rare_words_are_unknown_and_words_are_made_small_but_not_their_letters() -> None:
    data = made(SENTENCES)  # min_count 2, lowercase
    assert data.spellings.words.names == (UNKNOWN, "the", "barks")
    assert {"T", "D", "o"} <= set(data.spellings.letters.names)
    assert "The" in made(SENTENCES, lowercase=False).spellings.words


def test_the_table_has_a_row_for_each_form() -> None:
    data = made(SENTENCES)
    forms = data.words(range(len(data.forms)))
    assert len(set(forms)) == len(forms) == len(data.table)
    assert data.table.tolist() == data.spellings.rows(forms).tolist()


@given(st.lists(st.text("abcXYZ", min_size=1, max_size=40), max_size=5), st.booleans())
def test_a_words_row_is_its_number_and_its_letters(words: list[str], lowercase: bool) -> None:
    letters = Vocabulary(["", UNKNOWN, *"abcXYZ"])
    spellings = Spellings(Vocabulary([UNKNOWN, "a", "abc"]), letters, lowercase)
    table = spellings.rows(words)
    assert table.shape == (len(words), 1 + LONGEST)
    for row, word in zip(table.tolist(), words, strict=True):
        assert row[0] == {"a": 1, "abc": 2}.get(word.lower() if lowercase else word, 0)
        spelt = "".join(letters[number] for number in row[1:])
        assert spelt == word if len(word) <= LONGEST else spelt == word[:12] + word[-12:]


def test_a_long_sentence_is_kept_whole() -> None:
    """Every word of it is scored; how much of it is learnt from is the task's to say."""
    data = made([*SENTENCES, [("The", "D")] * 9], max_length=4)
    assert max(part.forms.lengths().max() for part in data.parts.values()) == 9
    assert max(part.tags.lengths().max() for part in data.parts.values()) == 9


def test_one_tag_is_nothing_to_distinguish() -> None:
    with pytest.raises(DataError, match=r"^a\.conll: only one tag, 'X', so there is nothing to distinguish\."):
        made([[(word, "X") for word, _ in sentence] for sentence in SENTENCES])


def test_tags_that_are_all_kept_back_are_learnt_from_instead() -> None:
    word = kept_back("new")
    data = made([*SENTENCES, [(word, "NEW")], [(word, "N")]], min_count=1)
    assert [(word, "NEW")] in told(data, data.parts[TRAIN])
    assert [(word, "N")] in told(data, data.parts[TRAIN])  # its duplicate goes with it
    assert "NEW" in data.tags
    assert word in data.spellings.words
    assert sorted(each for part in data.parts.values() for each in told(data, part)) == sorted(
        [*SENTENCES, [(word, "NEW")], [(word, "N")]]
    )


@pytest.mark.parametrize("part", ["valid", "test"])
def test_a_tag_that_only_another_file_has_is_refused(part: str) -> None:
    saved("v.conll", [*SENTENCES[:1], [("word", "NEW")]])
    with pytest.raises(DataError, match=r"^v\.conll:3: tag 'NEW' is not in the training part\."):
        made(SENTENCES, **{part: "v.conll"})


def test_too_few_sentences_leave_a_part_empty() -> None:
    few = [each for each in SENTENCES if part_of(" ".join(word for word, _ in each), 1, 0.1, 0.0) == TRAIN][:5]
    with pytest.raises(DataError, match=r"^a\.conll: no example is left for the valid part"):
        made(few)


def test_bad_lines_are_counted_once() -> None:
    saved("a.conll", SENTENCES)
    with Path("a.conll").open("a") as file:
        file.write("\nalone\n")
    assert tagged(origin(on_bad_line="skip")).skipped == 1
    with pytest.raises(DataError, match=r"^a\.conll:\d+:"):
        tagged(origin())


def test_the_second_time_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = made(SENTENCES)
    monkeypatch.setattr(module, "make", None)  # not called
    Path("a.conll").rename("b.conll")
    again = tagged(origin(train="b.conll"))
    assert [told(again, part) for part in again.parts.values()] == [told(first, part) for part in first.parts.values()]
    with pytest.raises(TypeError):
        tagged(origin(train="b.conll", lowercase=False))


def test_a_tag_that_the_run_never_saw_has_a_place() -> None:
    data = made(SENTENCES)
    saved("t.conll", [*SENTENCES[:1], [("word", "NEW")]])
    test = Origin.to_test(experiment({"task": "tag"}), ["t.conll"])
    sentences = ((TEST, sentence) for sentence in test.sentences(TEST, refuse))
    with pytest.raises(DataError, match=r"^t\.conll:3: tag 'NEW' is not one of the run's \(D, N, V\)\."):
        write(test, Path("out"), data.spellings, data.tags, sentences)
