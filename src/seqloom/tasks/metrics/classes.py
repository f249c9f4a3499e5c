"""Tensors, arrays and lists, as the arrays that counts are made from."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Shaped
from numpy import ndarray
from numpy.typing import NDArray
from torch import Tensor

from seqloom.core.problem import ArgumentError
from seqloom.tasks.metrics.counts import Counts, macro_f1, micro, share, table

Values = Tensor | ndarray | Sequence[object]


def array(values: Values) -> Shaped[ndarray, "..."]:
    """The values where numpy can count them; real ones in float64, which takes in every other precision."""
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        return (values.double() if values.is_floating_point() else values).numpy()
    return np.asarray(values)


def check_alike(where: str, argument: str, values: Shaped[ndarray, "..."], other: Shaped[ndarray, "..."]) -> None:
    """Two arrays of one shape."""
    if values.shape != other.shape:
        raise ArgumentError(where, argument, f"shape {list(values.shape)}", f"{list(other.shape)}, one for each item")


PADDING = -1  # what a head predicts where there is no step


class Classes:
    """One class an item: accuracy, F1, and the confusion counts that they come from.

        accuracy = right items / items
        micro F1 = F1 of all classes as one; with one class an item it equals the accuracy
        macro F1 = mean F1 of the classes; one that never occurs and is never predicted is left out

    >>> items = Classes(["cat", "dog"])
    >>> items.add(gold=[0, 0, 0, 1], predicted=[0, 1, 0, 1])
    >>> items.scores()
    {'accuracy': 0.75, 'micro_f1': 0.75, 'macro_f1': 0.733...}
    >>> items.confusion.tolist()
    [[2, 1], [0, 1]]
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.confusion: NDArray[np.int64] = np.zeros((len(self.names), len(self.names)), np.int64)
        """[gold class, predicted class], how often."""

    def add(self, gold: Values, predicted: Values) -> None:
        """A batch of class numbers, of any one shape.

        Where −1 is predicted, which is how a head says that there is no step, nothing is counted, whatever gold holds.
        """
        true, taken = array(gold), array(predicted)
        check_alike("Classes", "predicted", taken, true)
        real = taken != PADDING
        true, taken = true[real], taken[real]
        check_classes("gold", true, len(self.names))
        check_classes("predicted", taken, len(self.names))
        np.add.at(self.confusion, (true, taken), 1)

    def scores(self) -> dict[str, float]:
        """accuracy, micro_f1, macro_f1; nothing if nothing was counted."""
        items = int(self.confusion.sum())
        if not items:
            return {}
        classes = self.counts().values()
        accuracy = int(self.confusion.trace()) / items
        return {"accuracy": accuracy, "micro_f1": micro(classes).f1, "macro_f1": macro_f1(classes)}

    def counts(self) -> dict[str, Counts]:
        """Right, predicted and gold for each class."""
        return named(self.names, self.confusion.diagonal(), self.confusion.sum(axis=0), self.confusion.sum(axis=1))

    def by_class(self) -> dict[str, dict[str, float]]:
        """precision, recall, f1 and support of each class that occurs or was predicted."""
        return table(self.counts())


class Labels:
    """Several labels an item, or none: F1 over labels, and whole items that are right.

        exact match = items whose set of labels is right / items
        micro F1 = F1 of all labels as one
        macro F1 = mean F1 of the labels; one that never occurs and is never predicted is left out

    If no label at all occurs or is predicted, both F1 are 0.

    >>> items = Labels(["sad", "long"])
    >>> items.add(gold=[[True, True], [False, True]], predicted=[[True, False], [False, True]])
    >>> items.scores()
    {'exact_match': 0.5, 'micro_f1': 0.8, 'macro_f1': 0.833...}
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.items = self.exact = 0
        self.right, self.predicted, self.gold = np.zeros((3, len(self.names)), np.int64)

    def add(self, gold: Values, predicted: Values) -> None:
        """A batch [..., labels]: whether each label holds, in bool or as 0 and 1."""
        true, said = array(gold), array(predicted)
        check_alike("Labels", "predicted", said, true)
        number = len(self.names)
        if not true.ndim or true.shape[-1] != number:
            raise ArgumentError("Labels", "gold", f"shape {list(true.shape)}", f"[items, {number}], a number a label")
        true, said = (each.reshape(-1, number).astype(bool) for each in (true, said))
        self.items += len(true)
        self.exact += int((true == said).all(axis=1).sum())
        self.right += (true & said).sum(axis=0)
        self.predicted += said.sum(axis=0)
        self.gold += true.sum(axis=0)

    def scores(self) -> dict[str, float]:
        """exact_match, micro_f1, macro_f1; nothing if nothing was counted."""
        if not self.items:
            return {}
        labels = self.counts().values()
        exact = share(self.exact, self.items)
        return {"exact_match": exact, "micro_f1": micro(labels).f1, "macro_f1": macro_f1(labels)}

    def counts(self) -> dict[str, Counts]:
        """Right, predicted and gold for each label."""
        return named(self.names, self.right, self.predicted, self.gold)

    def by_class(self) -> dict[str, dict[str, float]]:
        """precision, recall, f1 and support of each label that occurs or was predicted."""
        return table(self.counts())


def named(
    names: Sequence[str], right: NDArray[np.int64], predicted: NDArray[np.int64], gold: NDArray[np.int64]
) -> dict[str, Counts]:
    """Counts by the name of the class, as Python's own numbers."""
    rows = zip(names, right.tolist(), predicted.tolist(), gold.tolist(), strict=True)
    return {name: Counts(*counts) for name, *counts in rows}


def check_classes(argument: str, classes: Shaped[ndarray, "..."], number: int) -> None:
    """Whole numbers, each one of the classes."""
    if not classes.size:
        return
    if classes.dtype.kind not in "iu":
        raise ArgumentError("Classes", argument, f"type {classes.dtype}", "whole numbers, the classes")
    low, high = int(classes.min()), int(classes.max())
    if low < 0 or high >= number:
        wrong = low if low < 0 else high
        raise ArgumentError("Classes", argument, f"the value {wrong}", f"0 to {number - 1} (the classes)")
