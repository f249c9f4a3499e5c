"""Terminal output of tasks with labels; `tests/lens/test_report.py` tests the page."""

import pytest
from rich.text import Text

from seqloom.core.problem import KeyName
from seqloom.tasks.classify.report import ClassifyReport
from seqloom.tasks.label_report import TERMINAL_CLASSES, LabelReport
from seqloom.tasks.tag.report import TagReport
from seqloom.tasks.task_report import Remark
from seqloom.views.figure import Table


def test_a_model_is_compared_with_the_baseline() -> None:
    details, lr = {"baseline": {"says": "pos", "accuracy": 0.5}}, KeyName("train.lr")
    remarks_by_accuracy = [ClassifyReport({"accuracy": accuracy}, details).remarks() for accuracy in (0.75, 0.5)]
    assert [(remark.label, remark.text) for remarks in remarks_by_accuracy for remark in remarks] == [
        ("baseline", "always predicting pos has an accuracy of 0.5"),
        ("baseline", "always predicting pos has an accuracy of 0.5"),
        ("warning", f"this model is no better than the baseline. More steps, another {lr} or more data may help"),
    ]
    assert list(ClassifyReport({"loss": 1.0}, {}).remarks()) == []
    assert list(ClassifyReport({"loss": 1.0}, details).remarks()) == []


def test_predicted_tags_are_printed_in_columns_that_fit_the_width() -> None:
    narrow = list(TagReport.answer_lines({"words": ["ab", "cd", "ef"], "tags": ["X", "Y", "Z"]}, 6))
    assert [line.plain for line in narrow] == ["ab  cd", "X   Y", "ef", "Z", ""]


def test_a_predicted_label_is_printed_with_the_next_most_probable() -> None:
    answer = {"text": "a\tb", "label": "x", "probability": 0.7, "cut": True}
    answer["probabilities"] = {"x": 0.7, "y": 0.2, "z": 0.1, "v": 0.0, "w": 0.0}
    lines = [line.plain for line in ClassifyReport.answer_lines(answer, None)]
    assert lines == ["x 0.70  a⇥b", "    y 0.20  z 0.10  v 0.00", "    truncated: only the beginning was read"]
    none = {"text": "a", "labels": [], "probabilities": {"x": 0.4}, "cut": False}
    assert next(ClassifyReport.answer_lines(none, 80)).plain == "no label  a"


@pytest.mark.parametrize(
    ("kind", "details", "name"),
    [
        (ClassifyReport, {"per_class": {"a": {}}}, "label"),
        (TagReport, {"per_class": {"a": {}}}, "tag"),
        (TagReport, {"per_class": {"a": {}, "b": {}}, "per_span": {"PER": {}}}, "span"),
    ],
)
def test_the_header_names_the_kind_of_class(kind: type[LabelReport], details: dict[str, object], name: str) -> None:
    (table,) = kind({}, details).evaluation_lines()
    assert isinstance(table, Table)
    assert table.header[0] == name
    assert len(table.rows) == 1


def test_only_the_first_of_many_classes_are_printed() -> None:
    figures = {"precision": 1.0, "recall": 0.5, "f1": 0.67, "support": 3}
    details = {"per_class": {str(number): figures for number in range(300)}, "baseline": {"says": "0", "accuracy": 0.1}}
    table, more, baseline = ClassifyReport({"accuracy": 0.5}, details).evaluation_lines()
    assert isinstance(table, Table)
    assert len(table.rows) == TERMINAL_CLASSES
    assert table.rows[1] == ("1", 1.0, 0.5, 0.67, 3)
    assert isinstance(more, Text)
    assert more.plain == "and 260 more, with --json"
    assert isinstance(baseline, Remark)
