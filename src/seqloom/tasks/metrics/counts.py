"""Precision, recall and F1, from three counts."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Counts(NamedTuple):
    """How often a class was predicted correctly, was predicted, and is in the gold answers.

        precision = correct / predicted
        recall = correct / gold
        F1 = 2 · precision · recall / (precision + recall) = 2 · correct / (predicted + gold)

    A ratio with a denominator of zero is 0: the precision of a class never predicted, the recall of one never seen.

    >>> counts = Counts(correct=3, predicted=4, gold=6)
    >>> counts.precision, counts.recall, counts.f1
    (0.75, 0.5, 0.6)
    """

    correct: int = 0
    predicted: int = 0
    gold: int = 0

    @property
    def present(self) -> bool:
        return self.predicted + self.gold > 0

    @property
    def precision(self) -> float:
        return ratio(self.correct, self.predicted)

    @property
    def recall(self) -> float:
        return ratio(self.correct, self.gold)

    @property
    def f1(self) -> float:
        return ratio(2 * self.correct, self.predicted + self.gold)


def ratio(count: float, total: float) -> float:
    """count / total; 0 if the total is 0."""
    return count / total if total else 0.0


def micro(classes: Iterable[Counts]) -> Counts:
    """The sum over classes: every item has the same weight."""
    return Counts(*map(sum, zip(Counts(), *classes, strict=True)))


def macro_f1(classes: Iterable[Counts]) -> float:
    """The mean F1 over classes: every class has the same weight. Classes that are not present are left out.

    >>> macro_f1([Counts(correct=1, predicted=1, gold=1), Counts(correct=0, predicted=0, gold=5), Counts()])
    0.5
    """
    f1 = [counts.f1 for counts in classes if counts.present]
    return ratio(sum(f1), len(f1))


def class_table(classes: Mapping[str, Counts]) -> dict[str, dict[str, float]]:
    """Precision, recall, F1 and support (occurrences) of each class that is present."""
    return {
        name: {"precision": counts.precision, "recall": counts.recall, "f1": counts.f1, "support": counts.gold}
        for name, counts in classes.items()
        if counts.present
    }
