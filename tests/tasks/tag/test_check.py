"""The check of words with tags."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.inspection.findings import Inspection
from seqloom.data.records import Location
from seqloom.tasks.tag.check import SpanTags, WordCounts
from tests.tasks.checks import check, names, only, says, write

CLEAN = "".join(f"word{number} NOUN\nruns VERB\n. PUNCT\n\n" for number in range(40))


def test_clean_data_have_no_findings(tmp_path: Path) -> None:
    inspection = check("tag", train=write(tmp_path / "t.conll", CLEAN))
    assert inspection.findings == []
    assert dict(inspection.summary)["tags"] == "NOUN (40), VERB (40), PUNCT (40)"


def test_bad_rows_are_reported_with_their_lines(tmp_path: Path) -> None:
    train = write(tmp_path / "t.conll", CLEAN + "alone\n\nagain\n\nwell INTJ\n\n")
    inspection = check("tag", train=train, valid=[write(tmp_path / "v.conll", CLEAN), str(tmp_path / "none.conll")])
    assert names(only(inspection, "1 column").locations) == ["t.conll:161", "t.conll:163"]
    assert only(inspection, "no such file").kind == "error"
    assert names(only(inspection, "tag 'INTJ' is seen once").locations) == ["t.conll:165"]
    assert names(only(inspection, "of one word").locations) == ["t.conll:165"]


def test_an_unknown_column_is_one_error(tmp_path: Path) -> None:
    row = "1\tGo\tgo\tVERB" + "\t_" * 6 + "\n\n"
    inspection = check("tag", train=write(tmp_path / "t.conllu", row), tag="upso")
    assert [finding.kind for finding in inspection.findings] == ["error"]
    assert "no such column" in inspection.findings[0].problem.message


def test_words_of_a_tag_share_its_string() -> None:
    counts = WordCounts(lowercase=False)
    for word in "abc":
        counts.add("train", [word], ["".join(["NO", "UN"])])
    assert len({id(count.tag) for count in counts.words.values()}) == 1


def test_tags_that_only_validation_has_are_an_error(tmp_path: Path) -> None:
    valid = write(tmp_path / "v.conll", "so ADV\nit NOUN\n\n" * 50)
    inspection = check("tag", train=write(tmp_path / "t.conll", CLEAN), valid=valid)
    unseen = only(inspection, "not in the training split")
    assert (unseen.kind, names(unseen.locations)) == ("error", ["v.conll:1"])
    assert "100% of validation words" in only(inspection, "validation words").problem.message


def test_the_summary_has_the_share_of_ambiguous_words(tmp_path: Path) -> None:
    text = "run NOUN\nfar ADV\n\nrun VERB\nfar ADV\n\n" * 3
    valid = write(tmp_path / "v.conll", "run NOUN\nfar ADV\n\n")
    summary = dict(check("tag", train=write(tmp_path / "t.conll", text), valid=valid).summary)
    assert summary["vocabulary"] == "2 words; 50.0% of them (50.0% of the text) have several tags"
    assert summary["new words"].startswith("0%")


def test_repeated_sentences_are_reported(tmp_path: Path) -> None:
    long = "it NOUN\nruns VERB\nand CCONJ\nruns {} \n. PUNCT\n\n"
    text = CLEAN + long.format("VERB") + long.format("NOUN") + "ok INTJ\n. PUNCT\n\n" * 5
    inspection = check("tag", train=write(tmp_path / "t.conll", text))
    again = only(inspection, "repeat")
    assert (again.count, names(again.locations)) == (1, ["t.conll:167"])
    assert names(only(inspection, "different tags").locations) == ["t.conll:161", "t.conll:167"]


SCHEME = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


@given(st.lists(st.lists(st.sampled_from(SCHEME), min_size=1, max_size=6), min_size=1, max_size=5))
def test_inside_tags_without_a_begin_are_counted(sentences: list[list[str]]) -> None:
    spans, inspection = SpanTags(), Inspection("any")
    wrong = 0
    for number, tags in enumerate([["B-PER", "O"], *sentences], 1):
        spans.add(tags, Location("t.conll", number))
        for index, tag in enumerate(tags):
            before = tags[index - 1] if index else "O"
            wrong += tag.startswith("I-") and before not in (tag, f"B-{tag[2:]}")
    spans.report(SCHEME, inspection)
    assert sum(finding.count for finding in inspection.findings) == wrong


def test_part_of_speech_tags_are_no_spans(tmp_path: Path) -> None:
    inspection = check("tag", train=write(tmp_path / "t.conll", CLEAN + "a I-X\nb NOUN\n\n" * 3))
    assert not says(inspection, "I-X (or")


@pytest.mark.parametrize(("tags", "words"), [("I-PER I-PER O", "IOB1"), ("B-PER I-PER O I-LOC O", "without a B-X")])
def test_the_span_scheme_is_recognized(tmp_path: Path, tags: str, words: str) -> None:
    sentence = "".join(f"w{number} {tag}\n" for number, tag in enumerate(tags.split())) + "\n"
    assert only(check("tag", train=write(tmp_path / "t.conll", sentence * 20 + "w O\n\n" * 5)), words).kind == "note"
