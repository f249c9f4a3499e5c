"""Precision, recall and F1, from three counts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Counts:
    """How often a class was right, was predicted, and is in the gold answers.

        precision = right / predicted
        recall = right / gold
        F1 = 2 · precision · recall / (precision + recall) = 2 · right / (predicted + gold)

    What would divide by zero is 0: the precision of what was never predicted, the recall of what never occurs.

    >>> one = Counts(right=3, predicted=4, gold=6)
    >>> one.precision, one.recall, one.f1
    (0.75, 0.5, 0.6)
    """

    right: int = 0
    predicted: int = 0
    gold: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.right + other.right, self.predicted + other.predicted, self.gold + other.gold)

    @property
    def seen(self) -> bool:
        """Whether the class occurs, or was predicted."""
        return self.predicted + self.gold > 0

    @property
    def precision(self) -> float:
        """Of what was predicted, the part that is right."""
        return share(self.right, self.predicted)

    @property
    def recall(self) -> float:
        """Of what there is, the part that was found."""
        return share(self.right, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of the two."""
        return share(2 * self.right, self.predicted + self.gold)


def share(part: float, whole: float) -> float:
    """part / whole; 0 of nothing."""
    return part / whole if whole else 0.0


def micro(classes: Iterable[Counts]) -> Counts:
    """All classes as one: every item weighs the same."""
    return sum(classes, Counts())


def macro_f1(classes: Iterable[Counts]) -> float:
    """The mean F1 of the classes: every class weighs the same.

    A class that never occurs and is never predicted has no F1, and is left out of the mean.

    >>> macro_f1([Counts(right=1, predicted=1, gold=1), Counts(right=0, predicted=0, gold=5), Counts()])
    0.5
    """
    f1 = [each.f1 for each in classes if each.seen]
    return share(sum(f1), len(f1))


def table(classes: Mapping[str, Counts]) -> dict[str, dict[str, float]]:
    """Precision, recall, F1 and support (how often it occurs) of each class that occurs or was predicted."""
    return {
        name: {"precision": each.precision, "recall": each.recall, "f1": each.f1, "support": each.gold}
        for name, each in classes.items()
        if each.seen
    }
