"""Texts with their translations: rows of a table, or two text files, line by line."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from seqloom.data.examples import Pair, Place
from seqloom.data.files import Format, sides
from seqloom.data.lines import Bad, read_lines, refuse
from seqloom.data.readers.sides import TRANSLATION, empty_side, read_sides
from seqloom.data.wording import counted
from seqloom.spec.config.data import Data
from seqloom.spec.errors import DataError


def read_pairs(files: Sequence[tuple[Path, Format]], data: Data, bad: Bad = refuse) -> Iterator[Pair]:
    """The pairs of all files: first those of tables, then those of text files, two by two."""
    for path, form in files:
        if form != "text":
            for source, target, place in read_sides(path, form, data, bad):
                yield Pair(source, target, place)
    for one, other in sides([path for path, form in files if form == "text"]):
        yield from read_parallel(one, other, data.max_characters, bad)


def read_parallel(
    source: str | Path, target: str | Path, max_characters: int = 1_000_000, bad: Bad = refuse
) -> Iterator[Pair]:
    """Line n of one file with line n of the other, without white space at their ends; the place is the source's.

    Where both lines are blank they are passed over, as in a table; where one is, the pair goes to `bad`. A line that
    can't be read takes its partner with it. Files of different numbers of lines are refused at the first that is alone.

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "a.en").write_text("one\\ntwo\\n"), (folder / "a.fr").write_text("un\\ndeux\\n")
    >>> [(pair.source, pair.target) for pair in read_parallel(folder / "a.en", folder / "a.fr")]
    [('one', 'un'), ('two', 'deux')]
    """
    found = False
    with closing(Side(source, max_characters, bad)) as one, closing(Side(target, max_characters, bad)) as other:
        for number, left, right in together(one, other):
            if not (left or right):
                continue
            if not (left and right):
                bad(empty_side(TRANSLATION, left, right, Place(str(target if left else source), number)))
                continue
            found = True
            yield Pair(left, right, Place(str(source), number))
        check_ends(one, other)
    if not found:
        raise DataError(source, "there is no line that can be read", "Name two files with a sentence in each line")


class Side(Iterator[tuple[int, str]]):
    """The lines of a file, and how many there have been, with those that can't be read."""

    def __init__(self, path: str | Path, max_characters: int, bad: Bad) -> None:
        self.path, self.bad, self.lines = path, bad, 0
        self.read = read_lines(path, max_characters, self.hear)

    def hear(self, error: DataError) -> None:
        """A line that can't be read is a line."""
        self.lines += 1
        self.bad(error)

    def __next__(self) -> tuple[int, str]:
        self.lines, line = next(self.read)
        return self.lines, line.strip()

    def close(self) -> None:
        """Let go of the file, which whatever went wrong in the other would keep open."""
        self.read = iter(())


def together(one: Side, other: Side) -> Iterator[tuple[int, str, str]]:
    """The lines that both have, with their number; both are read to their end."""
    left, right = next(one, None), next(other, None)
    while left and right:
        if left[0] == right[0]:
            yield *left, right[1]
        ahead = left[0] - right[0]  # where a line of one could not be read, the other catches up
        left, right = left if ahead > 0 else next(one, None), right if ahead < 0 else next(other, None)
    for _ in one:
        pass
    for _ in other:
        pass


def check_ends(one: Side, other: Side) -> None:
    """A sentence if one goes on where the other has ended."""
    if one.lines != other.lines:
        short, long = sorted((one, other), key=lambda side: side.lines)
        what = (
            f"from here on {short.path} has no line to go with this one "
            f"({counted(short.lines, 'line')} there, {long.lines:,} here)"
        )
        do = "Find where they part: line n of one file must be the translation of line n of the other"
        raise DataError(Place(str(long.path), short.lines + 1), what, do)
