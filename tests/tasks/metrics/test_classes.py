"""Accuracy and F1 of several batches are compared with scikit-learn."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn

from seqloom.core.problem import ArgumentError
from seqloom.nn import PerToken
from seqloom.tasks.metrics.classes import Classes, MultiLabel

NAMES = ["a", "b", "c", "d"]
pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)


@given(pairs=pairs, cut=st.integers(0, 30))
def test_classes_equal_scikit_learn(pairs: list[tuple[int, int]], cut: int) -> None:
    gold, predicted = np.array(pairs).T
    items = Classes(NAMES)
    items.add(gold[:cut], predicted[:cut])
    items.add(torch.tensor(gold[cut:]), torch.tensor(predicted[cut:]))
    assert items.scores() == pytest.approx(
        {
            "accuracy": sklearn.accuracy_score(gold, predicted),
            "micro_f1": sklearn.f1_score(gold, predicted, average="micro", zero_division=0),
            "macro_f1": sklearn.f1_score(gold, predicted, average="macro", zero_division=0),
        }
    )
    assert items.confusion.tolist() == sklearn.confusion_matrix(gold, predicted, labels=range(4)).tolist()
    present = sorted({*gold, *predicted})
    columns = sklearn.precision_recall_fscore_support(gold, predicted, labels=present, zero_division=0)
    table = items.by_class()
    assert list(table) == [NAMES[k] for k in present]
    for row, column in zip(table.values(), zip(*columns, strict=True), strict=True):
        assert tuple(row.values()) == pytest.approx(column)


rows = st.lists(st.tuples(*[st.tuples(st.booleans(), st.booleans())] * 4), min_size=1, max_size=12)


@given(rows=rows, cut=st.integers(0, 12))
def test_labels_equal_scikit_learn(rows: list[tuple[tuple[bool, bool], ...]], cut: int) -> None:
    gold, predicted = np.array(rows).transpose(2, 0, 1)
    items = MultiLabel(NAMES)
    items.add(gold[:cut], predicted[:cut])
    items.add(torch.tensor(gold[cut:]), torch.tensor(predicted[cut:]).float())
    seen = [k for k in range(4) if gold[:, k].any() or predicted[:, k].any()]
    macro = (
        sklearn.f1_score(gold[:, seen], predicted[:, seen], average="macro", zero_division=0)
        if len(seen) > 1
        else sum(sklearn.f1_score(gold[:, k], predicted[:, k], zero_division=0) for k in seen)
    )
    assert items.scores() == pytest.approx(
        {
            "exact_match": sklearn.accuracy_score(gold, predicted),
            "micro_f1": sklearn.f1_score(gold, predicted, average="micro", zero_division=0),
            "macro_f1": macro,
        }
    )
    assert list(items.by_class()) == [NAMES[k] for k in seen]
    assert [counts.gold for counts in items.counts().values()] == gold.sum(axis=0).tolist()


def test_an_absent_class_is_not_in_the_mean() -> None:
    items = Classes(NAMES)
    items.add([0, 1], [0, 1])
    assert items.scores()["macro_f1"] == 1.0
    assert "c" not in items.by_class()


def test_padding_is_not_counted() -> None:
    head, lengths = PerToken(3, 4), torch.tensor([5, 2])
    y, gold = torch.randn(2, 5, 3), torch.randint(4, (2, 5))
    gold[1, 2:] = 99  # values beyond the length of a row are ignored
    items = Classes(NAMES)
    items.add(gold, head.predict(y, lengths))
    assert items.confusion.sum() == 7


@pytest.mark.parametrize("metric", [Classes, MultiLabel])
def test_without_items_there_are_no_scores(metric: type[Classes] | type[MultiLabel]) -> None:
    assert metric(NAMES).scores() == {}
    assert metric(NAMES).by_class() == {}


def test_counts_are_integers() -> None:
    items = Classes(NAMES)
    items.add([0, 1], [0, 0])
    assert all(type(count.correct) is int for count in items.counts().values())
    assert items.confusion.dtype == np.int64


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ([0, 4], [0, 0], "Classes: gold has the value 4; expected 0 to 3 (the classes)."),
        ([-2, 0], [0, 0], "Classes: gold has the value -2; expected 0 to 3 (the classes)."),
        ([0, 0], [0, 7], "Classes: predicted has the value 7; expected 0 to 3 (the classes)."),
        ([0, 0], [0], "Classes: predicted has shape [1]; expected [2], one for each item."),
        ([0.5], [0], "Classes: gold has type float64; expected whole numbers, the classes."),
    ],
)
def test_invalid_classes_are_an_error(gold: list[int], predicted: list[int], message: str) -> None:
    items = Classes(NAMES)
    with pytest.raises(ArgumentError) as error:
        items.add(gold, predicted)
    assert str(error.value) == message
    assert items.confusion.sum() == 0


def test_another_number_of_labels_is_an_error() -> None:
    with pytest.raises(ArgumentError, match=r"gold has shape \[1, 3\]; expected \[items, 4\]"):
        MultiLabel(NAMES).add([[True] * 3], [[True] * 3])
