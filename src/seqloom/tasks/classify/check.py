"""What `seqloom check` looks for in texts with labels."""

from collections import Counter
from collections.abc import Iterator, Sequence

from seqloom.core.config.section import keys
from seqloom.core.plurals import counted
from seqloom.core.problem import KeyName, Problem
from seqloom.data.inspection.duplicates import TextIndex, report_contradictions, report_duplicates, report_overlap
from seqloom.data.inspection.report import Inspection, Tally, percent, quote_list
from seqloom.data.inspection.text_quality import TextQuality
from seqloom.data.records import Location
from seqloom.data.source import DataSource
from seqloom.data.split import SPLITS, TRAIN, VALID
from seqloom.tasks.classify.config import ClassifyData
from seqloom.tasks.classify.data import GIVE_ANOTHER
from seqloom.tasks.label_check import Answered, LabelCounts, ignore, not_in_train, only_one, seen_once, subject
from seqloom.tasks.row_check import report_empty_splits, summarize_splits

FEW_EXAMPLES = 10  # of a label: fewer teach little
UNEVEN, VERY_UNEVEN = 10, 100  # times as many of the largest label as of the smallest
OVERWHELMING = 0.9  # share of the largest


def check(source: DataSource, inspection: Inspection) -> None:
    """One reading of everything, and two more where training moves or leaves out examples because of their labels."""
    data = keys(source.data, ClassifyData)
    labels = TextLabels(data.label_separator is not None)
    contents = TextIndex()
    texts, padded = TextQuality("text", data.max_length, data.tokenizer or "word"), Tally()
    for file_split, (values, location) in source.examples(inspection.bad_lines, inspection.add_error):
        text, answers = values
        labels.add(source.split_of(text, file_split), answers, location)
        texts.add(text, location)
        if content := text.strip():
            contents.add(content, file_split, answers, location)
            if len(content) < len(text):
                padded.add(location)
    if not labels.rows:
        if not (inspection.refused or inspection.bad_lines.by_code):
            report_labels(labels, source, inspection)
        return  # otherwise there is an error already: no file could be read
    labels.settle(source)
    summarize_splits(labels.rows, "text", source, inspection)
    summarize_labels(labels, inspection)
    report_labels(labels, source, inspection)
    report_empty_splits(labels.rows, "example", source, inspection)
    repeated = contents.repeated()
    report_duplicates(repeated, "text", inspection)
    report_overlap(repeated, "text", inspection)
    report_contradictions(repeated, "text", "labels", inspection)
    inspection.summarize("characters", texts.characters.describe())
    inspection.summarize("words", texts.words.describe())
    texts.report_blank(inspection)
    texts.report(inspection)
    total = texts.characters.counts.total()
    message = f"{counted(padded.count, 'text')} ({percent(padded.count, total)}) with white space at an end"
    inspection.add(
        "note",
        padded,
        Problem("white-space-at-an-end", message, "Nothing for words; a character or byte model sees it"),
    )


class TextLabels(LabelCounts):
    """Counts of the labels of texts.

    several: whether a text may have several labels, or none
    left_out: labels whose examples training leaves out
    """

    def __init__(self, several: bool) -> None:
        super().__init__()
        self.several = several
        self.left_out: frozenset[str] = frozenset()

    def add(self, split: str, labels: Sequence[str], location: Location) -> None:
        """Count the labels of a text."""
        self.several |= len(labels) != 1
        super().add(split, labels, location)

    def settle(self, source: DataSource) -> None:
        """Count as training does: rare labels left out if asked to, labels that its own split kept back learnt from."""
        if keys(source.data, ClassifyData).on_rare_label == "skip":
            self.left_out = frozenset(self.once())
        self.move_missing(source, lambda: read_again(source), self.left_out)

    def once(self) -> list[str]:
        """Labels with one example."""
        return [label for label, seen in self.seen.items() if seen.splits.total() == 1]

    def kept(self) -> list[str]:
        """Labels that are not left out."""
        return [label for label in self.seen if label not in self.left_out]


def read_again(source: DataSource) -> Iterator[Answered]:
    """All examples once more; problems have been reported by the first reading."""
    for split, (values, _) in source.examples(ignore, ignore):
        text, labels = values
        yield split, text, labels


def summarize_labels(labels: TextLabels, inspection: Inspection) -> None:
    """The labels with their counts, and the accuracy of always predicting the most frequent one."""
    counts = sum((labels.of_split(split) for split in SPLITS), Counter[str]())
    inspection.summarize("labels", labels.describe(counts, "label") or "none")
    if labels.several or len(counts) < 2 or 2 * len(counts) > labels.rows.total():
        return
    largest = labels.of_split(TRAIN).most_common(1)
    measured = VALID if labels.rows[VALID] else TRAIN
    if largest:
        right = labels.seen[largest[0][0]].splits[measured]
        accuracy = f"{percent(right, labels.rows[measured])} of {measured}"
        inspection.summarize("baseline", f"always saying {largest[0][0]!r} is right on {accuracy}")


