"""A look at words with tags."""

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
    found = check("tag", train=write(tmp_path / "t.conll", CLEAN))
    assert found.findings == []
    assert dict(found.summary)["tags"] == "NOUN (40), VERB (40), PUNCT (40)"


def test_bad_rows_and_the_rest(tmp_path: Path) -> None:
    train = write(tmp_path / "t.conll", CLEAN + "alone\n\nagain\n\nwell INTJ\n\n")
    found = check("tag", train=train, valid=[write(tmp_path / "v.conll", CLEAN), str(tmp_path / "none.conll")])
    assert names(only(found, "1 column").locations) == ["t.conll:161", "t.conll:163"]
    assert only(found, "no such file").kind == "error"
    assert names(only(found, "tag 'INTJ' is seen once").locations) == ["t.conll:165"]
    assert names(only(found, "of one word").locations) == ["t.conll:165"]


def test_an_unknown_column_is_one_error(tmp_path: Path) -> None:
    row = "1\tGo\tgo\tVERB" + "\t_" * 6 + "\n\n"
    found = check("tag", train=write(tmp_path / "t.conllu", row), tag="upso")
    assert [finding.kind for finding in found.findings] == ["error"]
    assert "no such column" in found.findings[0].problem.message


def test_words_of_a_tag_share_its_string() -> None:
    counts = WordCounts(lowercase=False)
    for word in "abc":
        counts.add("train", [word], ["".join(["NO", "UN"])])
    assert len({id(count.tag) for count in counts.words.values()}) == 1


def test_tags_that_only_validation_has(tmp_path: Path) -> None:
    valid = write(tmp_path / "v.conll", "so ADV\nit NOUN\n\n" * 50)
    found = check("tag", train=write(tmp_path / "t.conll", CLEAN), valid=valid)
    unseen = only(found, "not in the training split")
    assert (unseen.kind, names(unseen.locations)) == ("error", ["v.conll:1"])
    assert "100% of validation words" in only(found, "validation words").problem.message


def test_words_with_several_tags_are_a_share(tmp_path: Path) -> None:
    text = "run NOUN\nfar ADV\n\nrun VERB\nfar ADV\n\n" * 3
    valid = write(tmp_path / "v.conll", "run NOUN\nfar ADV\n\n")
    told = dict(check("tag", train=write(tmp_path / "t.conll", text), valid=valid).summary)
    assert told["vocabulary"] == "2 words; 50.0% of them (50.0% of the text) have several tags"
    assert told["new words"].startswith("0%")


def test_long_sentences_that_stand_twice(tmp_path: Path) -> None:
    long = "it NOUN\nruns VERB\nand CCONJ\nruns {} \n. PUNCT\n\n"
    text = CLEAN + long.format("VERB") + long.format("NOUN") + "ok INTJ\n. PUNCT\n\n" * 5
    found = check("tag", train=write(tmp_path / "t.conll", text))
    again = only(found, "repeat")
    assert (again.count, names(again.locations)) == (1, ["t.conll:167"])
    assert names(only(found, "different tags").locations) == ["t.conll:161", "t.conll:167"]


SCHEME = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


@given(st.lists(st.lists(st.sampled_from(SCHEME), min_size=1, max_size=6), min_size=1, max_size=5))
def test_spans_that_never_began(sentences: list[list[str]]) -> None:
    spans, found = SpanTags(), Inspection("any")
    wrong = 0
    for number, tags in enumerate([["B-PER", "O"], *sentences], 1):
        spans.add(tags, Location("t.conll", number))
        for at, tag in enumerate(tags):
            before = tags[at - 1] if at else "O"
            wrong += tag.startswith("I-") and before not in (tag, f"B-{tag[2:]}")
    spans.report(SCHEME, found)
    assert sum(finding.count for finding in found.findings) == wrong


def test_parts_of_speech_are_no_spans(tmp_path: Path) -> None:
    found = check("tag", train=write(tmp_path / "t.conll", CLEAN + "a I-X\nb NOUN\n\n" * 3))
    assert not says(found, "I-X (or")


@pytest.mark.parametrize(("tags", "words"), [("I-PER I-PER O", "IOB1"), ("B-PER I-PER O I-LOC O", "without a B-X")])
def test_the_form_of_spans(tmp_path: Path, tags: str, words: str) -> None:
    sentence = "".join(f"w{number} {tag}\n" for number, tag in enumerate(tags.split())) + "\n"
    assert only(check("tag", train=write(tmp_path / "t.conll", sentence * 20 + "w O\n\n" * 5)), words).kind == "note"
