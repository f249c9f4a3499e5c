"""Scores of generated texts are compared with sacreBLEU's functions and its command."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF

from seqloom.core.problem import ArgumentError
from seqloom.tasks.metrics.text_overlap import BINS, CaptionOverlap, TextOverlap

REFERENCES = [
    "The dog bit the man .",
    "It was not unexpected, (surprisingly)!",
    "The man bit him first.",
    "Er kostet 3,50 \u20ac pro St\u00fcck.",
    "",
]
OTHERS = [
    "The dog had bit the man.",
    "No one was surprised.",
    "The man had bitten the dog.",
    "3,50 pro St\u00fcck",
    "yes",
]
OUTPUTS = [
    "The dog bit the man.",
    "It wasn't surprising.",
    "The man had just bitten him.",
    "Es kostet 3,50 \u20ac.",
    "",
]


def build(kind: type[TextOverlap], generated: list[str], references: list[list[str]]) -> TextOverlap:
    overlap = kind()
    for text, row_references in zip(generated, references, strict=True):
        overlap.add(text, row_references, source_length=len(text.split()))
    return overlap


def streams(references: list[list[str]]) -> list[list[str | None]]:
    """References by rank, as in sacreBLEU: the first of each text, the second of each; None if there are fewer."""
    most = max(map(len, references))
    return [[row[i] if i < len(row) else None for row in references] for i in range(most)]


WORDS = st.lists(st.sampled_from(["a", "b", "c", "dé", "3.5", "(", "\u6587", "."]), max_size=7).map(" ".join)
TEXTS = st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1, max_size=3)), min_size=1, max_size=6)


@given(TEXTS)
def test_scores_and_signatures_equal_those_of_sacrebleu(texts: list[tuple[str, list[str]]]) -> None:
    generated, references = [text for text, _ in texts], [row_references for _, row_references in texts]
    overlap = build(TextOverlap, generated, references)
    bleu, chrf = BLEU(), CHRF()
    for name, metric in (("bleu", bleu), ("chrf", chrf)):
        expected: Any = metric.corpus_score(generated, streams(references))  # type: ignore[arg-type]
        assert overlap.scores()[name] == pytest.approx(expected.score, abs=1e-9)
        assert overlap.signatures()[name] == str(metric.get_signature())
    exact = sum(text.strip() in [reference.strip() for reference in row_references] for text, row_references in texts)
    assert overlap.scores()["exact_match"] == exact / len(texts)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_bleu_n_of_captions_has_n_grams_up_to_n(order: int) -> None:
    references = [[first, second] for first, second in zip(REFERENCES, OTHERS, strict=True)]
    references[1] = references[1][:1]
    overlap = build(CaptionOverlap, OUTPUTS, references)
    metric = BLEU(max_ngram_order=order, effective_order=True)
    assert overlap.scores()[f"bleu_{order}"] == pytest.approx(metric.corpus_score(OUTPUTS, streams(references)).score)  # type: ignore[arg-type]
    assert overlap.scores()[f"bleu_{order}"] == pytest.approx(
        BLEU(max_ngram_order=order).corpus_score(OUTPUTS, streams(references)).score  # type: ignore[arg-type]
    )
    assert overlap.signatures()["bleu"] == str(metric.get_signature())
    assert "nrefs:var" in overlap.signatures()["bleu"]


def test_short_captions_can_have_a_perfect_bleu() -> None:
    references = [["a red box"], ["a blue disc"], ["a green box"]]
    right = build(CaptionOverlap, ["a red box", "a blue disc", "a green disc"], references).scores()
    babble = build(CaptionOverlap, ["a a a a a a", "box box box box", "a red box a red box"], references).scores()
    assert right["bleu_4"] > 60 > 20 > babble["bleu_4"]
    assert build(CaptionOverlap, [caption for (caption,) in references], references).scores()[
        "bleu_4"
    ] == pytest.approx(100)


def test_scores_equal_corpus_bleu_and_corpus_chrf() -> None:
    overlap = build(TextOverlap, OUTPUTS, [[reference] for reference in REFERENCES]).scores()
    assert overlap["bleu"] == pytest.approx(sacrebleu.corpus_bleu(OUTPUTS, [REFERENCES]).score)
    assert overlap["chrf"] == pytest.approx(sacrebleu.corpus_chrf(OUTPUTS, [REFERENCES]).score)


def test_scores_equal_the_sacrebleu_command(tmp_path: Path) -> None:
    (tmp_path / "output").write_text("".join(f"{row}\n" for row in OUTPUTS), encoding="utf-8")
    names = []
    for number, texts in enumerate((REFERENCES, OTHERS)):
        names.append(str(tmp_path / f"{number}"))
        Path(names[-1]).write_text("".join(f"{row}\n" for row in texts), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "sacrebleu",
        *names,
        "-i",
        str(tmp_path / "output"),
        "-m",
        "bleu",
        "chrf",
        "-w",
        "6",
    ]
    signature = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    overlap = build(TextOverlap, OUTPUTS, [list(both) for both in zip(REFERENCES, OTHERS, strict=True)])
    for name, row in zip(("bleu", "chrf"), signature, strict=True):
        assert overlap.scores()[name] == pytest.approx(row["score"], abs=1e-6)
        assert overlap.signatures()[name] == row["signature"]


def test_spaces_around_a_text_do_not_make_it_wrong() -> None:
    overlap = build(TextOverlap, [" one two", "One two"], [["one  two", "one two\n"], ["one two"]])
    assert overlap.scores()["exact_match"] == 0.5


@pytest.mark.parametrize("kind", [TextOverlap, CaptionOverlap])
def test_lowercase_ignores_capitals(kind: type[TextOverlap]) -> None:
    lower, mixed = kind(lowercase=True), kind()
    for overlap in (lower, mixed):
        overlap.add("one two three four", ["One Two Three four"])
    assert lower.scores()["exact_match"] == 1.0
    assert mixed.scores()["exact_match"] == 0.0
    bleu = "bleu" if kind is TextOverlap else "bleu_4"
    assert lower.scores()[bleu] == pytest.approx(100) == lower.scores()["chrf"]
    assert mixed.scores()[bleu] < 50
    assert {name: "case:lc" in text for name, text in lower.signatures().items()} == {
        "bleu": True,
        "chrf": True,
    }


@given(st.lists(st.integers(0, 30), min_size=1, max_size=80))
def test_every_sentence_is_in_one_bin_and_no_bin_is_empty(lengths: list[int]) -> None:
    overlap = TextOverlap()
    for length in lengths:
        overlap.add("a", ["a"], length)
    bins = overlap.by_length()
    assert len(bins) <= BINS
    assert sum(bin_["sentences"] for bin_ in bins) == len(lengths)
    edges = [edge for bin_ in bins for edge in (bin_["from"], bin_["to"])]
    assert edges == sorted(edges)
    for bin_ in bins:
        assert bin_["sentences"] == sum(bin_["from"] <= length <= bin_["to"] for length in lengths) > 0
        assert {bin_["from"], bin_["to"]} <= set(lengths)


def test_each_bin_is_scored_as_its_own_corpus() -> None:
    overlap = TextOverlap()
    for length in range(12):
        overlap.add("one two three four five", ["one two three four " + ("five" if length < 6 else "six")], length)
    bins = overlap.by_length()
    assert [(bin_["from"], bin_["to"]) for bin_ in bins] == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11)]
    assert [bin_["exact_match"] for bin_ in bins] == [1, 1, 1, 0, 0, 0]
    assert [round(bin_["bleu"], 3) for bin_ in bins[:3]] == [100.0] * 3
    expected = sacrebleu.corpus_bleu(["one two three four five"], [["one two three four six"]]).score
    assert [bin_["bleu"] for bin_ in bins[3:]] == pytest.approx([expected] * 3)


def test_without_texts_there_are_no_scores() -> None:
    assert TextOverlap().scores() == {}
    assert TextOverlap().by_length() == []
    assert "nrefs:1" in TextOverlap().signatures()["bleu"]


@pytest.mark.parametrize("references", [[], "one text"])
def test_references_are_a_list_of_one_or_more(references: Any) -> None:
    with pytest.raises(ArgumentError, match=r"references .* a list of one or more"):
        TextOverlap().add("one", references)
