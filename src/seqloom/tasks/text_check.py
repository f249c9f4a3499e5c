"""What `seqloom check` looks for in plain text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from seqloom.core.problem import DataError, Problem, UserError
from seqloom.core.wording import counted
from seqloom.data.inspection.duplicates import TextIndex
from seqloom.data.inspection.findings import MAX_LOCATIONS, BadLines, Inspection, Kind, Tally, percent
from seqloom.data.inspection.text_quality import ANY_ODD_CHARACTER, Lengths, OddCharacters, count_tokens
from seqloom.data.records import Location
from seqloom.data.source import DataSource
from seqloom.data.split import SPLITS, TEST, TRAIN, VALID, split_at_lines
from seqloom.data.text_io import LINE_TOO_LONG, EmptyFile, read_chunks, read_lines
from seqloom.data.text_stream import MIN_TOKENS, split_spans, too_short

BLOCK = 1 << 20  # characters that are read at once; a longer line is read in chunks
LONGEST = 10_000_000  # characters of a line in which bytes that are not UTF-8 are looked for
LITTLE = 100_000  # characters of training text; fewer are a note

LONG = 40  # characters: a shorter line may well be there many times
VERY_LONG = 10_000  # characters of what is likely not one line
REPEATS, MANY = 0.01, 0.1  # of long lines: from here a note, from here a warning
OVERLAPS, LEAK = 0.01, 0.05  # of another split's long lines that training has too: from here a note, a warning
SHOWN = 12  # characters in a message

Block = tuple[str, int, str]  # a file's name, the line that the text begins on, the text


def check_text(source: DataSource, inspection: Inspection) -> None:
    """Read the text twice: first for errors and its length, which decides where it is split; then to count."""
    files, lengths = {}, {}
    for split in SPLITS:
        files[split], lengths[split] = readable_files(source.files[split], inspection)
    if not (files[TRAIN] or source.corpus):
        return  # an error already: no file could be read
    shares: dict[str, object] = {f"{split}_share": source.share(split) for split in (VALID, TEST)}
    unreadable = dict.fromkeys((split for split in SPLITS if not files[split]), ())
    text = replace(source, data=source.data.model_copy(update=shares | unreadable), files=files)
    try:
        spans = split_spans(text, lambda split: lengths[split] or sum(map(len, text.text(split))))
        counts = TextCounts(getattr(source.data, "tokenizer", None))
        for split, block in split_blocks(text, spans):
            counts.add(split, *block)
    except UserError as error:
        inspection.add_error(error)
        return
    counts.summarize(source, inspection)
    counts.report(inspection)
    for split, (origin, _, _) in spans.items():
        size = counts.sizes[split]
        if size.tokens < MIN_TOKENS:
            inspection.add_error(too_short(source, origin, split, size.characters))
    if MIN_TOKENS <= (characters := counts.sizes[TRAIN].characters) < LITTLE:
        message = f"{counted(characters, 'character')} is very little text to train on"
        advice = "Give more text, or expect the model to memorize it"
        inspection.add("note", Tally(1, []), Problem("little-text", message, advice))


# Reading -------------------------------------------------------------------------------------------------------------


def readable_files(paths: Sequence[Path], inspection: Inspection) -> tuple[tuple[Path, ...], int]:
    """The files of a split that can be read, and the length of their text; of several files some may be empty."""
    readable, empty, length, last = [], [], 0, "\n"
    for path in paths:
        try:
            size, end = 0, ""
            for chunk in read_chunks(path):
                size, end = size + len(chunk), chunk[-1]
            length += size + (last != "\n")  # where a file does not end its last line, one newline is put between
            last = end
            readable.append(path)
        except EmptyFile as error:
            empty.append(error)
        except DataError as error:
            bad_lines = unreadable_lines(path).findings("error")
            inspection.others += bad_lines
            if not bad_lines:
                inspection.add_error(error)
    if readable:
        tally = Tally(len(empty), [error.template.location for error in empty[:MAX_LOCATIONS]])
        message = f"{counted(len(empty), 'file')} without text"
        inspection.add("note", tally, Problem("empty-files", message, "Nothing to do; empty files are skipped"))
        return tuple(readable), length
    for empty_file in empty:
        inspection.add_error(empty_file)
    return (), 0


def unreadable_lines(path: Path) -> BadLines:
    """Every line of a file that can't be read, whatever its length."""
    bad_lines = BadLines()

    def on_bad_line(error: DataError) -> None:
        if error.template.code != LINE_TOO_LONG:
            bad_lines(error)

    try:
        for _ in read_lines(path, LONGEST, on_bad_line):
            pass
    except DataError:
        return BadLines()  # the whole file is bad, and its own message says why
    return bad_lines


