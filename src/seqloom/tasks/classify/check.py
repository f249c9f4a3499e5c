"""What `seqloom check` looks for in texts with labels."""

from collections import Counter
from collections.abc import Sequence

from seqloom.core.config.section import keys
from seqloom.core.problem import KeyName
from seqloom.core.wording import counted
from seqloom.data.inspection.findings import Inspection, Kind, Tally, percent, quote_list
from seqloom.data.records import Location, Value
from seqloom.data.source import DataSource
from seqloom.data.split import SPLITS, TRAIN, VALID
from seqloom.tasks.classify.config import ClassifyData
from seqloom.tasks.classify.data import GIVE_ANOTHER
from seqloom.tasks.label_check import LabelCheck, seen_once, single_label

FEW_EXAMPLES = 10  # of a label: fewer teach little
UNEVEN, VERY_UNEVEN = 10, 100  # ratios of the most frequent label to the rarest
OVERWHELMING = 0.9  # share of the most frequent label


class ClassifyCheck(LabelCheck):
    """Adds what training refuses about labels, how balanced they are, and white space around texts.

    multilabel: whether a text may have several labels, or none
    left_out: labels whose examples training leaves out
    """

    noun, content_noun, label_noun = "example", "text", "label"

    def __init__(self, source: DataSource, inspection: Inspection) -> None:
        super().__init__(source, inspection)
        self.config = keys(source.data, ClassifyData)
        self.multilabel = self.config.label_separator is not None
        self.left_out: frozenset[str] = frozenset()
        self.padded = Tally()

    def add(self, file_split: str, values: Sequence[Value], location: Location) -> None:
        text, labels = values
        self.multilabel |= len(labels) != 1
        self.add_labels(self.source.split_of(text, file_split), labels, location)
        self.text.add(text, location)
        if content := text.strip():
            self.contents.add(content, file_split, labels, location)
            if len(content) < len(text):
                self.padded.add(location)

    def report(self) -> None:
        if not self.rows:
            if not (self.inspection.has_error or self.inspection.bad_lines.by_code):
                self.report_labels()
            return
        if self.config.on_rare_label == "skip":
            self.left_out = frozenset(self.rare_labels())
        self.count_as_training(self.left_out)
        self.rows[TRAIN] += 0  # if all examples are left out, the split is reported as empty
        super().report()

    def size_of(self, split: str) -> str:
        return counted(self.rows[split], "text")

    def report_splits(self) -> None:
        super().report_splits()
        counts = sum((self.count_in(split) for split in SPLITS), Counter[str]())
        self.summarize_labels(counts)
        largest = self.count_in(TRAIN).most_common(1)
        if largest and len(counts) >= 2 and 2 * len(counts) <= self.rows.total() and not self.multilabel:
            label, split = largest[0][0], VALID if self.rows[VALID] else TRAIN
            accuracy = f"{percent(self.seen[label].splits[split], self.rows[split])} on {split}"
            self.inspection.summarize("baseline", f"always predicting {label!r} has an accuracy of {accuracy}")
        self.report_labels()

    def report_texts(self) -> None:
        super().report_texts()
        count, total = self.padded.count, self.text.characters.counts.total()
        message = f"{counted(count, 'text')} ({percent(count, total)}) with leading or trailing white space"
        advice = "Nothing to do for word tokens; a character or byte model sees it"
        self.add_finding("note", self.padded, "white-space-at-an-end", message, advice)

    def rare_labels(self) -> list[str]:
        """Labels with one example."""
        return [label for label, seen in self.seen.items() if seen.splits.total() == 1]

    def report_labels(self) -> None:
        kept = [label for label in self.seen if label not in self.left_out]
        if len(kept) < 2 and not self.multilabel:
            self.add_error(single_label("label", kept, GIVE_ANOTHER))
            return
        rows = self.rows.total()
        wrong_column = 2 * len(self.seen) > rows > FEW_EXAMPLES and not self.multilabel
        if wrong_column:
            number = f"{len(self.seen):,}{'+' if self.too_many else ''}"
            message = f"{number} different labels in {counted(rows, 'example')}"
            advice = f"Check that it is the right column, or name another with {KeyName('data.label')}"
            self.add_finding("warning", Tally(1, [self.source.name]), "many-labels", message, advice)
        self.report_missing_from_train(kept)
        if self.rows[VALID] and self.source.has(VALID):
            missing = [label for label, seen in self.seen.items() if seen.splits[TRAIN] and not seen.splits[VALID]]
            advice = "Add examples there: the validation split selects the best checkpoint"
            self.add_label_finding("note", missing, "missing-in-valid", "not in the validation split", advice)
        self.report_rare_labels()
        if wrong_column:
            return
        if rows >= 10 * FEW_EXAMPLES:
            few = [label for label, seen in self.seen.items() if 1 < seen.splits.total() < FEW_EXAMPLES]
            advice = "Add examples, or merge rare labels into one"
            self.add_label_finding("note", few, "rare-label", f"in fewer than {FEW_EXAMPLES} examples", advice)
        self.report_similar_labels()
        if not self.multilabel:
            self.report_uneven_labels()

    def report_rare_labels(self) -> None:
        labels, policy = self.rare_labels(), self.config.on_rare_label
        if policy == "skip":
            predicate = "in a single example, and would be skipped"
            advice = f"Add examples, or pass {KeyName('data.on_rare_label', 'keep')}"
            self.add_label_finding("warning", labels, "skipped-label", predicate, advice)
        else:
            self.inspection.add("error" if policy == "refuse" else "warning", self.tally(labels), seen_once(labels))

    def report_similar_labels(self) -> None:
        """Labels that differ in case or white space only are likely the same."""
        forms: dict[str, list[str]] = {}
        for label in self.seen:
            forms.setdefault(" ".join(label.casefold().split()), []).append(label)
        if similar := [group for group in forms.values() if len(group) > 1]:
            message = f"labels that differ only in capitals or spaces: {quote_list(similar[0])}"
            tally = self.tally(label for group in similar for label in group)
            self.add_finding("warning", tally, "labels-alike", message, "Write them the same way")

    def report_uneven_labels(self) -> None:
        counts, total = self.count_in(TRAIN), self.rows[TRAIN]
        if len(counts) < 2 or total < 10 * FEW_EXAMPLES:
            return
        (large, most), *_, (small, least) = counts.most_common()
        if most >= UNEVEN * least:
            very = most >= VERY_UNEVEN * least or most > OVERWHELMING * total
            shares = f"{large!r} is {percent(most, total)} of the training split and {small!r} {percent(least, total)}"
            advice = "Look at macro F1 as well as accuracy, and add examples of the rare ones if you can"
            kind: Kind = "warning" if very else "note"
            self.add_finding(kind, Tally(1, []), "uneven-labels", f"the labels are imbalanced: {shares}", advice)


check = ClassifyCheck.check
