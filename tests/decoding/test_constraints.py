"""Constraints: banned, forced and repeated tokens."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.decoding.constraints import Constraints, repeated_ngrams

OUT = float("-inf")


@given(data=st.data(), rows=st.integers(1, 3), steps=st.integers(0, 9), count=st.integers(1, 4))
def test_what_would_repeat_a_sequence_is_found(data: st.DataObject, rows: int, steps: int, count: int) -> None:
    row = st.lists(st.integers(0, 2), min_size=steps, max_size=steps)
    written = data.draw(st.lists(row, min_size=rows, max_size=rows))
    expected = set()
    for number, text in enumerate(written):
        before = {tuple(text[i : i + count]) for i in range(steps - count + 1)}
        latest = tuple(text[steps - count + 1 :]) if steps >= count - 1 else None
        expected |= {(number, token) for token in range(3) if latest is not None and (*latest, token) in before}
    found = repeated_ngrams(np.array(written, np.int64).reshape(rows, steps), count)
    assert set(zip(*(each.tolist() for each in found), strict=True)) == expected


def test_an_end_waits_for_the_least_length() -> None:
    constraints = Constraints(banned=(0,), end_tokens=(3,), min_length=2)
    for steps, last in ((1, OUT), (2, 0.0)):
        logits = torch.zeros(2, 4)
        constraints.apply(logits, steps, None)
        assert logits.tolist() == [[OUT, 0, 0, last]] * 2


def test_what_is_forced_goes_before_what_is_ruled_out() -> None:
    logits = torch.arange(8.0).reshape(2, 4)
    Constraints(banned=(1,), no_repeat_ngram=1).apply(logits, 2, np.array([[1, 2], [1, 2]]), forced={0: 1})
    assert logits.tolist() == [[OUT, 1, OUT, OUT], [4, OUT, OUT, 7]]


def test_nothing_asked_nothing_changed() -> None:
    logits = torch.randn(2, 4)
    before = logits.clone()
    Constraints().apply(logits, 3, None)
    assert torch.equal(logits, before)
