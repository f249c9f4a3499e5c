"""Tags of a sequence: the share that is correct, and F1 of the spans that they mark."""

from collections import Counter
from collections.abc import Iterable, Sequence

from seqloom.core.problem import ArgumentError
from seqloom.tasks.metrics.counts import Counts, class_table, macro_f1, micro

Span = tuple[int, int, str]

# The position in a span, by the first letter of a tag; schemes differ in how many positions they distinguish.
POSITIONS = {
    "B": "begin", "I": "inside", "M": "inside", "E": "end", "L": "end", "S": "single", "U": "single", "W": "single",
}  # fmt: skip
OUTSIDE = ("outside", "")


class Tags:
    """The shares of correct tags, and of sequences with correct tags only.

        accuracy = correct tags / tags
        sentence accuracy = sequences with all tags correct / sequences

    >>> tags = Tags()
    >>> tags.add(gold=["DET", "NOUN"], predicted=["DET", "VERB"])
    >>> tags.add(gold=["VERB", "NOUN"], predicted=["VERB", "NOUN"])
    >>> tags.scores()
    {'accuracy': 0.75, 'sentence_accuracy': 0.5}
    """

    def __init__(self) -> None:
        self.tags = self.correct = self.sentences = self.correct_sentences = 0

    def add(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        """Add a whole sequence: a predicted tag for each gold one."""
        check_same_length("Tags", gold, predicted)
        correct = sum(a == b for a, b in zip(gold, predicted, strict=True))
        self.tags += len(gold)
        self.correct += correct
        self.sentences += 1
        self.correct_sentences += correct == len(gold)

    def scores(self) -> dict[str, float]:
        """`accuracy`, `sentence_accuracy`; nothing if nothing was counted."""
        if not self.tags:
            return {}
        return {"accuracy": self.correct / self.tags, "sentence_accuracy": self.correct_sentences / self.sentences}


class Spans:
    """A span is correct if its begin, end and kind are; the scores are those of conlleval and seqeval's default mode.

        precision = correct spans / predicted spans
        recall = correct spans / gold spans
        F1 = 2 · precision · recall / (precision + recall)

    over all kinds as one; the macro F1 is the mean over kinds. A ratio with a denominator of zero is 0.

    >>> spans = Spans()
    >>> spans.add(gold=["B-PER", "I-PER", "O", "B-LOC"], predicted=["B-PER", "I-PER", "O", "O"])
    >>> spans.scores()
    {'span_precision': 1.0, 'span_recall': 0.5, 'span_f1': 0.666..., 'span_macro_f1': 0.5}
    """

    def __init__(self) -> None:
        self.sequences = 0
        self.correct, self.predicted, self.gold = Counter[str](), Counter[str](), Counter[str]()

    def add(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        """Add the tags of a whole sequence; no span continues in the next one."""
        check_same_length("Spans", gold, predicted)
        gold_spans, predicted_spans = find_spans(gold), find_spans(predicted)
        self.sequences += 1
        self.correct.update(kind for _, _, kind in gold_spans & predicted_spans)
        self.predicted.update(kind for _, _, kind in predicted_spans)
        self.gold.update(kind for _, _, kind in gold_spans)

    def scores(self) -> dict[str, float]:
        """`span_precision`, `span_recall`, `span_f1`, `span_macro_f1`; nothing if nothing was counted."""
        if not self.sequences:
            return {}
        kinds = self.counts().values()
        total = micro(kinds)
        scores = {"span_precision": total.precision, "span_recall": total.recall, "span_f1": total.f1}
        return scores | {"span_macro_f1": macro_f1(kinds)}

    def counts(self) -> dict[str, Counts]:
        kinds = sorted(self.predicted.keys() | self.gold.keys())
        return {kind: Counts(self.correct[kind], self.predicted[kind], self.gold[kind]) for kind in kinds}

    def by_class(self) -> dict[str, dict[str, float]]:
        return class_table(self.counts())


def find_spans(tags: Iterable[str]) -> set[Span]:
    """The spans that tags mark, each (start, end, kind), where `tags[start:end]` is the span.

    IOB1, IOB2, IOBES, BILOU and BMES are all read by the rules of conlleval, which find a span in tags that break the
    scheme too. Between two tags that are not O, a new span begins if the first tag ends a span, or the second begins
    one, or their kinds differ. Otherwise the span continues.

    >>> sorted(find_spans(["B-PER", "I-PER", "B-PER", "O", "I-LOC", "I-PER"]))
    [(0, 2, 'PER'), (2, 3, 'PER'), (4, 5, 'LOC'), (5, 6, 'PER')]
    """
    spans: set[Span] = set()
    start, previous = 0, OUTSIDE
    for position, tag in enumerate([*tags, "O"]):
        current = parse(tag)
        begins = previous[0] in ("end", "single") or current[0] in ("begin", "single") or previous[1] != current[1]
        if OUTSIDE in (previous, current) or begins:
            if previous != OUTSIDE:
                spans.add((start, position, previous[1]))
            start = position
        previous = current
    return spans


def parse(tag: str) -> tuple[str, str]:
    """A tag's position in a span, and the span's kind: 'B-PER' begins a PER; a 'B' alone has no kind."""
    letter, _, kind = tag.partition("-")
    if letter == "O" and not kind:
        return OUTSIDE
    if letter not in POSITIONS:
        expected = f"O, or one of {', '.join(POSITIONS)}, a hyphen and a kind, such as B-PER"
        raise ArgumentError("spans", "tags", repr(tag), expected)
    return POSITIONS[letter], kind


def is_span_scheme(tags: Iterable[str]) -> bool:
    """Whether a set of tags marks spans: each is O or a letter of a scheme, a hyphen and a kind; not O alone.

    >>> is_span_scheme(["O", "B-PER", "I-PER"]), is_span_scheme(["NOUN", "X"]), is_span_scheme(["O"])
    (True, False, False)
    """
    tags = set(tags) - {"O"}
    return bool(tags) and all(letter in POSITIONS and kind for letter, _, kind in (tag.partition("-") for tag in tags))


def check_same_length(where: str, gold: Sequence[str], predicted: Sequence[str]) -> None:
    if len(gold) != len(predicted):
        raise ArgumentError(where, "predicted", f"{len(predicted)} tags", f"{len(gold)}, as many as gold")
