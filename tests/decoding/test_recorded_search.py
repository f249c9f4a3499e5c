"""What is recorded during a search: each hypothesis has the record of its own tokens."""

import pytest
import torch
from torch import Tensor

from seqloom.core.config.decode import Decode
from seqloom.decoding.decode import decode
from seqloom.decoding.stream import stream
from seqloom.nn.model import EncoderDecoder, GenerativeModel
from seqloom.nn.record import record
from seqloom.nn.recording import Row
from tests.decoding.models import (
    END,
    LANGUAGE_MODELS,
    LENGTHS,
    SOURCE,
    every_model,
    prompts_of,
    ready,
    recurrent_language_model,
    transformer_language_model,
)

KINDS = ("gates", "states", "attention")


def assert_recorded(row: Row, model: GenerativeModel, source: Tensor | None, tokens: list[int]) -> None:
    """The row has what one pass over these tokens alone records."""
    assert row.tokens == tokens
    with torch.no_grad(), record(*KINDS) as alone:
        inputs = torch.tensor([tokens])
        model.step(inputs, model.start(inputs if source is None else source))
    assert any(alone[kind] for kind in KINDS)
    for kind in KINDS:
        assert row[kind].keys() == alone[kind].keys()
        for path, tensors in alone[kind].items():
            for name, values in tensors.items():
                mine = row[kind][path][name]
                assert mine[..., values.shape[-1] :].eq(0).all()  # the keys of a longer row
                torch.testing.assert_close(mine[..., : values.shape[-1]], values[0], rtol=0, atol=1e-9)


@every_model
@pytest.mark.parametrize(
    "options",
    [
        Decode(temperature=0, max_length=6),
        Decode(temperature=0, beam_size=4, n_best=4, max_length=6),
        Decode(temperature=1, n_best=3, max_length=6),
    ],
    ids=["greedy", "beam", "samples"],
)
def test_each_hypothesis_has_the_record_of_its_own_tokens(make, options: Decode) -> None:
    model = ready(make)
    prompts, is_translator = prompts_of(model), isinstance(model, EncoderDecoder)
    batches = [[0, 1, 2], [3, 1]]
    with record(*KINDS) as seen:
        results = []
        for rows in batches:
            source, lengths = (SOURCE[rows], LENGTHS[rows]) if is_translator else (None, None)
            results.append(
                decode(model, source, lengths, prompts=[prompts[row] for row in rows], end=END, options=options, seed=3)
            )
    assert len(seen.calls) == len(batches)
    for call, rows, of_batch in zip(seen.calls, batches, results, strict=True):
        hypotheses = [(row, hypothesis) for row, best in zip(rows, of_batch, strict=True) for hypothesis in best]
        for recorded, (row, hypothesis) in zip(call.rows, hypotheses, strict=True):
            read = hypothesis.tokens if hypothesis.ended else hypothesis.tokens[:-1]  # the last token is not read
            source = SOURCE[row : row + 1, : LENGTHS[row]] if is_translator else None
            assert_recorded(recorded, model, source, [*prompts[row], *read])
            assert recorded.source_tokens == (None if source is None else source[0].tolist())


@pytest.mark.parametrize("make", LANGUAGE_MODELS.values(), ids=LANGUAGE_MODELS)
def test_each_text_of_a_stream_has_its_own_record(make) -> None:
    model = ready(make)
    prompts = prompts_of(model)
    texts = [list(prompt) for prompt in prompts]
    with record(*KINDS) as seen:
        for new in stream(model, prompts, options=Decode(max_length=5, temperature=1), seed=2, end=END):
            for row, token in new.items():
                texts[row].append(token)
    (call,) = seen.calls
    for recorded, text in zip(call.rows, texts, strict=True):
        assert recorded.tokens is not None
        assert_recorded(recorded, model, None, text[: len(recorded.tokens)])
        assert len(recorded.tokens) >= len(text) - 1


def test_nothing_is_kept_without_a_recorder() -> None:
    model = ready(recurrent_language_model)
    state = model.start(torch.tensor([[1]]))
    _, state = model.step(torch.tensor([[1]]), state)
    assert state.select(torch.tensor([0, 0])).recorded is None


def test_a_text_beyond_the_context_is_read_again_in_a_call_of_its_own() -> None:
    model = ready(transformer_language_model)
    options = Decode(max_length=8, temperature=1)
    with record("attention") as seen:
        ((hypothesis,),) = decode(model, None, prompts=[[1, 2]], end=None, options=options, context=4)
    (row,) = (row for call in seen.calls for row in call.rows)
    assert row.tokens == [1, 2, *hypothesis.tokens][-len(row.tokens or []) - 1 : -1]
    assert_recorded_attention(row, model)


def assert_recorded_attention(row: Row, model: GenerativeModel) -> None:
    inputs = torch.tensor([row.tokens])
    with torch.no_grad(), record("attention") as alone:
        model.step(inputs, model.start(inputs))
    for path, tensors in alone["attention"].items():
        torch.testing.assert_close(row["attention"][path]["weights"], tensors["weights"][0], rtol=0, atol=1e-9)
