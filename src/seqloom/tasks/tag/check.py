"""What `seqloom check` looks for in sentences of words with tags."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from seqloom.core.config.section import keys
from seqloom.core.problem import KeyName, Problem
from seqloom.core.wording import counted
from seqloom.data.inspection.duplicates import SEPARATOR, Duplicates
from seqloom.data.inspection.findings import Inspection, Tally, percent
from seqloom.data.records import Location, Value
from seqloom.data.source import DataSource
from seqloom.data.split import TRAIN, VALID
from seqloom.tasks.label_check import LabelCheck, single_label
from seqloom.tasks.tag.config import TagData
from seqloom.tasks.tag.data import ANOTHER_COLUMN

SHORT = 5  # words: a shorter sentence ("Thank you .") may well be in many files
MANY_SINGLE = 0.25  # of sentences with one word: more are a warning

MOST_WORDS = 1_000_000  # distinct words that are counted: about 150 MB
MANY_NEW = 0.3  # share of validation words that are not in training: more is a warning
ENOUGH = 100  # words: a share of fewer says little

SPAN_TAG = re.compile(r"O|[BIESLUM]-.+")
CONTINUES, OPEN = frozenset("IELM"), frozenset("BIM")  # tags that continue a span, and those that leave one open


class TagCheck(LabelCheck):
    """Adds what training refuses about tags, the words with their tags, spans, and sentences of one word."""

    noun, content_noun, label_noun = "sentence", "sentence", "tag"
    qualifier = f" (of {SHORT} words or more)"

    def __init__(self, source: DataSource, inspection: Inspection) -> None:
        super().__init__(source, inspection)
        self.words, self.spans = WordCounts(keys(source.data, TagData).lowercase), SpanTags()
        self.single = Tally()

    def add(self, file_split: str, values: Sequence[Value], location: Location) -> None:
        words, tags = values
        text = " ".join(words)
        split = self.source.split_of(text, file_split)
        self.add_labels(split, tags, location)
        self.words.add(split, words, tags)
        self.spans.add(tags, location)
        self.text.add(text, location, len(words))
        if len(words) >= SHORT:
            self.contents.add(SEPARATOR.join(words), file_split, tags, location)
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
        self.report_missing_from_train(self.seen)
        once = [tag for tag, count in counts.items() if count == 1 and train[tag]]
        advice = "Check for a typing mistake; one example is too few to learn from"
        self.add_label_finding("warning", once, "tag-seen-once", "seen once", advice)

    def report_contents(self, duplicates: Duplicates) -> None:
        super().report_contents(duplicates)
        self.spans.report(self.seen, self.inspection)

    def report_texts(self) -> None:
        super().report_texts()
        count, total = self.single.count, self.text.words.counts.total()
        many = count > MANY_SINGLE * total
        message = f"{counted(count, 'sentence')} of one word ({percent(count, total)})"
        advice = "Check for blank lines between words" if many else "Nothing to do if they are headings or the like"
        self.add_finding("warning" if many else "note", self.single, "one-word-sentences", message, advice)


@dataclass(slots=True)
class WordCount:
    """How often a word is in train and valid, and its one tag; None if it has several."""

    tag: str | None
    train: int = 0
    valid: int = 0


class WordCounts:
    """Counts of distinct words, and how many words each split has."""

    def __init__(self, lowercase: bool) -> None:
        self.lowercase = lowercase
        self.words: dict[str, WordCount] = {}
        self.tags: dict[str, str] = {}  # each tag once, since a file has a new string for each word
        self.totals: Counter[str] = Counter()

    @property
    def full(self) -> bool:
        return len(self.words) >= MOST_WORDS

    def add(self, split: str, words: Sequence[str], tags: Sequence[str]) -> None:
        self.totals[split] += len(words)
        for word, tag in zip(words, tags, strict=True):
            form = word.lower() if self.lowercase else word
            if form not in self.words:
                if self.full:
                    continue
                self.words[form] = WordCount(self.tags.setdefault(tag, tag))
            count = self.words[form]
            count.train += split == TRAIN
            count.valid += split == VALID
            if count.tag != tag:
                count.tag = None

    def report(self, inspection: Inspection) -> None:
        """Words with several tags, and words new in validation; a warning where many are new."""
        ambiguous = [count for count in self.words.values() if count.tag is None]
        occurrences = percent(sum(count.train for count in ambiguous), self.totals[TRAIN])
        size = f"{counted(len(self.words), 'word')}{' or more' if self.full else ''}"
        shares = f"{percent(len(ambiguous), len(self.words))} of them ({occurrences} of the text)"
        inspection.summarize("vocabulary", f"{size}; {shares} have several tags")
        total = self.totals[VALID]
        if self.full or not total:
            return
        new = sum(count.valid for count in self.words.values() if not count.train)
        message = f"{percent(new, total)} of validation words are not in training"
        inspection.summarize("new words", message)
        if new > MANY_NEW * total >= MANY_NEW * ENOUGH:
            helps = f"More training data helps, and so does {KeyName('model.characters')}"
            advice = f"Check that the splits are from the same source. {helps}"
            inspection.add("warning", Tally(new, []), Problem("new-words", message, advice))


class SpanTags:
    """Spans written as tags, B-X I-X O.

    stray: tags that continue a span that the previous tag is not in
    begins: tags B-X
    redundant: tags B-X that do not follow a span of the same kind
    """

    def __init__(self) -> None:
        self.stray, self.begins, self.redundant = Tally(), 0, 0

    def add(self, tags: Sequence[str], location: Location) -> None:
        stray = 0
        for previous, tag in zip(("O", *tags), tags, strict=False):
            in_span = previous[:1] in OPEN and previous[1:] == tag[1:]
            stray += tag[1:2] == "-" and tag[0] in CONTINUES and not in_span
            self.begins += tag[:2] == "B-"
            self.redundant += tag[:2] == "B-" and previous[2:] != tag[2:]
        if stray:
            self.stray.add(location, stray)

    def report(self, tags: Iterable[str], inspection: Inspection) -> None:
        """A note, if the tags mark spans at all."""
        distinct = set(tags)
        if not all(SPAN_TAG.fullmatch(tag) for tag in distinct) or distinct <= {"O"}:
            return
        if not self.begins or not self.redundant:  # B only between neighbors, or not at all: IOB1
            message = "spans begin with I- (the scheme IOB1)"
            advice = "Nothing to do: they are scored by this scheme; other tools may expect B- (IOB2)"
        else:
            message = f"{counted(self.stray.count, 'tag')} I-X (or E-X) without a B-X or I-X before"
            advice = "Write B-X where a span begins; otherwise these tags are scored as the beginning of a span"
        inspection.add("note", self.stray, Problem("spans", message, advice))


check = TagCheck.check