def read_blocks(text: DataSource, split: str) -> Iterator[Block]:
    """The text of a split's files in blocks of whole lines, unless a line is longer than a block."""
    if split == TRAIN and text.corpus:
        yield from number_blocks(text.corpus, text.generate())
        return
    for path in text.files[split]:
        try:
            yield from number_blocks(str(path), read_chunks(path))
        except EmptyFile:
            continue


def number_blocks(name: str, chunks: Iterable[str]) -> Iterator[Block]:
    """Blocks with the line that each begins on."""
    line = 1
    for block in split_at_lines(chunks, BLOCK):
        yield name, line, block
        line += block.count("\n")


def split_blocks(text: DataSource, spans: dict[str, tuple[str, int, int]]) -> Iterator[tuple[str, Block]]:
    """Blocks with the split of each, the training split first; a block across a boundary is cut there."""
    for source in SPLITS:
        if not text.has(source):
            continue
        position = 0
        for name, line, block in with_newlines(read_blocks(text, source)):
            for split, (origin, start, stop) in spans.items():
                inside = slice(max(start - position, 0), max(stop - position, 0))
                if origin == source and (chunk := block[inside]):
                    yield split, (name, line + block.count("\n", 0, inside.start), chunk)
            position += len(block)


def with_newlines(blocks: Iterable[Block]) -> Iterator[Block]:
    """The same blocks, with a newline between two files where the first does not end its last line.

    >>> list(with_newlines([("a.txt", 1, "one"), ("b.txt", 1, "two")]))
    [('a.txt', 1, 'one'), ('a.txt', 1, '\\n'), ('b.txt', 1, 'two')]
    """
    previous: Block | None = None
    for block in blocks:
        if block[1] == 1 and previous is not None and not previous[2].endswith("\n"):
            yield previous[0], previous[1] + previous[2].count("\n"), "\n"
        yield block
        previous = block


# Counting ------------------------------------------------------------------------------------------------------------


@dataclass
class SplitSize:
    """Counts of one split; `new` are the characters that the training split lacks, with how often each occurs."""

    characters: int = 0
    lines: int = 0
    non_ascii: int = 0
    tokens: int = 0
    distinct: set[str] = field(default_factory=set)
    new: dict[str, int] = field(default_factory=dict)
    new_tally: Tally = field(default_factory=Tally)


