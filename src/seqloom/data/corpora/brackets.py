"""Balanced brackets of four kinds, ( [ { <, nested at random (Dyck words): closing them correctly requires a memory of
the open ones. Language: one word per line. Tag: each bracket with its depth, 1 to 7 and then 8+, the same for both of a
pair, so that a model must count. The length is the greatest number of pairs (default: 12), the examples are lines
(20,000) or sentences (10,000).
"""

from collections.abc import Iterator
from itertools import accumulate
from random import Random

from seqloom.data.records import Location, Record

LENGTH, LINES, SENTENCES = 12, 20_000, 10_000
PAIRS = ("()", "[]", "{}", "<>")
OPENING = {pair[0] for pair in PAIRS}
MAX_DEPTH = 8


def text(seed: int, length: int | None, examples: int | None) -> Iterator[str]:
    """Balanced brackets, one word per line.

    >>> list(text(0, 5, 2))
    ['{}[][{}]\\n', '{()}\\n']
    """
    for word in random_words(seed, length or LENGTH, examples or LINES):
        yield word + "\n"


def sentences(seed: int, length: int | None, examples: int | None) -> Iterator[Record]:
    """Brackets, each tagged with its depth.

    >>> (words, tags), _ = next(sentences(0, 5, 1))
    >>> print(*words)
    { } [ ] [ { } ]
    >>> print(*tags)
    1 1 1 1 1 2 2 1
    """
    for number, word in enumerate(random_words(seed, length or LENGTH, examples or SENTENCES), start=1):
        yield Record((tuple(word), depths(word)), Location("brackets", number))


def depths(word: str) -> tuple[str, ...]:
    """The number of open brackets at each, itself included."""
    opens = [bracket in OPENING for bracket in word]
    after = accumulate(1 if is_open else -1 for is_open in opens)
    inside = [depth if is_open else depth + 1 for depth, is_open in zip(after, opens, strict=True)]
    return tuple(str(depth) if depth < MAX_DEPTH else f"{MAX_DEPTH}+" for depth in inside)


def random_words(seed: int, length: int, examples: int) -> Iterator[str]:
    """Balanced words; each number of pairs from 1 to `length` is equally likely."""
    random = Random(seed)
    for _ in range(examples):
        yield balanced(random, random.randint(1, length))


def balanced(random: Random, pairs: int) -> str:
    """A balanced word, uniform over all words of so many pairs.

    Of n steps up and n + 1 down in any order exactly one rotation stays at or above 0 until its last step (the cycle
    lemma, Dvoretzky and Motzkin 1947): it begins after the first time at the lowest point.
    """
    steps = [1] * pairs + [-1] * (pairs + 1)
    random.shuffle(steps)
    heights = list(accumulate(steps))
    turn = heights.index(min(heights)) + 1
    closing: list[str] = []
    word = ""
    for step in (steps[turn:] + steps[:turn])[:-1]:
        if step == 1:
            pair = random.choice(PAIRS)
            word += pair[0]
            closing.append(pair[1])
        else:
            word += closing.pop()
    return word
