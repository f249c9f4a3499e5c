"""A look at plain text."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from seqloom.data.corpora import CORPORA
from seqloom.data.inspection.gathered import Gathered, Heard, Tally, share
from seqloom.data.inspection.sources import Sources
from seqloom.data.inspection.streams import Parts
from seqloom.data.lines import EmptyFile, read_chunks, read_lines
from seqloom.data.origin import Origin
from seqloom.data.split import PARTS, TRAIN, at_lines
from seqloom.data.streams import LEAST, WHAT_FOR, spans_of
from seqloom.data.wording import counted
from seqloom.spec.errors import DataError, UserError

BLOCK = 1 << 20  # characters looked at together; a longer line is looked at in pieces
LONGEST = 10_000_000  # characters of a line that bytes which are not UTF-8 are looked for in
LITTLE = 100_000  # characters to learn from
Block = tuple[str, int, str]  # a file's name, the line that the text begins on, the text


def look_at_text(what: Sources, found: Gathered) -> None:
    """Two readings: whether all can be read and how long it is (which says where it is split), and what it is."""
    read = {part: readable([path for path, _ in what.files[part]], found) for part in PARTS}
    files = {part: paths for part, (paths, _) in read.items()}
    shares = dict(zip(("valid_share", "test_share"), what.shares, strict=True))
    data = what.data.model_copy(update=shares)
    origin = Origin(task="language", data=data, seed=what.seed, files=files, prints={}, corpus=what.corpus)
    if not origin.has(TRAIN):
        return  # said already: no file could be read
    try:
        spans = spans_of(origin, lambda part: read[part][1] or sum(map(len, origin.text(part))))
        parts = Parts(what.data.tokeniser)
        for part, block in parted(origin, spans):
            parts.add(part, *block)
    except UserError as error:
        found.refused(error)
        return
    summarise(parts, what, found)
    parts.tell(found)
    for part, (whose, _, _) in spans.items():
        stretch = parts.stretches[part]
        if stretch.tokens < LEAST:
            sentence = f"only {counted(stretch.characters, 'character')} for the part to {WHAT_FOR[part]}"
            do = "Give a longer text, or files of their own with --valid and --test"
            name = next((str(path) for path, _ in what.files[whose]), what.name)
            found.add("error", Tally(1, [name]), sentence, do)
    learnt = parts.stretches[TRAIN].characters
    if LEAST <= learnt < LITTLE:
        sentence = f"{counted(learnt, 'character')} is little to learn a language from"
        found.add("note", Tally(1, []), sentence, "Give more text, or expect it to be learnt by heart")


def summarise(parts: Parts, what: Sources, found: Gathered) -> None:
    """Sizes, characters and lines, for the summary."""
    for part, stretch in parts.stretches.items():
        if stretch.characters:
            cut = "" if part == TRAIN or what.given(part) else " (the end of train)"
            told = f"{counted(stretch.characters, 'character')}, {counted(stretch.lines, 'line')}{cut}"
            found.summary.append((part, told))
    stretches = parts.stretches.values()
    distinct = set[str]().union(*(stretch.distinct for stretch in stretches))
    wide, total = sum(each.wide for each in stretches), sum(each.characters for each in stretches)
    found.summary.append(("characters", f"{len(distinct):,} distinct; {share(wide, total)} of the text is not ASCII"))
    found.summary.append(("lines", f"{parts.lengths.describe()} characters"))


def readable(paths: list[Path], found: Gathered) -> tuple[list[Path], int]:
    """Those files of a part that can be read, and the length of their text; of several some may be empty."""
    good, empty, length, last = [], [], 0, "\n"
    for path in paths:
        try:
            size, end = 0, ""
            for chunk in read_chunks(path):
                size, end = size + len(chunk), chunk[-1]
            length += size + (last != "\n")  # where a file does not end its last line, one newline is put between
            last = end
            good.append(path)
        except EmptyFile as error:
            empty.append(error)
        except DataError as error:
            lines = bad_lines(path).findings("error")
            found.findings += lines or [Tally(1, [error.place]).finding("error", error.what, error.do)]
    if good:
        tally = Tally(len(empty), [error.place for error in empty[:5]])
        found.add("note", tally, f"{counted(len(empty), 'file')} without text", "Nothing; empty files are skipped")
        return good, length
    for none in empty:
        found.refused(none)
    return [], 0


def bad_lines(path: Path) -> Heard:
    """Every line of a file that can't be read; how long it is does not matter here."""
    heard = Heard()

    def hear(error: DataError) -> None:
        if not error.what.startswith("a line of more than"):
            heard(error)

    try:
        for _ in read_lines(path, LONGEST, hear):
            pass
    except DataError:
        return Heard()  # the whole file is bad, and its own sentence says why
    return heard


def blocks(origin: Origin, part: str) -> Iterator[Block]:
    """The text of a part's files in blocks of whole lines, as far as lines are shorter than a block."""
    if part == TRAIN and origin.corpus:
        data = origin.data
        yield from numbered(origin.corpus, CORPORA[origin.corpus].text(origin.seed, data.length, data.examples))
        return
    for path in origin.files[part]:
        try:
            yield from numbered(str(path), read_chunks(path))
        except EmptyFile:
            continue


def numbered(name: str, chunks: Iterable[str]) -> Iterator[Block]:
    """Blocks with the lines that they begin on."""
    line = 1
    for block in at_lines(chunks, BLOCK):
        yield name, line, block
        line += block.count("\n")


def parted(origin: Origin, spans: dict[str, tuple[str, int, int]]) -> Iterator[tuple[str, Block]]:
    """Blocks with the part that each belongs to, the training part first; one that straddles a cut is cut there."""
    for source in PARTS:
        if not origin.has(source):
            continue
        at, last = 0, ""
        for name, line, block in blocks(origin, source):
            if line == 1 and last not in ("", "\n"):
                at += 1  # the newline between files
            last = block[-1]
            for part, (whose, start, stop) in spans.items():
                inside = slice(max(start - at, 0), max(stop - at, 0))
                if whose == source and (piece := block[inside]):
                    yield part, (name, line + block.count("\n", 0, inside.start), piece)
            at += len(block)
