"""Edit distances equal the recursion that defines them."""

from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.tasks.metrics.edit_distance import character_error_rate, edit_distance, word_error_rate


def recursion(source: Sequence[str], target: Sequence[str]) -> int:
    @cache
    def distance(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return i + j
        change = distance(i - 1, j - 1) + (source[i - 1] != target[j - 1])
        return min(distance(i - 1, j) + 1, distance(i, j - 1) + 1, change)

    return distance(len(source), len(target))


@given(st.text("abc", max_size=9), st.text("abc", max_size=9))
def test_edit_distance_equals_its_recursive_definition(source: str, target: str) -> None:
    assert edit_distance(source, target) == recursion(source, target) == edit_distance(target, source)


def test_error_rates_are_computed_over_the_whole_corpus() -> None:
    answers, references = ["a b c", "x"], [["a c"], ["x y z", "x w"]]
    assert word_error_rate(answers, references) == pytest.approx((1 + 1) / (2 + 2))
    assert character_error_rate(["ab"], [["ac"]]) == 0.5
    assert word_error_rate(["a b"], [[""]]) == 2
    assert word_error_rate([""], [[""]]) == 0
