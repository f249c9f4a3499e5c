"""Tags of a sequence: how many are right, and how many of the spans that they mark."""

from collections import Counter
from collections.abc import Iterable, Sequence

from seqloom.core.problem import ArgumentError
from seqloom.tasks.metrics.counts import Counts, macro_f1, micro, table

Span = tuple[int, int, str]

# What the first letter of a tag says of its place in a span; schemes differ in how much they say, and in letters.
PLACES = {
    "B": "begins",
    "I": "inside",
    "M": "inside",
    "E": "ends",
    "L": "ends",
    "S": "alone",
    "U": "alone",
    "W": "alone",
}
OUTSIDE = ("outside", "")


class Tags:
    """Tags one by one.

        accuracy = right tags / tags
        sentence accuracy = sequences with all tags right / sequences

    >>> tags = Tags()
    >>> tags.add(gold=["DET", "NOUN"], predicted=["DET", "VERB"])
    >>> tags.add(gold=["VERB", "NOUN"], predicted=["VERB", "NOUN"])
    >>> tags.scores()
    {'accuracy': 0.75, 'sentence_accuracy': 0.5}
    """

    def __init__(self) -> None:
        self.tags = self.right = self.sentences = self.right_sentences = 0

    def add(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        """The tags of one whole sequence, one predicted for each gold one."""
        check_as_many(type(self).__name__, gold, predicted)
        right = sum(one == other for one, other in zip(gold, predicted, strict=True))
        self.tags += len(gold)
        self.right += right
        self.sentences += 1
        self.right_sentences += right == len(gold)

    def scores(self) -> dict[str, float]:
        """accuracy, sentence_accuracy; nothing if nothing was counted."""
        if not self.tags:
            return {}
        return {"accuracy": self.right / self.tags, "sentence_accuracy": self.right_sentences / self.sentences}


class Spans:
    """Spans found, right if begin, end and kind are: the scores of conlleval, and of seqeval's default mode.

        precision = right spans / predicted spans
        recall = right spans / gold spans
        F1 = 2 · precision · recall / (precision + recall)

    all kinds as one; the macro F1 is the mean over kinds. What would divide by zero is 0.

    >>> found = Spans()
    >>> found.add(gold=["B-PER", "I-PER", "O", "B-LOC"], predicted=["B-PER", "I-PER", "O", "O"])
    >>> found.scores()
    {'span_precision': 1.0, 'span_recall': 0.5, 'span_f1': 0.666..., 'span_macro_f1': 0.5}
    """

    def __init__(self) -> None:
        self.sequences = 0
        self.right: Counter[str] = Counter()
        self.predicted: Counter[str] = Counter()
        self.gold: Counter[str] = Counter()

    def add(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        """The tags of one sequence; no span goes on into the next."""
        check_as_many(type(self).__name__, gold, predicted)
        true, found = spans(gold), spans(predicted)
        self.sequences += 1
        self.right.update(kind for _, _, kind in true & found)
        self.predicted.update(kind for _, _, kind in found)
        self.gold.update(kind for _, _, kind in true)

    def scores(self) -> dict[str, float]:
        """span_precision, span_recall, span_f1, span_macro_f1; nothing if nothing was counted."""
        if not self.sequences:
            return {}
        kinds = self.counts().values()
        whole = micro(kinds)
        return {
            "span_precision": whole.precision,
            "span_recall": whole.recall,
            "span_f1": whole.f1,
            "span_macro_f1": macro_f1(kinds),
        }

    def counts(self) -> dict[str, Counts]:
        """Right, predicted and gold for each kind of span."""
        kinds = sorted(self.predicted.keys() | self.gold.keys())
        return {kind: Counts(self.right[kind], self.predicted[kind], self.gold[kind]) for kind in kinds}

    def by_class(self) -> dict[str, dict[str, float]]:
        """precision, recall, f1 and support of each kind of span."""
        return table(self.counts())


def spans(tags: Iterable[str]) -> set[Span]:
    """The spans that tags mark, each (start, end, kind), where `tags[start:end]` is the span.

    IOB1, IOB2, IOBES, BILOU and BMES are all read by the rules of conlleval, which find a span in tags that break the
    scheme too. Between two tags that are not O one span ends and another begins if the first says that its span ends,
    or the second that its span begins, or their kinds differ. Else the span goes on.

    >>> sorted(spans(["B-PER", "I-PER", "B-PER", "O", "I-LOC", "I-PER"]))
    [(0, 2, 'PER'), (2, 3, 'PER'), (4, 5, 'LOC'), (5, 6, 'PER')]
    """
    found: set[Span] = set()
    start, before = 0, OUTSIDE
    place = -1
    for place, tag in enumerate(tags):
        now = parse(tag)
        if now == OUTSIDE or before == OUTSIDE or apart(before, now):
            if before != OUTSIDE:
                found.add((start, place, before[1]))
            start = place
        before = now
    if before != OUTSIDE:
        found.add((start, place + 1, before[1]))
    return found


def parse(tag: str) -> tuple[str, str]:
    """Where in a span this is, and of which kind: 'B-PER' begins a PER; a 'B' alone has no kind."""
    letter, _, kind = tag.partition("-")
    if letter == "O" and not kind:
        return OUTSIDE
    if letter not in PLACES:
        expected = f"O, or one of {', '.join(PLACES)}, a hyphen and a kind, such as B-PER"
        raise ArgumentError("spans", "tags", repr(tag), expected)
    return PLACES[letter], kind


def apart(before: tuple[str, str], now: tuple[str, str]) -> bool:
    """Whether these neighbours, neither of them O, belong to two spans."""
    return before[0] in ("ends", "alone") or now[0] in ("begins", "alone") or before[1] != now[1]


def is_span_scheme(tags: Iterable[str]) -> bool:
    """Whether a set of tags marks spans: each is O or a letter of a scheme, a hyphen and a kind; not O alone.

    >>> is_span_scheme(["O", "B-PER", "I-PER"]), is_span_scheme(["NOUN", "X"]), is_span_scheme(["O"])
    (True, False, False)
    """
    inside = set(tags) - {"O"}
    return bool(inside) and all(letter in PLACES and kind for letter, _, kind in (tag.partition("-") for tag in inside))


def check_as_many(where: str, gold: Sequence[str], predicted: Sequence[str]) -> None:
    """A tag predicted for each gold one."""
    if len(gold) != len(predicted):
        raise ArgumentError(where, "predicted", f"{len(predicted)} tags", f"{len(gold)}, as many as gold")
