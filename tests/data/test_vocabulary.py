"""Names and numbers, both ways; and a saved list that was damaged says so."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.problem import RunError
from seqloom.data.vocabulary import UNKNOWN, Vocabulary

name = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@given(st.lists(name, min_size=1, unique=True))
def test_numbers_are_places_in_the_list(names: list[str]) -> None:
    vocabulary = Vocabulary(names)
    assert vocabulary.ids(names).tolist() == list(range(len(names)))
    assert list(vocabulary) == names
    assert all(word in vocabulary for word in names)
    assert Vocabulary.from_json(vocabulary.to_json(), "labels.json").names == vocabulary.names


def test_what_is_not_there_is_unknown() -> None:
    assert Vocabulary(["a", UNKNOWN]).ids(["b", "a"]).tolist() == [1, 0]
    assert "b" not in Vocabulary(["a", UNKNOWN])


@given(st.dictionaries(name, st.integers(1, 9)), st.integers(1, 5), st.none() | st.integers(1, 6))
def test_the_most_frequent_names_are_kept(counts: dict[str, int], least: int, most: int | None) -> None:
    names = Vocabulary.from_counts(Counter(counts), unknown=True, min_count=least, max_size=most).names
    assert names[0] == UNKNOWN
    frequent = names[1:]
    assert all(counts[word] >= least for word in frequent)
    assert [counts[word] for word in frequent] == sorted((counts[word] for word in frequent), reverse=True)
    left_out = [n for word, n in counts.items() if n >= least and word not in names]
    assert len(names) == most if left_out else most is None or len(names) <= most
    assert all(n <= counts[word] for word in frequent for n in left_out)


def test_the_order_does_not_depend_on_that_of_counting() -> None:
    one, other = Counter("abcabc"), Counter("ccbbaa")
    assert Vocabulary.from_counts(one, unknown=False).names == Vocabulary.from_counts(other, unknown=False).names


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", '["a", "a"]', '["a"', "[" * 100_000, "[" + "9" * 5000 + "]"])
def test_a_damaged_list_is_a_sentence(text: str) -> None:
    with pytest.raises(RunError, match=r"^labels\.json: .* damaged\. Restore the file from a copy\.$"):
        Vocabulary.from_json(text, "labels.json")


def test_names_are_saved_as_a_person_reads_them() -> None:
    assert json.loads(Vocabulary(["ä", "b"]).to_json()) == ["ä", "b"]
    assert "ä" in Vocabulary(["ä"]).to_json()
