"""A look at texts with labels."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from seqloom.data.corpora import CORPORA
from seqloom.data.examples import Labelled
from seqloom.data.files import Format
from seqloom.data.inspection.characters import Odd
from seqloom.data.inspection.gathered import Gathered, Tally, share
from seqloom.data.inspection.labels import Labels, summarise, tell, tell_empty
from seqloom.data.inspection.lengths import Cut, Lengths, Longest
from seqloom.data.inspection.moving import Answered, rows_after
from seqloom.data.inspection.places import Files
from seqloom.data.inspection.repeats import Contents
from seqloom.data.inspection.sources import Sources
from seqloom.data.inspection.telling import tell_repeats
from seqloom.data.origin import read_labelled
from seqloom.data.readers.columns import columns
from seqloom.data.split import PARTS, TRAIN
from seqloom.data.wording import counted
from seqloom.spec.errors import UserError

TABLES: tuple[Format, ...] = ("csv", "tsv", "jsonl")


def look_at_labelled(what: Sources, found: Gathered) -> None:
    """One reading of everything."""
    what = with_columns(what, found)
    data = what.data
    labels, contents = Labels(data.label_separator is not None), Contents(Files())
    texts = Texts(what)
    for file_part, example in examples(what, found):
        part = what.part_of(example.text, file_part)
        labels.add(part, example)
        texts.add(example)
        if content := example.text.strip():
            contents.add(content, file_part, example.labels, example.place)
    if not labels.rows:
        if found.fine:
            tell(labels, what, found)
        return  # else it has been said that no file could be read
    labels.settle(what)
    if labels.moved or labels.left_out:
        labels.rows = rows_after(what, lambda: again(what), labels.moved, labels.left_out)
    for part in PARTS:
        if labels.rows[part]:
            found.summary.append((part, counted(labels.rows[part], "text") + what.origin_of(part)))
    summarise(labels, found)
    tell(labels, what, found)
    tell_empty(labels.rows, "example", what, found)
    tell_repeats(contents, "text", "", "labels", found)
    texts.tell(found)


def with_columns(what: Sources, found: Gathered) -> Sources:
    """The columns of the first training file, said for all files, as training does."""
    files = what.files[TRAIN]
    if not files or files[0][1] not in TABLES:
        return what
    try:
        guessed = columns(files[0][0], what.data)
    except UserError:
        return what  # said when the file is read
    found.summary.append(("columns", guessed.describe()))
    return replace(what, data=guessed.said_in(what.data).model_copy(update={"header": guessed.header}))


def examples(what: Sources, found: Gathered) -> Iterator[tuple[str, Labelled]]:
    """All that can be read, with the part of its file; a file that can't be is written down."""
    data = what.data
    if what.corpus:
        try:
            for example in CORPORA[what.corpus].labelled(what.seed, data.length, data.examples, data.languages):
                yield TRAIN, example
        except UserError as error:
            found.refused(error)
    for part, path, form in what.all():
        for example in readable(what, path, form, found):
            yield part, example


def again(what: Sources) -> Iterator[Answered]:
    """The same once more; what is wrong has been written down."""
    for part, example in examples(what, Gathered()):
        yield part, example.text, example.labels


def readable(what: Sources, path: Path, form: Format, found: Gathered) -> Iterator[Labelled]:
    """What can be read of one file."""
    try:
        yield from read_labelled(path, form, what.data, found.bad)
    except UserError as error:
        found.refused(error)


class Texts:
    """What can be said of each text by itself."""

    def __init__(self, what: Sources) -> None:
        self.odd, self.cut = Odd(), Cut(what.data.max_length, what.data.tokeniser or "word")
        self.characters, self.words, self.longest = Lengths(), Lengths(), Longest()
        self.empty, self.padded = Tally(), Tally()

    def add(self, example: Labelled) -> None:
        """One more."""
        text, place = example.text, example.place
        words = len(text.split())
        self.characters.add(len(text))
        self.words.add(words)
        self.longest.add(len(text), place)
        self.cut.add(text, place)
        if not words:
            self.empty.add(place)
            return
        if text[0].isspace() or text[-1].isspace():
            self.padded.add(place)
        self.odd.add(text, place)

    def tell(self, found: Gathered) -> None:
        """Lengths for the summary, and findings."""
        found.summary.append(("characters", self.characters.describe()))
        found.summary.append(("words", self.words.describe()))
        verb = "is" if self.empty.count == 1 else "are"
        what = f"{counted(self.empty.count, 'text')} {verb} empty, or white space alone"
        found.add("warning", self.empty, what, "Fill in what is missing, or remove the row")
        self.cut.tell("text", found)
        self.longest.tell(self.characters, "text", found)
        self.odd.tell("text", found)
        total = self.characters.counts.total()
        what = f"{counted(self.padded.count, 'text')} ({share(self.padded.count, total)}) with white space at an end"
        found.add("note", self.padded, what, "Nothing for words; a character or byte model sees it")
