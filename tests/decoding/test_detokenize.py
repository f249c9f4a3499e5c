"""Incremental detokenization gives the text of all tokens, at the same cost for each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.tokenizers import TOKENIZERS, Tokenizer, train_tokenizer
from seqloom.decoding.detokenize import detokenizer

SEEN = "I don't (really) know, she with_end: it's well-known!\n\nNaïve café, 漢字 🙂 [a, {b}].\n" * 3


def trained(kind: str) -> Tokenizer:
    return train_tokenizer(kind, [SEEN], vocabulary_size=300, min_count=1, lowercase=False, sample=10_000)


ALL = {kind: trained(kind) for kind in TOKENIZERS}


@pytest.mark.parametrize("kind", ALL)
@given(st.data())
def test_what_is_said_is_the_text(kind: str, data: st.DataObject) -> None:
    """Of any tokens: bytes that are no UTF-8, marks in any order."""
    tokenizer = ALL[kind]
    tokens = data.draw(st.lists(st.integers(0, len(tokenizer) - 1), max_size=40))
    stream = detokenizer(tokenizer)
    with_end = "".join(stream.add(token) for token in tokens)
    whole = tokenizer.decode(tokens)
    assert whole.startswith(with_end)
    assert whole[len(with_end) :] in ("", "\ufffd")  # the bytes of a last character may not all have come


@pytest.mark.parametrize("kind", ALL)
def test_a_text_is_said_to_its_end(kind: str) -> None:
    tokens = ALL[kind].encode(SEEN).tolist()
    stream = detokenizer(ALL[kind])
    pieces = [stream.add(token) for token in tokens]
    assert "".join(pieces) == ALL[kind].decode(tokens)
    assert "\ufffd" not in "".join(pieces)
    assert "漢" in "".join(pieces)


@pytest.mark.parametrize("kind", ALL)
def test_a_token_costs_the_same_however_long_the_text_is(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = trained(kind)
    decoded: list[int] = []
    decode = tokenizer.decode
    monkeypatch.setattr(tokenizer, "decode", lambda ids: decoded.append(len(ids)) or decode(ids))
    stream = detokenizer(tokenizer)
    tokens = tokenizer.encode(SEEN * 5).tolist()
    for token in tokens:
        stream.add(token)
    assert max(decoded, default=0) <= 2
    assert sum(decoded) <= 3 * len(tokens)
