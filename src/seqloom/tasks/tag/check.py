"""What `seqloom check` looks for in sentences of words with tags."""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from seqloom.core.config.section import keys
from seqloom.core.plurals import counted
from seqloom.core.problem import KeyName, Problem
from seqloom.data.inspection.duplicates import (
    SEPARATOR,
    TextIndex,
    report_contradictions,
    report_duplicates,
    report_overlap,
)
from seqloom.data.inspection.report import Inspection, Tally, percent
from seqloom.data.inspection.text_quality import Lengths, LongestText, OddCharacters, TruncatedTexts
from seqloom.data.records import Location
from seqloom.data.source import DataSource
from seqloom.data.split import SPLITS, TRAIN, VALID
from seqloom.tasks.label_check import Answered, LabelCounts, ignore, not_in_train, only_one, subject
from seqloom.tasks.row_check import origin, report_empty_splits
from seqloom.tasks.tag.config import TagData
from seqloom.tasks.tag.data import ANOTHER_COLUMN

SHORT = 5  # words: a shorter sentence ("Thank you .") may well be in many files
MANY = 0.25  # of sentences with one word: more are a warning

MOST = 1_000_000  # distinct words that are counted: about 150 MB
NEW = 0.3  # share of validation words that training never sees: more is a warning
ENOUGH = 100  # words: of fewer a share says little
SEVERAL = -1  # instead of the one tag of a word

SPAN_TAG = re.compile(r"O|[BIESLUM]-.+")
INSIDE, OPEN = frozenset("IELM"), frozenset("BIM")


def check(source: DataSource, inspection: Inspection) -> None:
    """One reading of everything, and two more where training moves examples because of their tags."""
    tags, contents = LabelCounts(), TextIndex()
    data = keys(source.data, TagData)
    words, spans, sentences = Words(data.lowercase), Spans(), Sentences(data.max_length)
    for file_split, (values, location) in source.examples(inspection.bad_lines, inspection.add_error):
        of_words, of_tags = values
        text = " ".join(of_words)
        split = source.split_of(text, file_split)
        tags.add(split, of_tags, location)
        words.add(split, of_words, of_tags)
        spans.add(of_tags, location)
        sentences.add(of_words, text, location)
        if len(of_words) >= SHORT:
            contents.add(SEPARATOR.join(of_words), file_split, of_tags, location)
    if not tags.rows:
        return  # an error already: no file could be read
    tags.move_missing(source, lambda: read_again(source))
    for split in SPLITS:
        if tags.rows[split]:
            sizes = f"{counted(tags.rows[split], 'sentence')}, {counted(words.totals[split], 'word')}"
            inspection.summarize(split, sizes + origin(split, source))
    report_tags(tags, source, inspection)
    report_empty_splits(tags.rows, "sentence", source, inspection)
    words.report(inspection)
    repeated, which = contents.repeated(), f" (of {SHORT} words or more)"
    report_duplicates(repeated, "sentence", inspection, which)
    report_overlap(repeated, "sentence", inspection, which)
    report_contradictions(repeated, "sentence", "tags", inspection, which)
    spans.report(tags.seen, inspection)
    sentences.report(inspection)


def read_again(source: DataSource) -> Iterator[Answered]:
    """All sentences once more; problems have been reported by the first reading."""
    for split, (values, _) in source.examples(ignore, ignore):
        words, tags = values
        yield split, " ".join(words), tags


def report_tags(tags: LabelCounts, source: DataSource, inspection: Inspection) -> None:
    """The tags with their counts; what training would refuse about them, and those seen once."""
    counts = Counter({tag: seen.splits.total() for tag, seen in tags.seen.items()})
    inspection.summarize("tags", tags.describe(counts, "tag"))
    learnt = tags.of_split(TRAIN)
    if not learnt:
        return  # an error elsewhere: the training split is empty
    if len(learnt) == 1:
        inspection.add("error", Tally(1, [source.name]), only_one("tag", learnt, ANOTHER_COLUMN))
    else:
        tag, most = learnt.most_common(1)[0]
        accuracy = f"{percent(most, learnt.total())} of train"
        inspection.summarize("baseline", f"always saying {tag!r} is right on {accuracy}")
    unseen = [tag for tag in tags.seen if not learnt[tag]]
    inspection.add("error", tags.tally(unseen), not_in_train("tag", unseen, "sentence"))
    once = [tag for tag, count in counts.items() if count == 1 and learnt[tag]]
    advice = "Check whether it is a typing mistake; it can't be learnt from one example"
    inspection.add("warning", tags.tally(once), Problem("tag-seen-once", f"{subject('tag', once)} seen once", advice))


