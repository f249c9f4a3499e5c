"""Brackets are balanced, all shapes are equally likely, and tags are depths."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.corpora import brackets

CLOSING = dict(brackets.PAIRS)


def depths_of(word: str) -> list[int]:
    """The depth of each bracket, by a stack; fails at a bracket that does not close the last open one."""
    stack: list[str] = []
    depths = []
    for bracket in word:
        if bracket in CLOSING:
            stack.append(CLOSING[bracket])
            depths.append(len(stack))
        else:
            depths.append(len(stack))
            assert stack.pop() == bracket
    assert stack == []
    return depths


@given(seed=st.integers(), pairs=st.integers(1, 60))
def test_words_are_balanced(seed: int, pairs: int) -> None:
    word = brackets.balanced(Random(seed), pairs)
    assert len(word) == 2 * pairs
    depths_of(word)


def test_lines_have_every_length() -> None:
    lines = list(brackets.text(1, 4, 300))
    assert {len(line) for line in lines} == {3, 5, 7, 9}
    for line in lines:
        depths_of(line.removesuffix("\n"))


def test_tags_are_depths() -> None:
    deepest = 0
    for (words, tags), _ in brackets.sentences(2, 40, 200):
        depths = depths_of("".join(words))
        assert tags == tuple(str(depth) if depth < 8 else "8+" for depth in depths)
        deepest = max(deepest, *depths)
    assert deepest > 8


def test_every_shape_and_kind_is_equally_likely() -> None:
    random = Random(0)
    words = [brackets.balanced(random, 3) for _ in range(5000)]
    shapes = Counter("".join("(" if bracket in CLOSING else ")" for bracket in word) for word in words)
    assert len(shapes) == 5  # the third Catalan number
    assert all(880 < count < 1120 for count in shapes.values())
    kinds = Counter(bracket for word in words for bracket in word)
    assert all(3500 < count < 4000 for count in kinds.values())
