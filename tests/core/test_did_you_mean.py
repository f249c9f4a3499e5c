"""A suggestion is a typing error away, or there is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.did_you_mean import closest_name, edit_distance

words = st.text("abcd", max_size=8)
KNOWN = [
    "lr",
    "l2",
    "batch",
    "momentum",
    "halve_every",
    "label_smoothing",
    "min_count",
    "max_length",
    "heads",
    "hidden",
]


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("bacth", "batch"),
        ("Batch", "batch"),
        ("halve-every", "halve_every"),
        ("momentun", "momentum"),
        ("lable_smoothing", "label_smoothing"),
        ("labl_smothing", "label_smoothing"),
        ("momen", "momentum"),
        ("label", "label_smoothing"),
    ],
)
def test_a_typing_error_is_corrected(wrong: str, expected: str) -> None:
    assert closest_name(wrong, KNOWN) == expected


@pytest.mark.parametrize(
    "wrong", ["", "l", "l3", "lx", "zzz", "bath_size", "max_count_of", "head_hidden", "moment_of_truth", "smooth", "ba"]
)
def test_a_name_unlike_any_other_has_no_suggestion(wrong: str) -> None:
    assert closest_name(wrong, KNOWN) is None


def test_a_prefix_of_two_names_has_no_suggestion() -> None:
    assert closest_name("train", ["train_step", "train_rate"]) is None


def test_the_nearest_name_is_suggested() -> None:
    assert closest_name("gelu_tan", ["gelu", "gelu-tanh"]) == "gelu-tanh"
    assert closest_name("lstmm", ["lstm", "lstmns"]) == "lstm"


@given(words, words, words)
def test_the_edit_distance_is_a_metric(a: str, b: str, c: str) -> None:
    assert (edit_distance(a, b) == 0) == (a == b)
    assert edit_distance(a, b) == edit_distance(b, a)
    assert abs(len(a) - len(b)) <= edit_distance(a, b) <= max(len(a), len(b))
    assert edit_distance(a + c, b + c) <= edit_distance(a, b)


@given(words, st.integers(0, 7), st.sampled_from("abcd"))
def test_one_insertion_deletion_or_swap_has_distance_one(word: str, at: int, letter: str) -> None:
    assert edit_distance(word, word[:at] + letter + word[at:]) == 1
    assert edit_distance(word, word[:at] + word[at + 1 :]) == (at < len(word))
    swapped = word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :]
    assert edit_distance(word, swapped) == (swapped != word)
