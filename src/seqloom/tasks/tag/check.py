"""What `seqloom check` looks for in sentences of words with tags."""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

from seqloom.core.config.section import keys
from seqloom.core.problem import KeyName, Problem
from seqloom.core.wording import counted
from seqloom.data.inspection.duplicates import (
    SEPARATOR,
    Duplicates,
    report_contradictions,
    report_duplicates,
    report_overlap,
)
from seqloom.data.inspection.report import Inspection, Tally, percent
from seqloom.data.inspection.text_quality import Lengths, LongestText, OddCharacters, TruncatedTexts
from seqloom.data.records import Location, Value
from seqloom.data.source import DataSource
from seqloom.data.split import TRAIN, VALID
from seqloom.tasks.label_check import LabelCheck, not_in_train, single_label, subject
from seqloom.tasks.tag.config import TagData
from seqloom.tasks.tag.data import ANOTHER_COLUMN

SHORT = 5  # words: a shorter sentence ("Thank you .") may well be in many files
MANY_SINGLE = 0.25  # of sentences with one word: more are a warning

MOST_WORDS = 1_000_000  # distinct words that are counted: about 150 MB
MANY_NEW = 0.3  # percent of validation words that training never sees: more is a warning
ENOUGH = 100  # words: a percent of fewer says little
SEVERAL = -1  # instead of the one tag of a word

SPAN_TAG = re.compile(r"O|[BIESLUM]-.+")
CONTINUES, OPEN = frozenset("IELM"), frozenset("BIM")  # tags that continue a span, and those that leave one open


def check(source: DataSource, inspection: Inspection) -> None:
    TagCheck(source, inspection).run()


class TagCheck(LabelCheck):
    """Adds what training refuses about tags, the words with their tags, spans, and the quality of sentences."""

    noun, label_noun = "sentence", "tag"

    def __init__(self, source: DataSource, inspection: Inspection) -> None:
        super().__init__(source, inspection)
        config = keys(source.data, TagData)
        self.words, self.spans = WordCounts(config.lowercase), SpanTags()
        self.odd, self.cut, self.longest = OddCharacters(), TruncatedTexts(config.max_length, "word"), LongestText()
        self.word_lengths, self.character_lengths, self.single = Lengths(), Lengths(), Tally()

    def add(self, file_split: str, values: Sequence[Value], location: Location) -> None:
        words, tags = values
        text = " ".join(words)
        split = self.source.split_of(text, file_split)
        self.add_labels(split, tags, location)
        self.words.add(split, words, tags)
        self.spans.add(tags, location)
        if len(words) >= SHORT:
            self.contents.add(SEPARATOR.join(words), file_split, tags, location)
        self.word_lengths.add(len(words))
        self.character_lengths.add(len(text))
        self.longest.add(len(text), location)
        self.cut.add_words(len(words), location)
        self.odd.add(text, location)
        if len(words) == 1:
            self.single.add(location)

    def report(self) -> None:
        self.count_as_training()
        super().report()

    def size_of(self, split: str) -> str:
        return f"{super().size_of(split)}, {counted(self.words.totals[split], 'word')}"

    def report_splits(self) -> None:
        super().report_splits()
        self.report_tags()
        self.words.report(self.inspection)

    def report_tags(self) -> None:
        counts = {tag: seen.splits.total() for tag, seen in self.seen.items()}
        self.summarize_labels(counts)
        train = self.count_in(TRAIN)
        if not train:
            return  # an error elsewhere: the training split is empty
        if len(train) == 1:
            self.add_error(single_label("tag", train, ANOTHER_COLUMN))
        else:
            tag, most = train.most_common(1)[0]
            accuracy = f"{percent(most, train.total())} of train"
            self.inspection.summarize("baseline", f"always predicting {tag!r} has an accuracy of {accuracy}")
        unseen = [tag for tag in self.seen if not train[tag]]
        self.inspection.add("error", self.tally(unseen), not_in_train("tag", unseen, "sentence"))
        once = [tag for tag, count in counts.items() if count == 1 and train[tag]]
        advice = "Check for a typing mistake; one example is too few to learn from"
        self.add_finding("warning", self.tally(once), "tag-seen-once", f"{subject('tag', once)} seen once", advice)

    def report_contents(self, repeated: Duplicates) -> None:
        which = f" (of {SHORT} words or more)"
        report_duplicates(repeated, "sentence", self.inspection, which)
        report_overlap(repeated, "sentence", self.inspection, which)
        report_contradictions(repeated, "sentence", "tags", self.inspection, which)
        self.spans.report(self.seen, self.inspection)

    def report_texts(self) -> None:
        self.inspection.summarize("characters", self.character_lengths.describe())
        self.inspection.summarize("words", self.word_lengths.describe())
        self.cut.report("sentence", self.inspection)
        self.longest.report(self.character_lengths, "sentence", self.inspection)
        self.odd.report("sentence", self.inspection)
        count, total = self.single.count, self.word_lengths.counts.total()
        many = count > MANY_SINGLE * total
        message = f"{counted(count, 'sentence')} of one word ({percent(count, total)})"
        advice = "Check for blank lines between words" if many else "Nothing to do if they are headings or the like"
        self.add_finding("warning" if many else "note", self.single, "one-word-sentences", message, advice)