class Words:
    """Of each distinct word: its one tag (or that it has several), and how often it is in each split."""

    def __init__(self, lowercase: bool) -> None:
        self.lowercase = lowercase
        self.numbers: dict[str, int] = {}
        self.tag, self.learnt, self.measured = array("i"), array("l"), array("l")
        self.totals: Counter[str] = Counter()

    @property
    def full(self) -> bool:
        """Whether there are more words than are counted."""
        return len(self.numbers) >= MOST

    def add(self, split: str, words: Sequence[str], tags: Sequence[str]) -> None:
        """Count the words of a sentence."""
        self.totals[split] += len(words)
        for word, tag in zip(words, tags, strict=True):
            form = word.lower() if self.lowercase else word
            number = self.numbers.get(form)
            code = hash(tag) & 0x7FFFFFFF  # Python's own, as it is only compared with others of this run
            if number is None:
                if self.full:
                    continue
                number = self.numbers[form] = len(self.numbers)
                self.tag.append(code)
                self.learnt.append(0)
                self.measured.append(0)
            elif self.tag[number] != code:
                self.tag[number] = SEVERAL
            if split == TRAIN:
                self.learnt[number] += 1
            elif split == VALID:
                self.measured[number] += 1

    def report(self, inspection: Inspection) -> None:
        """How many words there are, with several tags, and new in validation; a warning where many are new."""
        several = [number for number, tag in enumerate(self.tag) if tag == SEVERAL]
        among = sum(self.learnt[number] for number in several)
        known, total = len(self.numbers), self.totals[TRAIN]
        size = f"{counted(known, 'word')}{' or more' if self.full else ''}"
        ambiguous = f"{percent(len(several), known)} of them, {percent(among, total)} of the text, with several tags"
        inspection.summarize("vocabulary", f"{size}; {ambiguous}")
        if self.full or not self.totals[VALID]:
            return
        new = sum(n for n, learnt in zip(self.measured, self.learnt, strict=True) if not learnt)
        message = f"{percent(new, self.totals[VALID])} of validation words are not in training"
        inspection.summarize("new words", message)
        if new > NEW * self.totals[VALID] >= NEW * ENOUGH:
            helps = f"More training data help, and so does {KeyName('model.characters')}"
            advice = f"Are the splits from the same source? {helps}"
            inspection.add("warning", Tally(new, []), Problem("new-words", message, advice))


class Spans:
    """Spans written as tags, B-X I-X O: tags that continue a span which has not begun."""

    def __init__(self) -> None:
        self.astray, self.begun, self.needless = Tally(), 0, 0

    def add(self, tags: Sequence[str], location: Location) -> None:
        """Look at the tags of a sentence, whose first word is at the location."""
        self.begun += sum(tag[:2] == "B-" for tag in tags)
        wrong, needless = 0, 0
        for before, tag in zip(("O", *tags), tags, strict=False):
            wrong += goes_astray(before, tag)
            needless += tag[:2] == "B-" and before[2:] != tag[2:]
        self.needless += needless
        if wrong:
            self.astray.add(location, wrong)

    def report(self, tags: Iterable[str], inspection: Inspection) -> None:
        """A note, if the tags are of this kind at all and if spans begin with B."""
        known = set(tags)
        if not all(SPAN_TAG.fullmatch(tag) for tag in known) or known <= {"O"}:
            return
        if not self.begun or not self.needless:  # B only between neighbours, or not at all: the first form, IOB1
            message = "spans begin with I- (the form IOB1)"
            advice = "Nothing: spans are scored so; others may expect B- (IOB2)"
        else:
            message = f"{counted(self.astray.count, 'tag')} I-X (or E-X) without a B-X or I-X before"
            advice = "Write B-X where a span begins; scored as they stand, they begin one too"
        inspection.add("note", self.astray, Problem("spans", message, advice))


def goes_astray(before: str, tag: str) -> bool:
    """Whether a tag continues a span that the one before is not in.

    >>> goes_astray("O", "I-PER"), goes_astray("B-LOC", "I-PER"), goes_astray("B-PER", "I-PER")
    (True, True, False)
    """
    if tag[1:2] != "-" or tag[0] not in INSIDE:
        return False
    return before[:1] not in OPEN or before[1:] != tag[1:]


class Sentences:
    """What can be said of each sentence by itself."""

    def __init__(self, max_length: int | None) -> None:
        self.odd, self.cut = OddCharacters(), TruncatedTexts(max_length, "word")
        self.words, self.characters, self.longest = Lengths(), Lengths(), LongestText()
        self.single = Tally()

    def add(self, words: Sequence[str], text: str, location: Location) -> None:
        """Look at a sentence; its text is the words with spaces between them."""
        self.words.add(len(words))
        self.characters.add(len(text))
        self.longest.add(len(text), location)
        self.cut.add_words(len(words), location)
        self.odd.add(text, location)
        if len(words) == 1:
            self.single.add(location)

    def report(self, inspection: Inspection) -> None:
        """Lengths for the summary, and findings."""
        inspection.summarize("characters", self.characters.describe())
        inspection.summarize("words", self.words.describe())
        self.cut.report("sentence", inspection)
        self.longest.report(self.characters, "sentence", inspection)
        self.odd.report("sentence", inspection)
        total, single = self.words.counts.total(), self.single.count
        message = f"{counted(single, 'sentence')} of one word ({percent(single, total)})"
        if single > MANY * total:
            inspection.add(
                "warning", self.single, Problem("one-word-sentences", message, "Is a blank line after each word?")
            )
        else:
            inspection.add(
                "note",
                self.single,
                Problem("one-word-sentences", message, "Nothing to do, if they are headings and the like"),
            )
