"""The copy corpus repeats its letters, in the form of each task."""

import pytest

from seqloom.data.corpora import copy


@pytest.mark.parametrize("length", [None, 1, 20])
def test_lines_repeat_their_letters(length: int | None) -> None:
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
    for (words, tags), _ in copy.sentences(5, 6, 100):
        size = words.index(">")
        letters = words[:size]
        assert words[size:] == (">", *"_" * size)
        assert tags == (*"-" * (size + 1), *letters)
        assert 1 <= size <= 6


def test_the_target_equals_the_source() -> None:
    pairs = [pair for pair, _ in copy.pairs(5, 6, 300)]
    assert all(source == target for source, target in pairs)
    assert {len(source.split()) for source, _ in pairs} == set(range(1, 7))
    assert all(len(letter) == 1 for source, _ in pairs for letter in source.split(" "))
