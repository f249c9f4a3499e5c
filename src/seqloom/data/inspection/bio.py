"""Spans written as tags, B-X I-X O: where a tag can't follow the one before it."""

import re
from collections.abc import Iterable, Sequence

from seqloom.data.examples import Place
from seqloom.data.inspection.gathered import Gathered, Tally
from seqloom.data.wording import counted

TAG = re.compile(r"O|[BIESLUM]-.+")
INSIDE, OPEN = frozenset("IELM"), frozenset("BIM")


class Spans:
    """Tags that go on with a span which has not begun."""

    def __init__(self) -> None:
        self.astray, self.begun, self.needless = Tally(), 0, 0

    def add(self, tags: Sequence[str], place: Place) -> None:
        """The tags of a sentence, whose first word stands at the place."""
        self.begun += sum(tag[:2] == "B-" for tag in tags)
        wrong, needless = 0, 0
        for before, tag in zip(("O", *tags), tags, strict=False):
            wrong += goes_astray(before, tag)
            needless += tag[:2] == "B-" and before[2:] != tag[2:]
        self.needless += needless
        if wrong:
            self.astray.add(place, wrong)

    def tell(self, tags: Iterable[str], found: Gathered) -> None:
        """A note, if the tags are of this kind at all and if spans begin with B."""
        known = set(tags)
        if not all(TAG.fullmatch(tag) for tag in known) or known <= {"O"}:
            return
        if not self.begun or not self.needless:  # B only between neighbours, or not at all: the first form, IOB1
            what = "spans begin with I- (the form IOB1)"
            found.add("note", self.astray, what, "Nothing: spans are scored so; others may expect B- (IOB2)")
            return
        what = f"{counted(self.astray.count, 'tag')} I-X (or E-X) without a B-X or I-X before"
        found.add("note", self.astray, what, "Write B-X where a span begins; scored as they stand, they begin one too")


def goes_astray(before: str, tag: str) -> bool:
    """Whether a tag goes on with a span that the one before is not in.

    >>> goes_astray("O", "I-PER"), goes_astray("B-LOC", "I-PER"), goes_astray("B-PER", "I-PER")
    (True, True, False)
    """
    if tag[1:2] != "-" or tag[0] not in INSIDE:
        return False
    return before[:1] not in OPEN or before[1:] != tag[1:]
