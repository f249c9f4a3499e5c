"""The worst examples: as many as are most, the least likely first."""

from hypothesis import given
from hypothesis import strategies as st

from seqloom.tasks.hardest_examples import MAX_TEXT, HardestExamples

probabilities = st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9, 1.0]), max_size=30)


@given(probabilities, st.integers(1, 6))
def test_the_least_likely_are_kept_earlier_ones_first(given_: list[float], most: int) -> None:
    hardest = HardestExamples(most)
    for number, probability in enumerate(given_):
        hardest.add(probability, text=str(number))
    right = sorted(enumerate(given_), key=lambda example: (example[1], example[0]))[:most]
    assert [(int(example["text"]), example["probability"]) for example in hardest.details()] == right


@given(probabilities, st.integers(1, 6), st.sampled_from([0.0, 0.15, 1.0]))
def test_what_it_takes_is_what_it_keeps(given_: list[float], most: int, probability: float) -> None:
    hardest = HardestExamples(most)
    for example in given_:
        hardest.add(example, text="before")
    takes = hardest.accepts(probability)
    hardest.add(probability, text="now")
    assert takes == any(example["text"] == "now" for example in hardest.details())


def test_a_long_text_is_cut_and_what_is_said_of_it_is_kept() -> None:
    hardest = HardestExamples()
    hardest.add(0.1, text="x" * (MAX_TEXT + 1), gold=["a"], place="a.csv:3")
    hardest.add(0.2, text=["word"] * (MAX_TEXT + 1))
    first, second = hardest.details()
    assert len(first["text"]) == len(second["text"]) == MAX_TEXT
    assert (first["gold"], first["place"]) == (["a"], "a.csv:3")


def test_no_example_is_no_worst_one() -> None:
    assert HardestExamples().details() == []
    assert HardestExamples().accepts(1.0)
