"""Scores of written texts against sacreBLEU's own functions and its command."""

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
from seqloom.tasks.metrics.text_overlap import BINS, Captions, Translations

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
SAID = ["The dog bit the man.", "It wasn't surprising.", "The man had just bitten him.", "Es kostet 3,50 \u20ac.", ""]


def added(kind: type[Translations], said: list[str], references: list[list[str]]) -> Translations:
    made = kind()
    for each, some in zip(said, references, strict=True):
        made.add(each, some, source_length=len(each.split()))
    return made


def streams(references: list[list[str]]) -> list[list[str | None]]:
    """As sacreBLEU has them: the first of each, the second of each; None where there are fewer."""
    most = max(map(len, references))
    return [[some[i] if i < len(some) else None for some in references] for i in range(most)]


WORDS = st.lists(st.sampled_from(["a", "b", "c", "dé", "3.5", "(", "\u6587", "."]), max_size=7).map(" ".join)
TEXTS = st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1, max_size=3)), min_size=1, max_size=6)


@given(TEXTS)
def test_the_scores_and_signatures_are_those_of_sacrebleu(texts: list[tuple[str, list[str]]]) -> None:
    said, references = [one for one, _ in texts], [some for _, some in texts]
    found = added(Translations, said, references)
    bleu, chrf = BLEU(), CHRF()
    for name, metric in (("bleu", bleu), ("chrf", chrf)):
        expected: Any = metric.corpus_score(said, streams(references))  # type: ignore[arg-type]
        assert found.scores()[name] == pytest.approx(expected.score, abs=1e-9)
        assert found.signatures()[name] == str(metric.get_signature())
    exact = sum(one.strip() in [each.strip() for each in some] for one, some in texts)
    assert found.scores()["exact_match"] == exact / len(texts)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_bleu_of_captions_is_that_of_n_grams_up_to_n(order: int) -> None:
    references = [[one, other] for one, other in zip(REFERENCES, OTHERS, strict=True)]
    references[1] = references[1][:1]
    found = added(Captions, SAID, references)
    metric = BLEU(max_ngram_order=order, effective_order=True)
    assert found.scores()[f"bleu_{order}"] == pytest.approx(metric.corpus_score(SAID, streams(references)).score)  # type: ignore[arg-type]
    assert found.scores()[f"bleu_{order}"] == pytest.approx(
        BLEU(max_ngram_order=order).corpus_score(SAID, streams(references)).score  # type: ignore[arg-type]
    )
    assert found.signatures()["bleu"] == str(metric.get_signature())
    assert "nrefs:var" in found.signatures()["bleu"]


def test_captions_of_three_words_can_be_right() -> None:
    references = [["a red box"], ["a blue disc"], ["a green box"]]
    right = added(Captions, ["a red box", "a blue disc", "a green disc"], references).scores()
    babble = added(Captions, ["a a a a a a", "box box box box", "a red box a red box"], references).scores()
    assert right["bleu_4"] > 60 > 20 > babble["bleu_4"]
    assert added(Captions, [one for (one,) in references], references).scores()["bleu_4"] == pytest.approx(100)


def test_one_call_of_sacrebleu_says_the_same() -> None:
    found = added(Translations, SAID, [[each] for each in REFERENCES]).scores()
    assert found["bleu"] == pytest.approx(sacrebleu.corpus_bleu(SAID, [REFERENCES]).score)
    assert found["chrf"] == pytest.approx(sacrebleu.corpus_chrf(SAID, [REFERENCES]).score)


def test_the_command_of_sacrebleu_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "said").write_text("".join(f"{each}\n" for each in SAID), encoding="utf-8")
    names = []
    for number, texts in enumerate((REFERENCES, OTHERS)):
        names.append(str(tmp_path / f"{number}"))
        Path(names[-1]).write_text("".join(f"{each}\n" for each in texts), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", *names, "-i", str(tmp_path / "said"), "-m", "bleu", "chrf", "-w", "6"]
    told = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    found = added(Translations, SAID, [list(both) for both in zip(REFERENCES, OTHERS, strict=True)])
    for name, each in zip(("bleu", "chrf"), told, strict=True):
        assert found.scores()[name] == pytest.approx(each["score"], abs=1e-6)
        assert found.signatures()[name] == each["signature"]


def test_spaces_around_a_text_do_not_make_it_wrong() -> None:
    found = added(Translations, [" one two", "One two"], [["one  two", "one two\n"], ["one two"]])
    assert found.scores()["exact_match"] == 0.5


@pytest.mark.parametrize("kind", [Translations, Captions])
def test_without_capitals(kind: type[Translations]) -> None:
    lower, mixed = kind(lowercase=True), kind()
    for made in (lower, mixed):
        made.add("one two three four", ["One Two Three four"])
    assert lower.scores()["exact_match"] == 1.0
    assert mixed.scores()["exact_match"] == 0.0
    bleu = "bleu" if kind is Translations else "bleu_4"
    assert lower.scores()[bleu] == pytest.approx(100) == lower.scores()["chrf"]
    assert mixed.scores()[bleu] < 50
    assert {name: "case:lc" in told for name, told in lower.signatures().items()} == {"bleu": True, "chrf": True}


@given(st.lists(st.integers(0, 30), min_size=1, max_size=80))
def test_bins_hold_every_sentence_once_and_none_is_empty(lengths: list[int]) -> None:
    found = Translations()
    for length in lengths:
        found.add("a", ["a"], length)
    bins = found.by_length()
    assert len(bins) <= BINS
    assert sum(each["sentences"] for each in bins) == len(lengths)
    edges = [edge for each in bins for edge in (each["from"], each["to"])]
    assert edges == sorted(edges)
    for each in bins:
        assert each["sentences"] == sum(each["from"] <= length <= each["to"] for length in lengths) > 0
        assert {each["from"], each["to"]} <= set(lengths)


def test_a_bin_is_scored_as_a_corpus_of_its_own() -> None:
    found = Translations()
    for length in range(12):
        found.add("one two three four five", ["one two three four " + ("five" if length < 6 else "six")], length)
    bins = found.by_length()
    assert [(each["from"], each["to"]) for each in bins] == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11)]
    assert [each["exact_match"] for each in bins] == [1, 1, 1, 0, 0, 0]
    assert [round(each["bleu"], 3) for each in bins[:3]] == [100.0] * 3
    expected = sacrebleu.corpus_bleu(["one two three four five"], [["one two three four six"]]).score
    assert [each["bleu"] for each in bins[3:]] == pytest.approx([expected] * 3)


def test_nothing_added_is_no_score() -> None:
    assert Translations().scores() == {}
    assert Translations().by_length() == []
    assert "nrefs:1" in Translations().signatures()["bleu"]


@pytest.mark.parametrize("references", [[], "one text"])
def test_references_are_a_list_of_one_or_more(references: Any) -> None:
    with pytest.raises(ArgumentError, match=r"references .* a list of one or more"):
        Translations().add("one", references)
