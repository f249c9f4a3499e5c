"""What is seen of plain text, part by part, block by block."""

from collections.abc import Iterator

from seqloom.data.examples import Place
from seqloom.data.inspection.characters import ANY, Odd
from seqloom.data.inspection.findings import Kind
from seqloom.data.inspection.gathered import Gathered, Tally, share
from seqloom.data.inspection.lengths import Lengths, tokens_of
from seqloom.data.inspection.places import Files
from seqloom.data.inspection.repeats import Contents
from seqloom.data.split import PARTS, TEST, TRAIN, VALID
from seqloom.data.streams import LEAST
from seqloom.data.wording import counted

LONG = 40  # characters: a shorter line may well stand in many places
VERY_LONG = 10_000  # characters of what is likely not one line
REPEATS, MANY = 0.01, 0.1  # of long lines: from here a note, from here a warning
OVERLAPS, LEAK = 0.01, 0.05  # of another part's long lines that training has too: from here a note, a warning
SHOWN = 12  # characters in a sentence


class Stretch:
    """One part: its size, and the characters that it has."""

    def __init__(self) -> None:
        self.characters = self.lines = self.wide = self.tokens = 0
        self.distinct: set[str] = set()
        self.new: dict[str, int] = {}  # characters that the training part lacks, and how often each is here
        self.places = Tally()


class Parts:
    """All parts."""

    def __init__(self, tokeniser: str | None) -> None:
        self.tokeniser = tokeniser
        self.stretches = {part: Stretch() for part in PARTS}
        self.lengths, self.odd, self.very_long = Lengths(), Odd(), Tally()
        self.contents = Contents(Files())
        self.open, self.begun = 0, Place("", 1)  # characters of a line that goes on in the next block, and its place

    def add(self, part: str, name: str, line: int, text: str) -> None:
        """The next block."""
        stretch = self.stretches[part]
        stretch.characters += len(text)
        stretch.lines += text.count("\n")
        stretch.wide += 0 if text.isascii() else len(text) - len(text.encode("ascii", "ignore"))
        if stretch.tokens < LEAST:
            stretch.tokens += tokens_of(text, self.tokeniser)
        stretch.distinct.update(text)
        if part != TRAIN:
            self._look_for_new(stretch, name, line, text)
        plain = text.isascii() and not ANY.search(text)
        for place, content in self._lines(name, line, text):
            if not plain:
                self.odd.add(content, place)
            if len(content) >= LONG and len(content := content.strip()) >= LONG:
                self.contents.add(content, part, (), place)

    def _lines(self, name: str, first: int, text: str) -> Iterator[tuple[Place, str]]:
        """Each line, or piece of one, with its place; a line's length is counted where it ends."""
        if self.open and name != self.begun.file:
            self._end()
        *whole, rest = text.split("\n")
        for number, content in enumerate(whole, first):
            place = Place(name, number)
            self._go_on(len(content), place)
            self._end()
            yield place, content
        if rest:
            place = Place(name, first + len(whole))
            self._go_on(len(rest), place)
            yield place, rest

    def _go_on(self, characters: int, place: Place) -> None:
        if not self.open:
            self.begun = place
        self.open += characters

    def _end(self) -> None:
        self.lengths.add(self.open)
        if self.open > VERY_LONG:
            self.very_long.add(self.begun)
        self.open = 0

    def _look_for_new(self, stretch: Stretch, name: str, line: int, text: str) -> None:
        for character in sorted(set(text) - self.stretches[TRAIN].distinct):
            if character not in stretch.new:
                stretch.places.add(Place(name, line + text.count("\n", 0, text.index(character))))
            stretch.new[character] = stretch.new.get(character, 0) + text.count(character)

    def tell(self, found: Gathered) -> None:
        """Findings."""
        if self.open:
            self._end()
        self._tell_repeats(found)
        for part in (VALID, TEST):
            stretch = self.stretches[part]
            new = sorted(stretch.new, key=lambda character: -stretch.new[character])
            shown = " ".join(map(shown_as, new[:SHOWN])) + (" …" if len(new) > SHOWN else "")
            what = f"{counted(len(new), 'character')} of {part} never in train: {shown}"
            found.add("note", stretch.places, what, "Nothing; a character model reads them as unknown")
        what = f"{counted(self.very_long.count, 'line')} of more than {VERY_LONG:,} characters"
        found.add("note", self.very_long, what, "Nothing to do, if it is meant; check whether line ends are missing")
        self.odd.tell("line", found)

    def _tell_repeats(self, found: Gathered) -> None:
        repeated, sizes = self.contents.repeated(), self.contents.sizes
        for part in PARTS:
            again, size = repeated.within(part), sizes[part]
            if again.count >= max(REPEATS * size, 2):
                what = f"{share(again.count, size)} of the long lines of {part} ({again.count:,}) repeat an earlier one"
                kind: Kind = "warning" if again.count >= MANY * size else "note"
                found.add(kind, again, what, "Remove them if they came by copying (headers, footers, the same page)")
        for part in (VALID, TEST):
            both, size = repeated.shared(part, TRAIN), sizes[part]
            if both.count >= max(OVERLAPS * size, 1):
                what = f"{share(both.count, size)} of the long lines of {part} ({both.count:,}) are in train too"
                do = f"Remove them from one of the two, or scores on {part} will be too good"
                found.add("warning" if both.count >= LEAK * size else "note", both, what, do)


def shown_as(character: str) -> str:
    """A character for a sentence, by its number if it can't be seen.

    >>> shown_as("é"), shown_as("\\u200b")
    ('é', 'U+200B')
    """
    return character if character.isprintable() and not character.isspace() else f"U+{ord(character):04X}"
