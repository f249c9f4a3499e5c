"""Copies are copies."""

import pytest

from seqloom.data.corpora import copy


@pytest.mark.parametrize("length", [None, 1, 20])
def test_lines_say_it_twice(length: int | None) -> None:
    lines = list(copy.text(5, length, 400))
    sizes = set()
    for line in lines:
        before, after = line.removesuffix("\n").split(">")
        assert line.endswith("\n")
        assert before == after
        assert before.isalpha()
        sizes.add(len(before))
    assert sizes == set(range(1, (length or 8) + 1))


def test_a_blank_is_tagged_with_its_letter() -> None:
    for sentence in copy.sentences(5, 6, 100):
        size = sentence.words.index(">")
        letters = sentence.words[:size]
        assert sentence.words[size:] == (">", *"_" * size)
        assert sentence.tags == (*"-" * (size + 1), *letters)
        assert 1 <= size <= 6


def test_letters_are_translated_into_themselves() -> None:
    pairs = list(copy.pairs(5, 6, 300))
    assert all(pair.source == pair.target for pair in pairs)
    assert {len(pair.source.split()) for pair in pairs} == set(range(1, 7))
    assert all(len(letter) == 1 for pair in pairs for letter in pair.source.split(" "))