def report_labels(labels: TextLabels, source: DataSource, inspection: Inspection) -> None:
    """What training would refuse about the labels, and what else is worth knowing."""
    if len(labels.kept()) < 2 and not labels.several:
        inspection.add("error", Tally(1, [source.name]), only_one("label", labels.kept(), GIVE_ANOTHER))
        return
    rows = labels.rows.total()
    doubtful = 2 * len(labels.seen) > rows > FEW_EXAMPLES and not labels.several
    if doubtful:
        message = f"{len(labels.seen):,}{'+' if labels.too_many else ''} different labels in {counted(rows, 'example')}"
        inspection.add(
            "warning",
            Tally(1, [source.name]),
            Problem("many-labels", message, f"Is it the right column? Name it with {KeyName('data.label')}"),
        )
    report_missing(labels, source.has(VALID), inspection)
    report_once(labels, keys(source.data, ClassifyData).on_rare_label, inspection)
    if doubtful:
        return  # more would be said of labels that are none
    report_few(labels, inspection)
    report_alike(labels, inspection)
    if not labels.several:
        report_uneven(labels, inspection)


def report_missing(labels: TextLabels, valid_given: bool, inspection: Inspection) -> None:
    """Labels that one split has and another lacks."""
    unseen = [label for label in labels.kept() if not labels.seen[label].splits[TRAIN]]
    inspection.add("error", labels.tally(unseen), not_in_train("label", unseen, "example"))
    if labels.rows[VALID] and valid_given:
        missing = [label for label, seen in labels.seen.items() if seen.splits[TRAIN] and not seen.splits[VALID]]
        message = f"{subject('label', missing)} never in the validation split"
        advice = "Add examples there, as the best model is chosen by what is there"
        inspection.add("note", labels.tally(missing), Problem("missing-in-valid", message, advice))


def report_once(labels: TextLabels, on_rare: str | None, inspection: Inspection) -> None:
    """Labels with one example."""
    rare = labels.once()
    if on_rare == "skip":
        message = f"{subject('label', rare)} seen once, and would be skipped"
        advice = f"Add examples, or pass {KeyName('data.on_rare_label', 'keep')}"
        inspection.add("warning", labels.tally(rare), Problem("skipped-label", message, advice))
    else:
        inspection.add("error" if on_rare == "refuse" else "warning", labels.tally(rare), seen_once(rare))


def report_few(labels: TextLabels, inspection: Inspection) -> None:
    """Labels with a few examples, in data that have many."""
    rare = [label for label, seen in labels.seen.items() if 1 < seen.splits.total() < FEW_EXAMPLES]
    if labels.rows.total() >= 10 * FEW_EXAMPLES:
        message = f"{subject('label', rare)} seen fewer than {FEW_EXAMPLES} times"
        inspection.add(
            "note", labels.tally(rare), Problem("rare-label", message, "Add examples, or join rare labels into one")
        )


def report_alike(labels: TextLabels, inspection: Inspection) -> None:
    """Labels that differ in capitals or white space alone are likely the same."""
    forms: dict[str, list[str]] = {}
    for label in labels.seen:
        forms.setdefault(" ".join(label.casefold().split()), []).append(label)
    same = [group for group in forms.values() if len(group) > 1]
    if same:
        message = f"labels that differ in capitals or spaces alone: {quote_list(same[0])}"
        tally = labels.tally(label for group in same for label in group)
        inspection.add("warning", tally, Problem("labels-alike", message, "Write them the same way"))


def report_uneven(labels: TextLabels, inspection: Inspection) -> None:
    """A most frequent label that drowns the others."""
    counts = labels.of_split(TRAIN)
    total = labels.rows[TRAIN]
    if len(counts) < 2 or total < 10 * FEW_EXAMPLES:
        return
    (large, most), (small, least) = counts.most_common()[0], counts.most_common()[-1]
    if most < UNEVEN * least:
        return
    very = most >= VERY_UNEVEN * least or most > OVERWHELMING * total
    shares = f"{large!r} is {percent(most, total)} of the training split and {small!r} {percent(least, total)}"
    advice = "Look at macro F1 as well as accuracy, and add examples of the rare ones if you can"
    inspection.add(
        "warning" if very else "note", Tally(1, []), Problem("uneven-labels", f"labels are uneven: {shares}", advice)
    )
