"""Balanced brackets of four kinds, ( [ { <, nested at random (Dyck words): closing them rightly takes a memory of
what is open. Language: one word a line. Tag: each bracket with its depth, 1 to 7 and then 8+, the same for both of a
pair, so that a model must count. The length is the greatest number of pairs (12 unless said), the examples are lines
(20,000) or sentences (10,000).
"""

from collections.abc import Iterator
from itertools import accumulate
from random import Random

from seqloom.data.records import Location, Record

LENGTH, LINES, SENTENCES = 12, 20_000, 10_000
PAIRS = ("()", "[]", "{}", "<>")
DEEPEST = 8


def text(seed: int, length: int | None, examples: int | None) -> Iterator[str]:
    """Balanced brackets, one word a line.

    >>> list(text(0, 5, 2))
    ['{}[][{}]\\n', '{()}\\n']
    """
    for word in drawn(seed, length or LENGTH, examples or LINES):
        yield word + "\n"


def sentences(seed: int, length: int | None, examples: int | None) -> Iterator[Record]:
    """Brackets, each tagged with its depth.

    >>> (words, tags), _ = next(sentences(0, 5, 1))
    >>> print(*words)
    { } [ ] [ { } ]
    >>> print(*tags)
    1 1 1 1 1 2 2 1
    """
    for number, word in enumerate(drawn(seed, length or LENGTH, examples or SENTENCES), start=1):
        yield Record((tuple(word), depths(word)), Location("brackets", number))


def depths(word: str) -> tuple[str, ...]:
    """How many brackets are open at each, itself counted."""
    steps = [1 if opens(bracket) else -1 for bracket in word]
    inside = [after if step == 1 else after + 1 for after, step in zip(accumulate(steps), steps, strict=True)]
    return tuple(str(depth) if depth < DEEPEST else f"{DEEPEST}+" for depth in inside)


def opens(bracket: str) -> bool:
    """Whether it is an opening one."""
    return any(bracket == pair[0] for pair in PAIRS)


def drawn(seed: int, length: int, examples: int) -> Iterator[str]:
    """Balanced words; each number of pairs from 1 to `length` is as likely as any other."""
    random = Random(seed)
    for _ in range(examples):
        yield balanced(random, random.randint(1, length))


def balanced(random: Random, pairs: int) -> str:
    """One of all balanced words of so many pairs, each as likely as any other.

    Of n steps up and n + 1 down in any order exactly one rotation stays at or above 0 until its last step (the cycle
    lemma, Dvoretzky and Motzkin 1947): it begins after the first time at the lowest point.
    """
    steps = [1] * pairs + [-1] * (pairs + 1)
    random.shuffle(steps)
    heights = list(accumulate(steps))
    turn = heights.index(min(heights)) + 1
    waiting: list[str] = []
    word: list[str] = []
    for step in (steps[turn:] + steps[:turn])[:-1]:
        if step == 1:
            pair = random.choice(PAIRS)
            word.append(pair[0])
            waiting.append(pair[1])
        else:
            word.append(waiting.pop())
    return "".join(word)
