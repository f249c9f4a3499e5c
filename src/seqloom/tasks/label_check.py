"""What training refuses about labels of texts or tags of words, and what a check says of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from seqloom.core.problem import KeyName, Problem, UserError
from seqloom.data.inspection.report import MAX_LOCATIONS, Tally, quote_list
from seqloom.data.prepare import missing_from_train
from seqloom.data.records import Location
from seqloom.data.source import DataSource
from seqloom.data.split import TRAIN

MESSAGE_LABELS = 3  # labels in a message


def subject(noun: str, labels: Sequence[str]) -> str:
    """Labels as the subject of a sentence, with its verb.

    >>> subject("label", ["a"]), subject("tag", ["a", "b"])
    ("label 'a' is", "tags 'a', 'b' are")
    """
    verb, plural = ("is", "") if len(labels) == 1 else ("are", "s")
    return f"{noun}{plural} {quote_list(labels, MESSAGE_LABELS)} {verb}"


def only_one(noun: str, labels: Iterable[str], advice: str) -> Problem:
    """All examples have the same label, or none has any."""
    message = f"only one {noun}, {next(iter(labels), 'none')!r}, so there is nothing to distinguish"
    return Problem("one-label", message, advice)


def not_in_train(noun: str, labels: Sequence[str], example: str) -> Problem:
    """Labels that only other splits have; `example` is what has one."""
    them = "it" if len(labels) == 1 else "them"
    advice = f"Add {example}s with {them}, or remove {them}"
    return Problem("not-in-train", f"{subject(noun, labels)} not in the training split", advice)


def seen_once(labels: Sequence[str]) -> Problem:
    """Labels of texts with one example."""
    they = "it" if len(labels) == 1 else "they"
    message = f"{subject('label', labels)} seen once, so {they} can't be both learnt and measured"
    return Problem(
        "label-seen-once", message, f"Add examples, or pass {KeyName('data.on_rare_label', 'skip')} (or keep)"
    )


MOST = 100_000  # distinct labels that are counted, so that a wrong column does not fill memory
SUMMARY_LABELS = 20  # labels in the summary

Answered = tuple[str, str, tuple[str, ...]]  # the split of the file, what the example is split by, its labels


@dataclass(slots=True)
class SeenLabel:
    """How often a label is in each split, and where it was first."""

    location: str
    splits: Counter[str] = field(default_factory=Counter)


class LabelCounts:
    """How often each label is in each split, and how many examples each split has."""

    def __init__(self) -> None:
        self.seen: dict[str, SeenLabel] = {}
        self.rows: Counter[str] = Counter()
        self.too_many = False  # whether there were labels that are not counted

    def add(self, split: str, labels: Sequence[str], location: Location) -> None:
        """Count the labels of an example."""
        self.rows[split] += 1
        for label in labels:
            if label not in self.seen:
                if len(self.seen) >= MOST:
                    self.too_many = True
                    continue
                self.seen[label] = SeenLabel(str(location))
            self.seen[label].splits[split] += 1

    def of_split(self, split: str) -> Counter[str]:
        """The counts of one split."""
        return Counter({label: seen.splits[split] for label, seen in self.seen.items() if seen.splits[split]})

    def tally(self, labels: Iterable[str]) -> Tally:
        """Some labels, at the locations where each is first."""
        chosen = list(labels)
        return Tally(len(chosen), [self.seen[label].location for label in chosen[:MAX_LOCATIONS]])

    def move_missing(
        self, source: DataSource, again: Callable[[], Iterator[Answered]], left_out: frozenset[str] = frozenset()
    ) -> None:
        """Count as training does: it learns from the examples of labels that its own split kept back whole.

        again: reads all examples once more
        left_out: labels whose examples training leaves out
        """
        missing = missing_from_train(
            source, {label: seen.splits for label, seen in self.seen.items() if label not in left_out}
        )
        for label in missing:
            splits: Counter[str] = Counter()
            for split, count in self.seen[label].splits.items():
                splits[split if source.has(split) else TRAIN] += count
            self.seen[label].splits = splits
        if missing or left_out:
            self.rows = rows_after(source, again, missing, left_out)

    def describe(self, counts: Counter[str], noun: str) -> str:
        """The most frequent labels with their counts, for the summary."""
        shown = ", ".join(f"{label[:20]} ({n:,})" for label, n in counts.most_common(SUMMARY_LABELS))
        return shown + (f", … ({len(counts):,} {noun}s)" if len(counts) > SUMMARY_LABELS else "")


def rows_after(
    source: DataSource, again: Callable[[], Iterator[Answered]], missing: set[str], left_out: frozenset[str]
) -> Counter[str]:
    """How many examples each split has in the end, by two more readings: equal contents move together."""
    moved = {
        content
        for split, content, labels in again()
        if split == TRAIN and missing.intersection(labels) and source.split_of(content, split) != TRAIN
    }
    rows: Counter[str] = Counter()
    for split, content, labels in again():
        if not left_out.intersection(labels):
            rows[TRAIN if split == TRAIN and content in moved else source.split_of(content, split)] += 1
    return rows


def ignore(_: UserError) -> None:
    """What to do about a problem that has been reported."""