class TextCounts:
    """Counts of the text, split by split, block by block."""

    def __init__(self, tokenizer: str | None) -> None:
        self.tokenizer = tokenizer
        self.sizes = {split: SplitSize() for split in SPLITS}
        self.lengths, self.odd, self.very_long = Lengths(), OddCharacters(), Tally()
        self.contents = TextIndex()
        self.open, self.open_at = 0, Location("", 1)  # characters of a line that the next block continues; its location

    def add(self, split: str, name: str, line: int, text: str) -> None:
        size = self.sizes[split]
        size.characters += len(text)
        size.lines += text.count("\n")
        size.non_ascii += 0 if text.isascii() else len(text) - len(text.encode("ascii", "ignore"))
        if size.tokens < MIN_TOKENS:
            size.tokens += count_tokens(text, self.tokenizer)
        size.distinct.update(text)
        if split != TRAIN:
            for character in sorted(set(text) - self.sizes[TRAIN].distinct):
                if character not in size.new:
                    size.new_tally.add(Location(name, line + text.count("\n", 0, text.index(character))))
                size.new[character] = size.new.get(character, 0) + text.count(character)
        plain = text.isascii() and not ANY_ODD_CHARACTER.search(text)
        for location, content in self._lines(name, line, text):
            if not plain:
                self.odd.add(content, location)
            if len(content) >= LONG and len(content := content.strip()) >= LONG:
                self.contents.add(content, split, (), location)

    def _lines(self, name: str, first: int, text: str) -> Iterator[tuple[Location, str]]:
        """Each line, or a chunk of one, with its location; a line's length is counted where it ends."""
        if self.open and name != self.open_at.file:
            self._end_line()
        *complete, rest = text.split("\n")
        for number, content in enumerate(complete, first):
            location = Location(name, number)
            self._continue_line(len(content), location)
            self._end_line()
            yield location, content
        if rest:
            location = Location(name, first + len(complete))
            self._continue_line(len(rest), location)
            yield location, rest

    def _continue_line(self, characters: int, location: Location) -> None:
        if not self.open:
            self.open_at = location
        self.open += characters

    def _end_line(self) -> None:
        self.lengths.add(self.open)
        if self.open > VERY_LONG:
            self.very_long.add(self.open_at)
        self.open = 0

    def summarize(self, source: DataSource, inspection: Inspection) -> None:
        for split, size in self.sizes.items():
            if size.characters:
                cut = "" if split == TRAIN or source.has(split) else " (the end of the training text)"
                lines = counted(size.lines, "line")
                inspection.summarize(split, f"{counted(size.characters, 'character')}, {lines}{cut}")
        sizes = self.sizes.values()
        distinct = set[str]().union(*(size.distinct for size in sizes))
        non_ascii = percent(sum(size.non_ascii for size in sizes), sum(size.characters for size in sizes))
        inspection.summarize("characters", f"{len(distinct):,} distinct; {non_ascii} of the text is not ASCII")
        inspection.summarize("lines", f"{self.lengths.describe()} characters")

    def report(self, inspection: Inspection) -> None:
        if self.open:
            self._end_line()
        self._report_duplicates(inspection)
        for split in (VALID, TEST):
            size = self.sizes[split]
            new = sorted(size.new, key=lambda character: -size.new[character])
            shown = " ".join(map(show_character, new[:SHOWN])) + (" …" if len(new) > SHOWN else "")
            message = f"{counted(len(new), 'character')} of {split} not in train: {shown}"
            advice = "Nothing to do; they are out of vocabulary for a character model"
            inspection.add("note", size.new_tally, Problem("new-characters", message, advice))
        message = f"{counted(self.very_long.count, 'line')} of more than {VERY_LONG:,} characters"
        advice = "Check whether line breaks are missing; otherwise there is nothing to do"
        inspection.add("note", self.very_long, Problem("long-lines", message, advice))
        self.odd.report("line", inspection)

    def _report_duplicates(self, inspection: Inspection) -> None:
        duplicates, sizes = self.contents.duplicates(), self.contents.sizes
        for split in SPLITS:
            tally, size = duplicates.within(split), sizes[split]
            if tally.count >= max(REPEATS * size, 2):
                lines = f"{percent(tally.count, size)} of the long lines of {split} ({tally.count:,})"
                kind: Kind = "warning" if tally.count >= MANY * size else "note"
                advice = "Remove them if they are unintended copies (headers, footers, the same page)"
                inspection.add(kind, tally, Problem("repeated-lines", f"{lines} repeat an earlier one", advice))
        for split in (VALID, TEST):
            tally, size = duplicates.shared(split, TRAIN), sizes[split]
            if tally.count >= max(OVERLAPS * size, 1):
                lines = f"{percent(tally.count, size)} of the long lines of {split} ({tally.count:,})"
                kind = "warning" if tally.count >= LEAK * size else "note"
                advice = f"Remove them from one of the two; otherwise scores on {split} will be too high"
                inspection.add(kind, tally, Problem("shared-lines", f"{lines} are in train too", advice))


def show_character(character: str) -> str:
    """A character for a message, by its number if it is invisible.

    >>> show_character("é"), show_character("\\u200b")
    ('é', 'U+200B')
    """
    return character if character.isprintable() and not character.isspace() else f"U+{ord(character):04X}"
