"""A vocabulary maps names to numbers and back; a damaged file is refused."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.problem import RunError
from seqloom.data.vocabulary import UNKNOWN, Vocabulary

name = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@given(st.lists(name, min_size=1, unique=True))
def test_numbers_are_indices_of_the_list(names: list[str]) -> None:
    vocabulary = Vocabulary(names)
    assert vocabulary.ids(names).tolist() == list(range(len(names)))
    assert list(vocabulary) == names
    assert all(word in vocabulary for word in names)
    assert Vocabulary.from_json(vocabulary.to_json(), "labels.json").names == vocabulary.names


def test_a_missing_name_is_unknown() -> None:
    assert Vocabulary(["a", UNKNOWN]).ids(["b", "a"]).tolist() == [1, 0]
    assert "b" not in Vocabulary(["a", UNKNOWN])


@given(st.dictionaries(name, st.integers(1, 9)), st.integers(1, 5), st.none() | st.integers(1, 6))
def test_the_most_frequent_names_are_kept(counts: dict[str, int], min_count: int, max_size: int | None) -> None:
    names = Vocabulary.from_counts(Counter(counts), unknown=True, min_count=min_count, max_size=max_size).names
    assert names[0] == UNKNOWN
    frequent = names[1:]
    assert all(counts[word] >= min_count for word in frequent)
    assert [counts[word] for word in frequent] == sorted((counts[word] for word in frequent), reverse=True)
    left_out = [n for word, n in counts.items() if n >= min_count and word not in names]
    assert len(names) == max_size if left_out else max_size is None or len(names) <= max_size
    assert all(n <= counts[word] for word in frequent for n in left_out)


def test_the_order_does_not_depend_on_the_order_of_counting() -> None:
    first, second = Counter("abcabc"), Counter("ccbbaa")
    assert Vocabulary.from_counts(first, unknown=False).names == Vocabulary.from_counts(second, unknown=False).names


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", '["a", "a"]', '["a"', "[" * 100_000, "[" + "9" * 5000 + "]"])
def test_a_damaged_file_is_refused(text: str) -> None:
    with pytest.raises(RunError, match=r"^labels\.json: .* damaged\. Restore the file from a copy\.$"):
        Vocabulary.from_json(text, "labels.json")


def test_names_are_saved_readably() -> None:
    assert json.loads(Vocabulary(["ä", "b"]).to_json()) == ["ä", "b"]
    assert "ä" in Vocabulary(["ä"]).to_json()