class WordCounts:
    """For each distinct word its one tag (or that it has several), and how often it is in train and valid."""

    def __init__(self, lowercase: bool) -> None:
        self.lowercase = lowercase
        self.numbers: dict[str, int] = {}
        self.tag, self.train, self.valid = array("i"), array("l"), array("l")  # by the number of a word
        self.totals: Counter[str] = Counter()

    @property
    def full(self) -> bool:
        return len(self.numbers) >= MOST_WORDS

    def add(self, split: str, words: Sequence[str], tags: Sequence[str]) -> None:
        self.totals[split] += len(words)
        for word, tag in zip(words, tags, strict=True):
            form = word.lower() if self.lowercase else word
            number = self.numbers.get(form)
            code = hash(tag) & 0x7FFFFFFF  # Python's own hash, as it is compared only within this process
            if number is None:
                if self.full:
                    continue
                number = self.numbers[form] = len(self.numbers)
                self.tag.append(code)
                self.train.append(0)
                self.valid.append(0)
            elif self.tag[number] != code:
                self.tag[number] = SEVERAL
            if split == TRAIN:
                self.train[number] += 1
            elif split == VALID:
                self.valid[number] += 1

    def report(self, inspection: Inspection) -> None:
        """Words with several tags, and words new in validation; a warning where many are new."""
        ambiguous = [number for number, tag in enumerate(self.tag) if tag == SEVERAL]
        occurrences = sum(self.train[number] for number in ambiguous)
        vocabulary, total = len(self.numbers), self.totals[TRAIN]
        size = f"{counted(vocabulary, 'word')}{' or more' if self.full else ''}"
        shares = f"{percent(len(ambiguous), vocabulary)} of them ({percent(occurrences, total)} of the text)"
        inspection.summarize("vocabulary", f"{size}; {shares} have several tags")
        total = self.totals[VALID]
        if self.full or not total:
            return
        new = sum(count for count, train in zip(self.valid, self.train, strict=True) if not train)
        message = f"{percent(new, total)} of validation words are not in training"
        inspection.summarize("new words", message)
        if new > MANY_NEW * total >= MANY_NEW * ENOUGH:
            helps = f"More training data helps, and so does {KeyName('model.characters')}"
            advice = f"Check that the splits are from the same source. {helps}"
            inspection.add("warning", Tally(new, []), Problem("new-words", message, advice))


class SpanTags:
    """Spans written as tags, B-X I-X O.

    astray: tags that continue a span that has not begun
    begins: tags B-X
    needless: tags B-X that do not follow a span of the same kind
    """

    def __init__(self) -> None:
        self.astray, self.begins, self.needless = Tally(), 0, 0

    def add(self, tags: Sequence[str], location: Location) -> None:
        astray = 0
        for previous, tag in zip(("O", *tags), tags, strict=False):
            astray += goes_astray(previous, tag)
            self.begins += tag[:2] == "B-"
            self.needless += tag[:2] == "B-" and previous[2:] != tag[2:]
        if astray:
            self.astray.add(location, astray)

    def report(self, tags: Iterable[str], inspection: Inspection) -> None:
        """A note, if the tags mark spans at all."""
        distinct = set(tags)
        if not all(SPAN_TAG.fullmatch(tag) for tag in distinct) or distinct <= {"O"}:
            return
        if not self.begins or not self.needless:  # B only between neighbors, or not at all: the first form, IOB1
            message = "spans begin with I- (the form IOB1)"
            advice = "Nothing to do: they are scored in this form; other tools may expect B- (IOB2)"
        else:
            message = f"{counted(self.astray.count, 'tag')} I-X (or E-X) without a B-X or I-X before"
            advice = "Write B-X where a span begins; otherwise these tags are scored as the beginning of a span"
        inspection.add("note", self.astray, Problem("spans", message, advice))


def goes_astray(previous: str, tag: str) -> bool:
    """Whether a tag continues a span that the previous tag is not in.

    >>> goes_astray("O", "I-PER"), goes_astray("B-LOC", "I-PER"), goes_astray("B-PER", "I-PER")
    (True, True, False)
    """
    if tag[1:2] != "-" or tag[0] not in CONTINUES:
        return False
    return previous[:1] not in OPEN or previous[1:] != tag[1:]
