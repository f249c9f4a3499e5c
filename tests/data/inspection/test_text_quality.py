"""Odd characters are found by kind; ordinary text gives no finding."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.inspection.findings import Inspection
from seqloom.data.inspection.text_quality import ANY_ODD_CHARACTER, PATTERNS, OddCharacters
from seqloom.data.records import Location

HERE = Location("t.txt", 1)


def kinds(text: str) -> list[str]:
    odd = OddCharacters()
    odd.add(text, HERE)
    return [name for name, tally in odd.tallies.items() if tally.count]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a\x07b", "control"),
        ("a\x85b", "control"),
        ("lost \ufffd", "lost"),
        ("\ue000", "private"),
        ("a\u200bb", "zero-width"),
        ("a\u200db", "zero-width"),
        ("10\xa0km", "space"),
        ("so<br/>it", "markup"),
        ('<a href="x">', "markup"),
        ("Q&amp;A", "markup"),
    ],
)
def test_odd_characters_are_found_by_kind(text: str, kind: str) -> None:
    assert kinds(text) == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "a\tb\nc",
        "<unk> a < b > c & d",
        "I <3 it",
        "AMANHÃ, “Ô",
        "naïve café Ångström",
        "می\u200cخواهم",
        "👩\u200d👧",
        "it’s – “so”",
    ],
)
def test_ordinary_text_gives_no_finding(text: str) -> None:
    assert kinds(text) == []


@given(st.text(st.characters(min_codepoint=0xC0, max_codepoint=0xFF), min_size=1, max_size=5))
def test_mojibake_of_any_western_letter_is_found(text: str) -> None:
    assert "mojibake" in kinds(text.encode().decode("latin-1"))
    assert "mojibake" not in kinds(text)


@given(st.text())
def test_the_first_pattern_matches_all_odd_characters(text: str) -> None:
    if any(pattern.search(text) for pattern in PATTERNS.values()):
        assert ANY_ODD_CHARACTER.search(text)


def test_two_normal_forms_are_found() -> None:
    odd, inspection = OddCharacters(), Inspection("any")
    for number, form in enumerate(("NFC", "NFD", "NFC"), 1):
        odd.add(unicodedata.normalize(form, "café"), Location("t.txt", number))
    odd.report("text", inspection)
    (finding,) = inspection.findings
    assert (finding.kind, finding.count, finding.locations) == ("warning", 1, ("t.txt:2",))
    assert "in 1 text and composed (NFC) in 2" in finding.problem.message
