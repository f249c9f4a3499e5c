"""Parallel text: two files of which line n of one is the translation of line n of the other."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from seqloom.core.config.data import RowData
from seqloom.core.plurals import counted
from seqloom.core.problem import DataError
from seqloom.data.paths import without_gz
from seqloom.data.records import FILL_IN, Location
from seqloom.data.text_io import OnBadLine, raise_error, read_lines


def pair_up(texts: Sequence[Path]) -> list[tuple[Path, Path]]:
    """Text files in pairs, source and target.

    They come in pairs; or, of two endings, those with the first file's are the sources.

    >>> [f"{source} {target}" for source, target in pair_up([Path(name) for name in ("a.en", "b.en", "a.de", "b.de")])]
    ['a.en a.de', 'b.en b.de']
    """
    if len(texts) % 2:
        files = "one text file" if len(texts) == 1 else f"{len(texts)} text files"
        advice = "Name them in pairs, source and target (train.en train.de), or name a TSV file with both"
        raise DataError(texts[-1], f"{files}, and a translation needs two, line by line", advice, code="unpaired-text")
    endings = [without_gz(path).suffix for path in texts]
    first = [path for path, ending in zip(texts, endings, strict=True) if ending == endings[0]]
    if len(set(endings)) == 2 and 2 * len(first) == len(texts):
        return list(zip(first, (path for path in texts if path not in first), strict=True))
    return list(zip(texts[::2], texts[1::2], strict=True))


def read_parallel(
    paths: Sequence[Path], data: RowData, on_bad_line: OnBadLine = raise_error
) -> Iterator[tuple[Location, tuple[str, str]]]:
    """Line n of one file with line n of the other, without white space at their ends; the location is the source's.

    Where both lines are blank they are passed over, as in a table; where one is, the pair goes to `bad`. A line that
    can't be read takes its partner with it. Files of different numbers of lines are refused at the first that is alone.

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "a.en").write_text("one\\ntwo\\n"), (folder / "a.fr").write_text("un\\ndeux\\n")
    >>> [pair for _, pair in read_parallel([folder / "a.en", folder / "a.fr"], RowData())]
    [('one', 'un'), ('two', 'deux')]
    """
    source, target = paths
    most, found = data.max_characters, False
    with closing(Side(source, most, on_bad_line)) as one, closing(Side(target, most, on_bad_line)) as other:
        for number, left, right in together(one, other):
            if not (left or right):
                continue
            if not (left and right):
                location, which = (
                    (Location(str(target), number), "target") if left else (Location(str(source), number), "source")
                )
                on_bad_line(DataError(location, f"the {which} is empty", FILL_IN, code=f"empty-{which}"))
                continue
            found = True
            yield Location(str(source), number), (left, right)
        check_ends(one, other)
    if not found:
        advice = "Name two files with a sentence in each line"
        raise DataError(source, "there is no line that can be read", advice, code="no-pairs")


class Side(Iterator[tuple[int, str]]):
    """The lines of a file, and how many there have been, with those that can't be read."""

    def __init__(self, path: str | Path, max_characters: int, on_bad_line: OnBadLine) -> None:
        self.path, self.on_bad_line, self.lines = path, on_bad_line, 0
        self.read = read_lines(path, max_characters, self.hear)

    def hear(self, error: DataError) -> None:
        """A line that can't be read is a line."""
        self.lines += 1
        self.on_bad_line(error)

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
        message = (
            f"from here on {short.path} has no line to go with this one "
            f"({counted(short.lines, 'line')} there, {long.lines:,} here)"
        )
        advice = "Find where they part: line n of one file must be the translation of line n of the other"
        raise DataError(Location(str(long.path), short.lines + 1), message, advice, code="unequal-lengths")
