"""Labels: which there are, in which parts, how evenly."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from seqloom.data.examples import Labelled
from seqloom.data.inspection.gathered import FEW, Gathered, Tally, listed, share
from seqloom.data.inspection.moving import at_home, homeless
from seqloom.data.inspection.sources import Sources
from seqloom.data.split import PARTS, TRAIN, VALID
from seqloom.data.wording import counted

MOST = 100_000  # distinct labels that are counted, so that a wrong column does not fill memory
SHOWN = 20  # labels in the summary
FEW_EXAMPLES = 10  # of a label: fewer teach little
UNEVEN, VERY_UNEVEN = 10, 100  # times as many of the largest label as of the smallest
OVERWHELMING = 0.9  # share of the largest


@dataclass(slots=True)
class Seen:
    """How often a label is in each part, and where it was first."""

    place: str
    parts: Counter[str] = field(default_factory=Counter)


class Labels:
    """Counts of labels."""

    def __init__(self, several: bool) -> None:
        self.several = several  # labels a row
        self.seen: dict[str, Seen] = {}
        self.rows: Counter[str] = Counter()
        self.untold = 0  # labels that came when there were too many
        self.left_out: set[str] = set()
        self.moved: set[str] = set()  # from what was kept back to the training part

    def add(self, part: str, example: Labelled) -> None:
        """One more example."""
        self.rows[part] += 1
        self.several |= len(example.labels) != 1
        for label in example.labels:
            if label not in self.seen:
                if len(self.seen) >= MOST:
                    self.untold += 1
                    continue
                self.seen[label] = Seen(str(example.place))
            self.seen[label].parts[part] += 1

    def counts(self, part: str) -> Counter[str]:
        """Of one part."""
        return Counter({label: seen.parts[part] for label, seen in self.seen.items() if seen.parts[part]})

    def where(self, labels: Iterable[str]) -> Tally:
        """Labels, at the places where each is first."""
        chosen = list(labels)
        return Tally(len(chosen), [self.seen[label].place for label in chosen[:FEW]])

    def settle(self, what: Sources) -> None:
        """What training does before it looks: leave out rare labels if asked to, learn what its own split held back."""
        if what.data.on_rare_label == "skip":
            self.left_out = {label for label, seen in self.seen.items() if seen.parts.total() == 1}
        parts_of = ((label, seen.parts) for label, seen in self.seen.items() if label not in self.left_out)
        self.moved = homeless(what, parts_of)
        for label in self.moved:
            self.seen[label].parts = at_home(what, self.seen[label].parts)

    def kept(self) -> list[str]:
        """Labels that are not left out."""
        return [label for label in self.seen if label not in self.left_out]


def summarise(labels: Labels, found: Gathered) -> None:
    """The labels with their counts, and what always saying the largest would score."""
    counts = sum((labels.counts(part) for part in PARTS), Counter[str]())
    shown = ", ".join(f"{label[:20]} ({n:,})" for label, n in counts.most_common(SHOWN))
    more = f", … ({len(counts):,} labels)" if len(counts) > SHOWN else ""
    found.summary.append(("labels", (shown + more) or "none"))
    if labels.several or len(counts) < 2 or 2 * len(counts) > labels.rows.total():
        return
    largest = labels.counts(TRAIN).most_common(1)
    measured = VALID if labels.rows[VALID] else TRAIN
    if largest:
        right = labels.seen[largest[0][0]].parts[measured]
        what = f"always saying {largest[0][0]!r} is right on {share(right, labels.rows[measured])} of {measured}"
        found.summary.append(("baseline", what))


def tell(labels: Labels, whole: Sources, found: Gathered) -> None:
    """What training would refuse about the labels, and what else is worth knowing."""
    if len(labels.kept()) < 2 and not labels.several:
        what = f"only one label, {next(iter(labels.kept()), 'none')!r}, so there is nothing to distinguish"
        found.add("error", Tally(1, [whole.name]), what, "Give examples of another")
        return
    rows = labels.rows.total()
    doubtful = 2 * len(labels.seen) > rows > FEW_EXAMPLES and not labels.several
    if doubtful:
        what = f"{len(labels.seen):,}{'+' if labels.untold else ''} different labels in {counted(rows, 'example')}"
        found.add("warning", Tally(1, [whole.name]), what, "Is it the right column? Name it with --data.label")
    apart(labels, whole.given(VALID), found)
    once(labels, whole.data.on_rare_label, found)
    if doubtful:
        return  # more would be said of labels that are none
    few(labels, found)
    alike(labels, found)
    if not labels.several:
        uneven(labels, found)


def apart(labels: Labels, valid_given: bool, found: Gathered) -> None:
    """Labels that one part has and another lacks."""
    unseen = [label for label in labels.kept() if not labels.seen[label].parts[TRAIN]]
    what = f"{label_or_labels(unseen)} {are(unseen)} not in the training part"
    found.add("error", labels.where(unseen), what, "Add examples, or remove these")
    if labels.rows[VALID] and valid_given:
        missing = [label for label, seen in labels.seen.items() if seen.parts[TRAIN] and not seen.parts[VALID]]
        what = f"{label_or_labels(missing)} {are(missing)} never in the validation part"
        found.add(
            "note", labels.where(missing), what, "Add examples there, as the best model is chosen by what is there"
        )


def once(labels: Labels, on_rare: str | None, found: Gathered) -> None:
    """Labels with one example."""
    rare = [label for label, seen in labels.seen.items() if seen.parts.total() == 1]
    if on_rare == "skip":
        what = f"{label_or_labels(rare)} {are(rare)} seen once, and would be skipped"
        found.add("warning", labels.where(rare), what, "Add examples, or pass --data.on-rare-label keep")
    else:
        they = "it" if len(rare) == 1 else "they"
        what = f"{label_or_labels(rare)} {are(rare)} seen once, so {they} can't be both learnt and measured"
        do = "Add examples, or pass --data.on-rare-label skip (or keep)"
        found.add("error" if on_rare == "refuse" else "warning", labels.where(rare), what, do)


def few(labels: Labels, found: Gathered) -> None:
    """Labels with a few examples, in data that have many."""
    rare = [label for label, seen in labels.seen.items() if 1 < seen.parts.total() < FEW_EXAMPLES]
    if labels.rows.total() >= 10 * FEW_EXAMPLES:
        what = f"{label_or_labels(rare)} {are(rare)} seen fewer than {FEW_EXAMPLES} times"
        found.add("note", labels.where(rare), what, "Add examples, or join rare labels into one")


def alike(labels: Labels, found: Gathered) -> None:
    """Labels that differ in capitals or white space alone are likely the same."""
    forms: dict[str, list[str]] = {}
    for label in labels.seen:
        forms.setdefault(" ".join(label.casefold().split()), []).append(label)
    same = [group for group in forms.values() if len(group) > 1]
    if same:
        what = f"labels that differ in capitals or spaces alone: {listed(same[0])}"
        found.add("warning", labels.where(label for group in same for label in group), what, "Write them the same way")


def uneven(labels: Labels, found: Gathered) -> None:
    """A largest label that drowns the others."""
    counts = labels.counts(TRAIN)
    if len(counts) < 2 or labels.rows[TRAIN] < 10 * FEW_EXAMPLES:
        return
    (large, most), (small, least) = counts.most_common()[0], counts.most_common()[-1]
    total = labels.rows[TRAIN]
    if most < UNEVEN * least:
        return
    very = most >= VERY_UNEVEN * least or most > OVERWHELMING * total
    what = (
        f"labels are uneven: {large!r} is {share(most, total)} of the training part and {small!r} {share(least, total)}"
    )
    do = "Look at macro F1 as well as accuracy, and add examples of the rare ones if you can"
    found.add("warning" if very else "note", Tally(1, []), what, do)


def label_or_labels(labels: list[str]) -> str:
    """Their names, as the subject of a sentence.

    >>> label_or_labels(["a"]), label_or_labels(["a", "b"])
    ("label 'a'", "labels 'a', 'b'")
    """
    return f"label{'s' if len(labels) != 1 else ''} {listed(labels, most=3)}"


def are(labels: list[str]) -> str:
    """The verb that goes with them."""
    return "is" if len(labels) == 1 else "are"


def tell_empty(rows: Counter[str], noun: str, what: Sources, found: Gathered) -> None:
    """Parts that training can't do without; of files that hold nothing it has been said already."""
    refused = any(finding.kind == "error" for finding in found.findings)
    for part in (TRAIN, VALID):
        if not rows[part] and not (refused and what.given(part)):
            do = f"Give more {noun}s, a larger --data.valid-share, or a file of its own with --valid"
            found.add("error", Tally(1, [what.name]), f"no {noun} is left for the {part} part", do)
