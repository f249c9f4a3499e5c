"""Spans and their F1 are compared with seqeval, whose default mode is that of conlleval."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval import metrics as seqeval
from seqeval.metrics.sequence_labeling import get_entities

from seqloom.core.problem import ArgumentError
from seqloom.tasks.metrics.spans import Spans, Tags, find_spans, is_span_scheme

KINDS = ["PER", "LOC", "A-B"]
iobes = st.sampled_from(["O", *(f"{letter}-{kind}" for letter in "BIES" for kind in KINDS)])
sequences = st.lists(st.lists(st.tuples(iobes, iobes), min_size=1, max_size=12), min_size=1, max_size=5)


@given(tags=st.lists(iobes, max_size=20))
def test_spans_equal_seqeval(tags: list[str]) -> None:
    assert find_spans(tags) == {(start, end + 1, kind) for kind, start, end in get_entities(tags)}


@given(sequences=sequences)
def test_scores_equal_seqeval(sequences: list[list[tuple[str, str]]]) -> None:
    gold = [[gold_tags for gold_tags, _ in sequence] for sequence in sequences]
    predicted = [[predicted_tags for _, predicted_tags in sequence] for sequence in sequences]
    spans, tags = Spans(), Tags()
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        spans.add(gold_tags, predicted_tags)
        tags.add(gold_tags, predicted_tags)
    scores = spans.scores()
    assert tags.scores()["accuracy"] == pytest.approx(seqeval.accuracy_score(gold, predicted))
    if not spans.counts():
        assert set(scores.values()) == {0.0}
        return
    assert scores == pytest.approx(
        {
            "span_precision": seqeval.precision_score(gold, predicted, zero_division=0),
            "span_recall": seqeval.recall_score(gold, predicted, zero_division=0),
            "span_f1": seqeval.f1_score(gold, predicted, zero_division=0),
            "span_macro_f1": seqeval.f1_score(gold, predicted, average="macro", zero_division=0),
        }
    )
    report = seqeval.classification_report(gold, predicted, output_dict=True, zero_division=0)
    table = spans.by_class()
    assert set(table) == set(report) - {"micro avg", "macro avg", "weighted avg"}
    for kind, row in table.items():
        theirs = report[kind]
        assert list(row.values()) == pytest.approx([theirs[k] for k in ("precision", "recall", "f1-score", "support")])


@pytest.mark.parametrize(
    "tags",
    [
        "B-X I-X O B-X B-Y I-Y",  # IOB2
        "I-X I-X O I-X I-Y I-Y",  # IOB1
        "B-X E-X O S-X B-Y E-Y",  # IOBES
        "B-X L-X O U-X B-Y L-Y",  # BILOU
        "B-X E-X O W-X B-Y E-Y",  # BMEWO
    ],
)
def test_one_segmentation_in_every_scheme(tags: str) -> None:
    assert find_spans(tags.split()) == {(0, 2, "X"), (3, 4, "X"), (4, 6, "Y")}


@given(tags=st.lists(iobes, max_size=20))
def test_equivalent_prefixes_mark_the_same_spans(tags: list[str]) -> None:
    other = [tag.replace("E-", "L-", 1).replace("S-", "U-", 1).replace("I-", "M-", 1) for tag in tags]
    assert find_spans(other) == find_spans(tags)


def test_in_iob1_a_neighbor_of_the_same_kind_begins_with_b() -> None:
    assert find_spans(["I-X", "B-X", "I-X"]) == {(0, 1, "X"), (1, 3, "X")}


def test_a_tag_may_have_no_kind() -> None:
    assert find_spans(["B", "I", "O", "B"]) == {(0, 2, ""), (3, 4, "")}


def test_no_span_continues_into_the_next_sequence() -> None:
    spans = Spans()
    spans.add(["I-X"], ["I-X"])
    spans.add(["I-X"], ["I-X"])
    assert spans.counts()["X"].gold == 2


@pytest.mark.parametrize(
    ("tags", "is_one"),
    [
        (["O", "B-PER", "I-PER"], True),
        (["B-PER", "L-PER", "U-A-B"], True),
        (["O"], False),
        ([], False),
        (["NOUN", "VERB", "X"], False),
        (["O", "B-PER", "NN"], False),
        (["-LRB-", "NN"], False),
        (["O", "B-"], False),
        (["O-X", "B-X"], False),
    ],
)
def test_a_span_scheme_is_recognized(tags: list[str], is_one: bool) -> None:
    assert is_span_scheme(iter(tags)) is is_one


def test_a_sentence_is_correct_if_all_its_tags_are() -> None:
    tags = Tags()
    tags.add(["A", "B"], ["A", "B"])
    tags.add(["A", "B", "C"], ["A", "B", "B"])
    assert tags.scores() == {"accuracy": 0.8, "sentence_accuracy": 0.5}


@pytest.mark.parametrize("metric", [Tags, Spans])
def test_without_items_there_are_no_scores(metric: type[Tags] | type[Spans]) -> None:
    assert metric().scores() == {}


@pytest.mark.parametrize("metric", [Tags, Spans])
def test_unequal_lengths_are_an_error(metric: type[Tags] | type[Spans]) -> None:
    with pytest.raises(ArgumentError, match="predicted has 1 tags; expected 2, as many as gold"):
        metric().add(["O", "O"], ["O"])


def test_a_tag_outside_the_scheme_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="tags has 'NOUN'; expected O, or one of B, I"):
        find_spans(["O", "NOUN"])
