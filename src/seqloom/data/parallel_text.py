"""Parallel text: two files, in which line n of one is the translation of line n of the other."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from seqloom.core.config.data import RowData
from seqloom.core.problem import DataError
from seqloom.core.wording import counted
from seqloom.data.paths import without_gz
from seqloom.data.records import FILL_IN, Location
from seqloom.data.text_io import OnBadLine, raise_error, read_lines


def pair_files(paths: Sequence[Path]) -> list[tuple[Path, Path]]:
    """Pair text files as source and target.

    Each source is followed by its target; or, if the files have two suffixes (.en, .de), each in one half of them, all
    files with the suffix of the first file are sources.

    >>> pairs = pair_files([Path(name) for name in ("a.en", "b.en", "a.de", "b.de")])
    >>> [f"{source} {target}" for source, target in pairs]
    ['a.en a.de', 'b.en b.de']
    """
    if len(paths) % 2:
        files = "one text file" if len(paths) == 1 else f"{len(paths)} text files"
        advice = "Name them in pairs, source and target (train.en train.de), or name a TSV file with both"
        raise DataError(paths[-1], f"{files}, and a translation needs two, line by line", advice, code="unpaired-text")
    suffixes = [without_gz(path).suffix for path in paths]
    sources = [path for path, suffix in zip(paths, suffixes, strict=True) if suffix == suffixes[0]]
    if len(set(suffixes)) == 2 and 2 * len(sources) == len(paths):
        return list(zip(sources, (path for path in paths if path not in sources), strict=True))
    return list(zip(paths[::2], paths[1::2], strict=True))


def read_parallel(
    paths: Sequence[Path], data: RowData, on_bad_line: OnBadLine = raise_error
) -> Iterator[tuple[Location, tuple[str, str]]]:
    """Line n of one file with line n of the other, without white space at their ends, and the source's location.

    Pairs of blank lines are left out, as in a table; if one line is blank, the pair goes to `on_bad_line`. If a line
    can't be read, its partner is left out too. Files with different numbers of lines are an error.

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "a.en").write_text("one\\ntwo\\n"), (folder / "a.fr").write_text("un\\ndeux\\n")
    >>> [pair for _, pair in read_parallel([folder / "a.en", folder / "a.fr"], RowData())]
    [('one', 'un'), ('two', 'deux')]
    """
    empty = True
    with (
        closing(LineReader(paths[0], data, on_bad_line)) as source,
        closing(LineReader(paths[1], data, on_bad_line)) as target,
    ):
        for number, source_text, target_text in align_lines(source, target):
            location = Location(str(source.path), number)
            if source_text and target_text:
                empty = False
                yield location, (source_text, target_text)
            elif source_text:
                location = Location(str(target.path), number)
                on_bad_line(DataError(location, "the target is empty", FILL_IN, code="empty-target"))
            elif target_text:
                on_bad_line(DataError(location, "the source is empty", FILL_IN, code="empty-source"))
        if source.count != target.count:
            raise unequal_lengths(*sorted((source, target), key=lambda side: side.count))
    if empty:
        advice = "Name two files with a sentence in each line"
        raise DataError(source.path, "there is no line that can be read", advice, code="no-pairs")


class LineReader(Iterator[tuple[int, str]]):
    """The lines of a file, and the number of lines read, unreadable ones included."""

    def __init__(self, path: Path, data: RowData, on_bad_line: OnBadLine) -> None:
        self.path, self.on_bad_line, self.count = path, on_bad_line, 0
        self.lines = read_lines(path, data.max_characters, self._count_bad_line)

    def _count_bad_line(self, error: DataError) -> None:
        self.count += 1
        self.on_bad_line(error)

    def __next__(self) -> tuple[int, str]:
        self.count, line = next(self.lines)
        return self.count, line.strip()

    def close(self) -> None:
        """Close the file, which an error in the other file would leave open."""
        self.lines = iter(())


def align_lines(source: LineReader, target: LineReader) -> Iterator[tuple[int, str, str]]:
    """The lines that both files have, with their numbers; both files are read to the end."""
    left, right = next(source, None), next(target, None)
    while left and right:
        if left[0] == right[0]:
            yield *left, right[1]
        ahead = left[0] - right[0]  # not 0 if a line of one file could not be read: the other file skips it
        left, right = left if ahead > 0 else next(source, None), right if ahead < 0 else next(target, None)
    for _ in source:
        pass
    for _ in target:
        pass


def unequal_lengths(short: LineReader, long: LineReader) -> DataError:
    counts = f"{counted(short.count, 'line')} there, {long.count:,} here"
    message = f"from here on {short.path} has no line that matches this one ({counts})"
    advice = "Find where they diverge: line n of one file must be the translation of line n of the other"
    return DataError(Location(str(long.path), short.count + 1), message, advice, code="unequal-lengths")
