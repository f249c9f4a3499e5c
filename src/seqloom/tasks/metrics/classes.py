"""Accuracy and F1 of classes: one class per item, or several labels per item."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Shaped
from numpy import ndarray
from numpy.typing import NDArray
from torch import Tensor

from seqloom.core.problem import ArgumentError
from seqloom.tasks.metrics.counts import Counts, class_table, macro_f1, micro, ratio

Values = Tensor | ndarray | Sequence[object]

PADDING = -1  # what a head predicts at padding


def as_array(values: Values) -> Shaped[ndarray, "..."]:
    """Values as a numpy array on the CPU; floating-point tensors in float64, which holds every other precision."""
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        return (values.double() if values.is_floating_point() else values).numpy()
    return np.asarray(values)


def check_same_shape(where: str, argument: str, values: Shaped[ndarray, "..."], other: Shaped[ndarray, "..."]) -> None:
    if values.shape != other.shape:
        raise ArgumentError(where, argument, f"shape {list(values.shape)}", f"{list(other.shape)}, one for each item")


class Classes:
    """One class per item: accuracy, F1, and the confusion matrix that they are computed from.

        accuracy = correct items / items
        micro F1 = F1 of all classes as one; with one class per item it equals the accuracy
        macro F1 = mean F1 of the classes; one that never occurs and is never predicted is left out

    confusion: [gold class, predicted class] -> count

    >>> classes = Classes(["cat", "dog"])
    >>> classes.add(gold=[0, 0, 0, 1], predicted=[0, 1, 0, 1])
    >>> classes.scores()
    {'accuracy': 0.75, 'micro_f1': 0.75, 'macro_f1': 0.733...}
    >>> classes.confusion.tolist()
    [[2, 1], [0, 1]]
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.confusion: NDArray[np.int64] = np.zeros((len(self.names), len(self.names)), np.int64)

    def add(self, gold: Values, predicted: Values) -> None:
        """Add a batch of class numbers, of any shape. Items predicted as −1 are not counted: that is padding."""
        rows, columns = as_array(gold), as_array(predicted)
        check_same_shape("Classes", "predicted", columns, rows)
        mask = columns != PADDING
        rows, columns = rows[mask], columns[mask]
        check_classes("gold", rows, len(self.names))
        check_classes("predicted", columns, len(self.names))
        np.add.at(self.confusion, (rows, columns), 1)

    def scores(self) -> dict[str, float]:
        """`accuracy`, `micro_f1`, `macro_f1`; nothing if nothing was counted."""
        items = int(self.confusion.sum())
        if not items:
            return {}
        classes = self.counts().values()
        accuracy = int(self.confusion.trace()) / items
        return {"accuracy": accuracy, "micro_f1": micro(classes).f1, "macro_f1": macro_f1(classes)}

    def counts(self) -> dict[str, Counts]:
        confusion = self.confusion
        return counts_by_name(self.names, confusion.diagonal(), confusion.sum(axis=0), confusion.sum(axis=1))

    def by_class(self) -> dict[str, dict[str, float]]:
        return class_table(self.counts())


class MultiLabel:
    """Any number of labels per item: F1 over labels, and the share of items with exactly the gold labels.

        exact match = items whose set of labels is correct / items
        micro F1 = F1 of all labels as one
        macro F1 = mean F1 of the labels; one that never occurs and is never predicted is left out

    If no label occurs or is predicted, both F1 are 0.

    >>> labels = MultiLabel(["sad", "long"])
    >>> labels.add(gold=[[True, True], [False, True]], predicted=[[True, False], [False, True]])
    >>> labels.scores()
    {'exact_match': 0.5, 'micro_f1': 0.8, 'macro_f1': 0.833...}
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.items = self.exact = 0
        self.correct, self.predicted, self.gold = np.zeros((3, len(self.names)), np.int64)

    def add(self, gold: Values, predicted: Values) -> None:
        """Add a batch [..., labels]: whether each label holds, as bool or as 0 and 1."""
        true, chosen = as_array(gold), as_array(predicted)
        check_same_shape("MultiLabel", "predicted", chosen, true)
        labels = len(self.names)
        if not true.ndim or true.shape[-1] != labels:
            expected = f"[items, {labels}], a number per label"
            raise ArgumentError("MultiLabel", "gold", f"shape {list(true.shape)}", expected)
        true, chosen = (values.reshape(-1, labels).astype(bool) for values in (true, chosen))
        self.items += len(true)
        self.exact += int((true == chosen).all(axis=1).sum())
        self.correct += (true & chosen).sum(axis=0)
        self.predicted += chosen.sum(axis=0)
        self.gold += true.sum(axis=0)

    def scores(self) -> dict[str, float]:
        """`exact_match`, `micro_f1`, `macro_f1`; nothing if nothing was counted."""
        if not self.items:
            return {}
        labels = self.counts().values()
        exact = ratio(self.exact, self.items)
        return {"exact_match": exact, "micro_f1": micro(labels).f1, "macro_f1": macro_f1(labels)}

    def counts(self) -> dict[str, Counts]:
        return counts_by_name(self.names, self.correct, self.predicted, self.gold)

    def by_class(self) -> dict[str, dict[str, float]]:
        return class_table(self.counts())


def counts_by_name(names: Sequence[str], *counts: NDArray[np.int64]) -> dict[str, Counts]:
    """Correct, predicted and gold counts, as Python's own numbers, by the name of the class."""
    return {name: Counts(*row) for name, *row in zip(names, *(count.tolist() for count in counts), strict=True)}


def check_classes(argument: str, classes: Shaped[ndarray, "..."], number: int) -> None:
    if not classes.size:
        return
    if classes.dtype.kind not in "iu":
        raise ArgumentError("Classes", argument, f"type {classes.dtype}", "whole numbers, the classes")
    low, high = int(classes.min()), int(classes.max())
    if low < 0 or high >= number:
        wrong = low if low < 0 else high
        raise ArgumentError("Classes", argument, f"the value {wrong}", f"0 to {number - 1} (the classes)")
