"""Excluded, forced and repeated tokens."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.decoding.constraints import exclude_tokens, repeated_ngrams

OUT = float("-inf")


@given(data=st.data(), rows=st.integers(1, 3), steps=st.integers(0, 9), count=st.integers(1, 4))
def test_tokens_that_would_repeat_an_ngram_are_found(data: st.DataObject, rows: int, steps: int, count: int) -> None:
    row = st.lists(st.integers(0, 2), min_size=steps, max_size=steps)
    generated = data.draw(st.lists(row, min_size=rows, max_size=rows))
    expected = set()
    for number, text in enumerate(generated):
        before = {tuple(text[i : i + count]) for i in range(steps - count + 1)}
        latest = tuple(text[steps - count + 1 :]) if steps >= count - 1 else None
        expected |= {(number, token) for token in range(3) if latest is not None and (*latest, token) in before}
    row_numbers, tokens = repeated_ngrams(np.array(generated, np.int64).reshape(rows, steps), count)
    assert set(zip(row_numbers.tolist(), tokens.tolist(), strict=True)) == expected


def test_excluded_tokens_get_no_probability_in_any_row() -> None:
    logits = torch.zeros(2, 4)
    exclude_tokens(logits, [0, 3])
    assert logits.tolist() == [[OUT, 0, 0, OUT]] * 2


def test_a_forced_token_takes_precedence_over_excluded_ones() -> None:
    logits = torch.arange(8.0).reshape(2, 4)
    exclude_tokens(logits, [1], np.array([[1, 2], [1, 2]]), no_repeat_ngram=1, forced={0: 1})
    assert logits.tolist() == [[OUT, 1, OUT, OUT], [4, OUT, OUT, 7]]


def test_logits_without_constraints_do_not_change() -> None:
    logits = torch.randn(2, 4)
    before = logits.clone()
    exclude_tokens(logits, [])
    assert torch.equal(logits, before)
