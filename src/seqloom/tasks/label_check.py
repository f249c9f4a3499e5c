"""Labels of texts and tags of words: what training refuses about them, and what their checks share."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from seqloom.core.problem import DataError, KeyName, Problem, UserError
from seqloom.data.inspection.duplicates import Duplicates, report_contradictions
from seqloom.data.inspection.findings import MAX_LOCATIONS, Inspection, Kind, Tally, quote_list
from seqloom.data.inspection.text_quality import TextQuality
from seqloom.data.prepare import SplitExamples, missing_from_train
from seqloom.data.records import Location, content_text
from seqloom.data.source import DataSource
from seqloom.data.split import TRAIN
from seqloom.tasks.data_check import RowCheck

MESSAGE_LABELS = 3  # labels in a message
MAX_LABELS = 100_000  # distinct labels that are counted, so that a wrong column does not fill memory
SUMMARY_LABELS = 20  # labels in the summary


def subject(noun: str, labels: Sequence[str]) -> str:
    """Labels as the subject of a sentence, with its verb.

    >>> subject("label", ["a"]), subject("tag", ["a", "b"])
    ("label 'a' is", "tags 'a', 'b' are")
    """
    verb, plural = ("is", "") if len(labels) == 1 else ("are", "s")
    return f"{noun}{plural} {quote_list(labels, MESSAGE_LABELS)} {verb}"


# What training refuses ----------------------------------------------------------------------------------------------


def single_label(noun: str, labels: Iterable[str], advice: str) -> Problem:
    """All examples have the same label, or none has any."""
    message = f"only one {noun}, {next(iter(labels), 'none')!r}, so there is nothing to distinguish"
    return Problem("one-label", message, advice)


def not_in_train(noun: str, labels: Sequence[str], example: str) -> Problem:
    """Only other splits have these labels; `example` is what has a label."""
    them = "it" if len(labels) == 1 else "them"
    advice = f"Add {example}s with {them}, or remove {them}"
    return Problem("not-in-train", f"{subject(noun, labels)} not in the training split", advice)


def seen_once(labels: Sequence[str]) -> Problem:
    """These labels of texts have one example each."""
    they = "it" if len(labels) == 1 else "they"
    message = f"{subject('label', labels)} in a single example, so {they} can't be both in training and in validation"
    advice = f"Add examples, or pass {KeyName('data.on_rare_label', 'skip')} (or keep)"
    return Problem("label-seen-once", message, advice)


def refuse_labels(problem: Problem, examples: SplitExamples, labels: Sequence[str] = ()) -> None:
    """Raise the problem, located at the first of the labels, or at the data as a whole."""
    location = examples.first_location(labels[0]) if labels else examples.source.name
    raise DataError.of(replace(problem, location=str(location)))


# What a check counts -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class SeenLabel:
    """How often a label is in each split, and its first location."""

    location: str
    splits: Counter[str] = field(default_factory=Counter)


class LabelCheck(RowCheck):
    """Adds how often each label is in each split, counted as training counts; contradictions; the quality of contents.

    seen: by label
    too_many: whether there are labels that are not counted
    """

    label_noun: ClassVar[str]

    def __init__(self, source: DataSource, inspection: Inspection) -> None:
        super().__init__(source, inspection)
        self.seen: dict[str, SeenLabel] = {}
        self.too_many = False
        max_length, tokenizer = (getattr(source.data, name, None) for name in ("max_length", "tokenizer"))
        self.text = TextQuality(self.content_noun, max_length, tokenizer or "word")

    def add_labels(self, split: str, labels: Sequence[str], location: Location) -> None:
        self.rows[split] += 1
        for label in labels:
            if label not in self.seen:
                if len(self.seen) >= MAX_LABELS:
                    self.too_many = True
                    continue
                self.seen[label] = SeenLabel(str(location))
            self.seen[label].splits[split] += 1

    def count_in(self, split: str) -> Counter[str]:
        return Counter({label: seen.splits[split] for label, seen in self.seen.items() if seen.splits[split]})

    def tally(self, labels: Iterable[str]) -> Tally:
        """The number of some labels, and the first locations of the first few."""
        labels = list(labels)
        return Tally(len(labels), [self.seen[label].location for label in labels[:MAX_LOCATIONS]])

    def count_as_training(self, left_out: frozenset[str] = frozenset()) -> None:
        """Move to train the examples of a label that the split by content holds out entirely, as training does.

        left_out: labels whose examples training leaves out
        """
        counts = {label: seen.splits for label, seen in self.seen.items() if label not in left_out}
        missing = missing_from_train(self.source, counts)
        for label in missing:
            splits: Counter[str] = Counter()
            for split, count in self.seen[label].splits.items():
                splits[split if self.source.has(split) else TRAIN] += count
            self.seen[label].splits = splits
        if missing or left_out:
            # Two more readings, as examples with equal contents move together.
            moved = {
                content
                for file_split, content, labels in self.read_again()
                if file_split == TRAIN
                and missing.intersection(labels)
                and self.source.split_of(content, file_split) != TRAIN
            }
            self.rows = Counter(
                TRAIN if file_split == TRAIN and content in moved else self.source.split_of(content, file_split)
                for file_split, content, labels in self.read_again()
                if not left_out.intersection(labels)
            )

    def read_again(self) -> Iterator[tuple[str, str, Sequence[str]]]:
        """The file's split, the content and the labels of each example; the first reading has reported the problems."""
        for file_split, (values, _) in self.source.examples(ignore, ignore):
            content, labels = values
            yield file_split, content_text(content), labels

    def summarize_labels(self, counts: Mapping[str, int]) -> None:
        frequent = Counter(counts).most_common(SUMMARY_LABELS)
        text = ", ".join(f"{label[:20]} ({count:,})" for label, count in frequent)
        more = f", … ({len(counts):,} {self.label_noun}s)" if len(counts) > SUMMARY_LABELS else ""
        self.inspection.summarize(f"{self.label_noun}s", text + more or "none")

    def report_missing_from_train(self, labels: Iterable[str]) -> None:
        missing = [label for label in labels if not self.seen[label].splits[TRAIN]]
        self.inspection.add("error", self.tally(missing), not_in_train(self.label_noun, missing, self.noun))

    def add_label_finding(self, kind: Kind, labels: Sequence[str], code: str, predicate: str, advice: str) -> None:
        """A finding about some labels: that they are `predicate`."""
        self.add_finding(kind, self.tally(labels), code, f"{subject(self.label_noun, labels)} {predicate}", advice)

    def report_contents(self, duplicates: Duplicates) -> None:
        super().report_contents(duplicates)
        report_contradictions(duplicates, self.content_noun, f"{self.label_noun}s", self.inspection, self.qualifier)

    def report_texts(self) -> None:
        self.inspection.summarize("characters", self.text.characters.describe())
        self.inspection.summarize("words", self.text.words.describe())
        self.text.report_blank(self.inspection)
        self.text.report(self.inspection)


def ignore(_: UserError) -> None:
    """Pass over a problem that is reported already."""
