"""Numbers in words: every language works, no text is in two languages, lengths vary."""

from collections import Counter
from random import Random

import pytest
from num2words import num2words

from seqloom.core.config.data import FAMILIAR, LANGUAGES
from seqloom.core.problem import UserError
from seqloom.data.corpora import numbers


def test_every_language_spells_numbers_in_words() -> None:
    random = Random(0)
    sample = [*range(21), *(number for digits in range(2, 10) for number in random.sample(range(10**digits), 4))]
    for language in LANGUAGES:
        for number in sample:
            text = num2words(number, lang=language)
            assert text.strip()
            assert not any(map(str.isdigit, text))


def test_familiar_languages_are_a_subset_of_all() -> None:
    assert set(FAMILIAR) < set(LANGUAGES)
    assert len(FAMILIAR) == 12
    assert len(set(LANGUAGES)) == len(LANGUAGES) == 44


def test_no_text_is_repeated_or_in_two_languages() -> None:
    examples = [values for values, _ in numbers.labeled(0, None, 2400)]
    assert len(examples) == 2400
    assert len({text for text, _ in examples}) == 2400
    languages = Counter(language for _, (language,) in examples)
    assert set(languages) == set(FAMILIAR)
    assert all(150 < count < 250 for count in languages.values())


def test_texts_of_several_languages_are_left_out() -> None:
    texts = numbers.distinct_texts(range(100), FAMILIAR)
    assert "tre" not in texts  # da, it, sv
    assert "elf" not in texts  # de, nl
    assert "zero" not in texts  # en, it, pl, pt
    assert texts["eighty-four"] == "en"
    assert texts["fireogfirs"] == "da"


def test_labels_are_right() -> None:
    texts = {(language, num2words(number, lang=language)) for number in range(100) for language in ("de", "fr", "th")}
    examples = list(numbers.labeled(0, 2, 10_000, languages=("de", "fr", "th")))
    assert len(examples) == 300  # all that exist
    assert {(language, text) for (text, (language,)), _ in examples} == texts


def test_all_languages_can_be_used_at_once() -> None:
    examples = list(numbers.labeled(0, None, 4400, LANGUAGES))
    languages = Counter(language for (_, (language,)), _ in examples)
    assert len(examples) == 4400
    assert set(languages) == set(LANGUAGES)
    assert min(languages.values()) > 60


def test_a_pair_is_one_number_in_two_languages() -> None:
    pairs = list(numbers.pairs(0, 3, 500, "de", "es"))
    in_german = {num2words(number, lang="de"): number for number in range(1000)}
    assert len(pairs) == 500
    assert all(target == num2words(in_german[source], lang="es") for (source, target), _ in pairs)
    assert [location.line for _, location in pairs] == list(range(1, 501))


def test_default_pairs_have_all_short_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    english = numbers.in_words
    monkeypatch.setattr(numbers, "in_words", lambda number, language: english(number, "en") if language == "en" else "")
    pairs = list(numbers.pairs(1, None, None))
    assert len(pairs) == 10_000
    texts = Counter(source for (source, _), _ in pairs)
    assert sum(" thousand" in text for text in texts) > 8000
    for number in range(100):  # short numbers all occur, several times
        assert texts[num2words(number, lang="en")] > (10 if number < 10 else 0)
    assert max(texts[text] for text in texts if "hundred" in text) == 1


def test_two_digits_have_100_pairs() -> None:
    assert len({source for (source, _), _ in numbers.pairs(0, 2, None)}) == 100


@pytest.mark.parametrize("digits", [1, 4, 9])
def test_numbers_have_every_number_of_digits(digits: int) -> None:
    sample = numbers.sample_numbers(Random(0), digits, 900)
    assert len(set(sample)) == len(sample) == (10 if digits == 1 else 900)
    sizes = Counter(len(str(number)) for number in sample)
    assert set(sizes) == set(range(1, digits + 1))
    assert sizes[1] == 10
    if digits > 2:
        assert abs(sizes[digits] - sizes[digits - 1]) <= 1


def test_too_many_digits_or_examples_are_refused() -> None:
    with pytest.raises(UserError, match="at most 9 digits"):
        numbers.labeled(0, 10, None)
    with pytest.raises(UserError, match="at most 1000000"):
        numbers.labeled(0, None, 1_000_001)
    with pytest.raises(UserError, match="at most 9 digits"):
        numbers.pairs(0, 10, None)
