"""A look at words with tags."""

from collections import Counter
from collections.abc import Iterator

from seqloom.data.corpora import CORPORA
from seqloom.data.examples import Sentence
from seqloom.data.inspection.bio import Spans
from seqloom.data.inspection.characters import Odd
from seqloom.data.inspection.gathered import FEW, Gathered, Tally, listed, share
from seqloom.data.inspection.labels import MOST, SHOWN, Seen, are, tell_empty
from seqloom.data.inspection.lengths import Cut, Lengths, Longest
from seqloom.data.inspection.moving import Answered, at_home, homeless, rows_after
from seqloom.data.inspection.places import Files
from seqloom.data.inspection.repeats import SEPARATOR, Contents
from seqloom.data.inspection.sources import Sources
from seqloom.data.inspection.telling import tell_repeats
from seqloom.data.inspection.words import Words
from seqloom.data.readers.conll import read_conll, read_conllu
from seqloom.data.split import PARTS, TRAIN
from seqloom.data.wording import counted
from seqloom.spec.errors import UserError

SHORT = 5  # words: a shorter sentence ("Thank you .") may well stand in many places
MANY = 0.25  # of sentences with one word: more are worth a note


def look_at_tagged(what: Sources, found: Gathered) -> None:
    """One reading of everything."""
    tags: dict[str, Seen] = {}
    rows: Counter[str] = Counter()
    contents, words, spans = Contents(Files()), Words(what.data.lowercase), Spans()
    shapes = Shapes(what)
    for file_part, sentence in sentences(what, found):
        part = what.part_of(" ".join(sentence.words), file_part)
        rows[part] += 1
        for tag in sentence.tags:
            if tag not in tags and len(tags) < MOST:
                tags[tag] = Seen(str(sentence.place))
            if tag in tags:
                tags[tag].parts[part] += 1
        words.add(part, sentence)
        spans.add(sentence.tags, sentence.place)
        shapes.add(sentence)
        if len(sentence.words) >= SHORT:
            contents.add(SEPARATOR.join(sentence.words), file_part, sentence.tags, sentence.place)
    if not rows:
        return  # said already: no file could be read
    moved = homeless(what, ((tag, seen.parts) for tag, seen in tags.items()))
    if moved:
        rows = rows_after(what, lambda: again(what), moved, set())
    for tag in moved:
        tags[tag].parts = at_home(what, tags[tag].parts)
    for part in PARTS:
        if rows[part]:
            told = f"{counted(rows[part], 'sentence')}, {counted(words.totals[part], 'word')}"
            found.summary.append((part, told + what.origin_of(part)))
    tell_tags(tags, what, found)
    tell_empty(rows, "sentence", what, found)
    words.tell(found)
    tell_repeats(contents, "sentence", f" (of {SHORT} words or more)", "tags", found)
    spans.tell(tags, found)
    shapes.tell(found)


def sentences(what: Sources, found: Gathered) -> Iterator[tuple[str, Sentence]]:
    """All that can be read, with the part of its file; a file that can't be is written down."""
    data = what.data
    try:
        if what.corpus:
            for sentence in CORPORA[what.corpus].sentences(what.seed, data.length, data.examples):
                yield TRAIN, sentence
    except UserError as error:
        found.refused(error)
    for part, path, form in what.all():
        read = read_conllu if form == "conllu" else read_conll
        try:
            for sentence in read(path, data.tag, data.max_characters, found.bad):
                yield part, sentence
        except UserError as error:
            found.refused(error)


def again(what: Sources) -> Iterator[Answered]:
    """The same once more; what is wrong has been written down."""
    for part, sentence in sentences(what, Gathered()):
        yield part, " ".join(sentence.words), sentence.tags


def tell_tags(tags: dict[str, Seen], what: Sources, found: Gathered) -> None:
    """The tags with their counts; what training would refuse about them, and those seen once."""
    counts = Counter({tag: seen.parts.total() for tag, seen in tags.items()})
    shown = ", ".join(f"{tag[:20]} ({n:,})" for tag, n in counts.most_common(SHOWN))
    found.summary.append(("tags", shown + (f", … ({len(counts):,} tags)" if len(counts) > SHOWN else "")))
    learnt = Counter({tag: seen.parts[TRAIN] for tag, seen in tags.items() if seen.parts[TRAIN]})
    if not learnt:
        return  # the training part is empty, which is said elsewhere
    if len(learnt) == 1:
        only = f"only one tag, {next(iter(learnt))!r}, so there is nothing to distinguish"
        found.add("error", Tally(1, [what.name]), only, "Name another column with --data.tag")
    else:
        tag, most = learnt.most_common(1)[0]
        found.summary.append(("baseline", f"always saying {tag!r} is right on {share(most, learnt.total())} of train"))
    unseen = [tag for tag in tags if not learnt[tag]]
    found.add(
        "error",
        Tally(len(unseen), [tags[tag].place for tag in unseen[:FEW]]),
        f"tag{'s' if len(unseen) > 1 else ''} {listed(unseen)} {are(unseen)} not in the training part",
        "Add sentences with it, or remove it",
    )
    once = [tag for tag, n in counts.items() if n == 1 and learnt[tag]]
    found.add(
        "warning",
        Tally(len(once), [tags[tag].place for tag in once[:FEW]]),
        f"tag{'s' if len(once) > 1 else ''} {listed(once)} {are(once)} seen once",
        "Check whether it is a typing mistake; it can't be learnt from one example",
    )


class Shapes:
    """What can be said of each sentence by itself."""

    def __init__(self, what: Sources) -> None:
        self.odd, self.cut = Odd(), Cut(what.data.max_length, "word")
        self.words, self.characters, self.longest = Lengths(), Lengths(), Longest()
        self.single = Tally()

    def add(self, sentence: Sentence) -> None:
        """One more."""
        text = " ".join(sentence.words)
        self.words.add(len(sentence.words))
        self.characters.add(len(text))
        self.longest.add(len(text), sentence.place)
        self.cut.add_words(len(sentence.words), sentence.place)
        self.odd.add(text, sentence.place)
        if len(sentence.words) == 1:
            self.single.add(sentence.place)

    def tell(self, found: Gathered) -> None:
        """Lengths for the summary, and findings."""
        found.summary.append(("characters", self.characters.describe()))
        found.summary.append(("words", self.words.describe()))
        self.cut.tell("sentence", found)
        self.longest.tell(self.characters, "sentence", found)
        self.odd.tell("sentence", found)
        total, single = self.words.counts.total(), self.single.count
        what = f"{counted(single, 'sentence')} of one word ({share(single, total)})"
        do = (
            "Nothing to do, if they are headings and the like"
            if single <= MANY * total
            else "Is a blank line after each word?"
        )
        found.add("note" if single <= MANY * total else "warning", self.single, what, do)
