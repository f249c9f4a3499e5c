"""The worst examples: as many as are kept, the least likely first."""

from hypothesis import given
from hypothesis import strategies as st

from seqloom.tasks.hardest_examples import LONGEST, Worst

probabilities = st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9, 1.0]), max_size=30)


@given(probabilities, st.integers(1, 6))
def test_the_least_likely_are_kept_earlier_ones_first(given_: list[float], kept: int) -> None:
    worst = Worst(kept)
    for number, probability in enumerate(given_):
        worst.add(probability, text=str(number))
    right = sorted(enumerate(given_), key=lambda each: (each[1], each[0]))[:kept]
    assert [(int(each["text"]), each["probability"]) for each in worst.told()] == right


@given(probabilities, st.integers(1, 6), st.sampled_from([0.0, 0.15, 1.0]))
def test_what_it_takes_is_what_it_keeps(given_: list[float], kept: int, probability: float) -> None:
    worst = Worst(kept)
    for each in given_:
        worst.add(each, text="before")
    takes = worst.takes(probability)
    worst.add(probability, text="now")
    assert takes == any(each["text"] == "now" for each in worst.told())


def test_a_long_text_is_cut_and_what_is_said_of_it_is_kept() -> None:
    worst = Worst()
    worst.add(0.1, text="x" * (LONGEST + 1), gold=["a"], place="a.csv:3")
    worst.add(0.2, text=["word"] * (LONGEST + 1))
    first, second = worst.told()
    assert len(first["text"]) == len(second["text"]) == LONGEST
    assert (first["gold"], first["place"]) == (["a"], "a.csv:3")


def test_no_example_is_no_worst_one() -> None:
    assert Worst().told() == []
    assert Worst().takes(1.0)
