"""Brackets close in the order that they must, in every shape alike, and are as deep as tagged."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.corpora import brackets

CLOSING = dict(brackets.PAIRS)


def follow(word: str) -> list[int]:
    """The depth of each bracket, by a stack; fails where one closes what was not opened last."""
    waiting: list[str] = []
    depths = []
    for bracket in word:
        if bracket in CLOSING:
            waiting.append(CLOSING[bracket])
            depths.append(len(waiting))
        else:
            depths.append(len(waiting))
            assert waiting.pop() == bracket
    assert waiting == []
    return depths


@given(seed=st.integers(), pairs=st.integers(1, 60))
def test_words_are_balanced(seed: int, pairs: int) -> None:
    word = brackets.balanced(Random(seed), pairs)
    assert len(word) == 2 * pairs
    follow(word)


def test_lines_have_every_length() -> None:
    lines = list(brackets.text(1, 4, 300))
    assert {len(line) for line in lines} == {3, 5, 7, 9}
    for line in lines:
        follow(line.removesuffix("\n"))


def test_tags_are_depths() -> None:
    deepest = 0
    for (words, tags), _ in brackets.sentences(2, 40, 200):
        depths = follow("".join(words))
        assert tags == tuple(str(depth) if depth < 8 else "8+" for depth in depths)
        deepest = max(deepest, *depths)
    assert deepest > 8


def test_every_shape_and_kind_is_as_likely() -> None:
    random = Random(0)
    words = [brackets.balanced(random, 3) for _ in range(5000)]
    shapes = Counter("".join("(" if bracket in CLOSING else ")" for bracket in word) for word in words)
    assert len(shapes) == 5  # Catalan's third
    assert all(880 < count < 1120 for count in shapes.values())
    kinds = Counter(bracket for word in words for bracket in word)
    assert all(3500 < count < 4000 for count in kinds.values())
