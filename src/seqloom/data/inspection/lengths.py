"""How long texts are: the middle, the tails, and what would be cut off."""

import re
from collections import Counter

from seqloom.data.examples import Place
from seqloom.data.inspection.gathered import Gathered, Tally, share
from seqloom.data.wording import counted

TOKEN = re.compile(r"\n|\w+(?:['’-]\w+)*|[^\w\s]")  # about what the word tokeniser tells apart
FAR = 20  # times the 99th percentile: so long that it may be a mistake
SHORT = 1000  # characters that are never far too long
MANY = 0.01  # of all texts that are cut: more is a warning


class Lengths:
    """Counts of lengths in one unit.

    >>> lengths = Lengths()
    >>> for n in (1, 2, 2, 3, 9):
    ...     lengths.add(n)
    >>> lengths.describe()
    'median 2, 95th percentile 9, 99th 9, longest 9'
    """

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()

    def add(self, length: int) -> None:
        """One more."""
        self.counts[length] += 1

    def quantile(self, q: float) -> int:
        """The least length that at least a share q does not exceed."""
        left = q * self.counts.total()
        for length in sorted(self.counts):
            left -= self.counts[length]
            if left <= 0:
                return length
        return max(self.counts, default=0)

    def describe(self) -> str:
        """One line."""
        middle, most, nearly, all_ = (self.quantile(q) for q in (0.5, 0.95, 0.99, 1.0))
        return f"median {middle:,}, 95th percentile {most:,}, 99th {nearly:,}, longest {all_:,}"


def tokens_of(text: str, tokeniser: str | None) -> int:
    """How many tokens a text has: exactly for characters and bytes, and about, for words.

    >>> tokens_of("It isn't.", "word"), tokens_of("né", "byte")
    (3, 3)
    """
    match tokeniser:
        case "character":
            return len(text)
        case "byte":
            return len(text.encode())
        case _:
            return sum(1 for _ in TOKEN.finditer(text))


class Cut:
    """Texts that have more tokens than data.max_length."""

    def __init__(self, most: int | None, tokeniser: str | None) -> None:
        self.most, self.tokeniser = most, tokeniser
        self.seen, self.tally = 0, Tally()

    def add(self, text: str, place: Place) -> None:
        """One more text; no token is shorter than a byte."""
        self.seen += 1
        if self.most is not None and 4 * len(text) > self.most and tokens_of(text, self.tokeniser) > self.most:
            self.tally.add(place)

    def add_words(self, words: int, place: Place) -> None:
        """One more sentence."""
        self.seen += 1
        if self.most is not None and words > self.most:
            self.tally.add(place)

    def tell(self, noun: str, found: Gathered) -> None:
        """A finding, if there are any."""
        many = self.tally.count > MANY * self.seen
        what = (
            f"{counted(self.tally.count, noun)} ({share(self.tally.count, self.seen)}) longer than {self.most} tokens"
        )
        do = "Pass a larger --data.max-length, or let their ends be cut off"
        found.add("warning" if many else "note", self.tally, what, do)


class Longest:
    """The longest text, and where it stands."""

    def __init__(self) -> None:
        self.characters, self.place = 0, ""

    def add(self, characters: int, place: Place) -> None:
        """One more."""
        if characters > self.characters:
            self.characters, self.place = characters, str(place)

    def tell(self, lengths: Lengths, noun: str, found: Gathered) -> None:
        """A finding, if it is far longer than others."""
        nearly = lengths.quantile(0.99)
        if self.characters > max(FAR * nearly, SHORT):
            what = f"a {noun} of {self.characters:,} characters, where 99% have at most {nearly:,}"
            found.add("warning", Tally(1, [self.place]), what, "Check whether a quote or a line's end is missing there")
