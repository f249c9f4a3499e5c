"""Random letters to remember and repeat: the copy memory task (Hochreiter and Schmidhuber 1997).
Language: lines such as `kqz>kqz`, of which the second half is predictable. Tag: the letters, a mark, and a blank for
each letter, to be tagged with it. Translate: the letters, such as `k q z`, into themselves. The length is the greatest
number of letters (default: 8), the examples are lines (20,000), sentences or pairs (10,000).
"""

from collections.abc import Iterator
from random import Random
from string import ascii_lowercase

from seqloom.data.records import Location, Record

LENGTH, LINES, SENTENCES, PAIRS = 8, 20_000, 10_000, 10_000
MARK, BLANK, NOTHING = ">", "_", "-"


def text(seed: int, length: int | None, examples: int | None) -> Iterator[str]:
    """Lines of letters, the mark, and the same letters.

    >>> list(text(0, 5, 2))
    ['tkgn>tkgn\\n', 'xvzj>xvzj\\n']
    """
    for letters in random_letters(seed, length or LENGTH, examples or LINES):
        yield f"{letters}{MARK}{letters}\n"


def sentences(seed: int, length: int | None, examples: int | None) -> Iterator[Record]:
    """Letters, the mark and blanks; the tag of a blank is the letter that belongs there.

    >>> (words, tags), _ = next(sentences(0, 5, 1))
    >>> print(*words)
    t k g n > _ _ _ _
    >>> print(*tags)
    - - - - - t k g n
    """
    for number, letters in enumerate(random_letters(seed, length or LENGTH, examples or SENTENCES), start=1):
        size = len(letters)
        words, tags = (*letters, MARK, *[BLANK] * size), (*[NOTHING] * (size + 1), *letters)
        yield Record((words, tags), Location("copy", number))


def pairs(seed: int, length: int | None, examples: int | None) -> Iterator[Record]:
    """Letters with spaces between them, the same on both sides.

    >>> next(pairs(0, 5, 1))
    Record(values=('t k g n', 't k g n'), location=Location(file='copy', line=1))
    """
    for number, letters in enumerate(random_letters(seed, length or LENGTH, examples or PAIRS), start=1):
        spaced = " ".join(letters)
        yield Record((spaced, spaced), Location("copy", number))


def random_letters(seed: int, length: int, examples: int) -> Iterator[str]:
    """Random letters; each number of them from 1 to `length` is equally likely."""
    random = Random(seed)
    for _ in range(examples):
        yield "".join(random.choices(ascii_lowercase, k=random.randint(1, length)))
