"""Streaming: a text depends on its seed and number only, and the text of its tokens arrives token by token."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.config.decode import Decode
from seqloom.core.problem import ArgumentError
from seqloom.data.tokenizers import TOKENIZERS, Tokenizer, train_tokenizer
from seqloom.decoding.sampling import sample_tokens, uniform_noise
from seqloom.decoding.stream import Detokenizer, stream
from seqloom.nn import LSTM, LearnedPositions, Model, PerToken, Recurrent, TokenEmbedding
from seqloom.nn.transformer import TransformerConfig, decoder
from tests.decoding.searching import collect

pytestmark = pytest.mark.usefixtures("unchecked")  # many steps; test_search has shape checks

VOCABULARY = 11
PARTS = TransformerConfig(depth=1, size=8, heads=2, hidden_size=16, rotary=10_000.0)


def lstm() -> Model:
    return Model(TokenEmbedding(VOCABULARY, 5), Recurrent(LSTM(5, 8)), PerToken(8, VOCABULARY))


def transformer() -> Model:
    return Model(TokenEmbedding(VOCABULARY, 8), decoder(PARTS), PerToken(8, VOCABULARY))


def transformer_of_8_positions() -> Model:
    """A Transformer of eight positions."""
    plain = TransformerConfig(depth=1, size=8, heads=2, hidden_size=16)
    return Model(
        TokenEmbedding(VOCABULARY, 8, positions=LearnedPositions(8, 8)), decoder(plain), PerToken(8, VOCABULARY)
    )


def ready(make: Callable[[], Model]) -> Model:
    """A model in float64 and eval mode, with logits far enough apart that texts are not mere noise."""
    model = make().double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 0.7)
    return model


every_model = pytest.mark.parametrize("make", [lstm, transformer, transformer_of_8_positions])
OPTIONS = Decode(temperature=1.0, top_k=8, top_p=0.95, max_length=12)
PROMPTS = [[1, 2, 3], [4], [5, 6, 7, 8, 9], [1, 2, 3], [10, 0]]


def without_a_state(model: Model, prompt: list[int], number: int, options: Decode, seed: int) -> list[int]:
    """The text, with the prefix recomputed for each token: at most a window, or its last half when it is full."""
    window, generated = model.max_length, []
    prefix = prompt[-(window or 0) :]
    for step in range(options.max_length):
        if window is not None and len(prefix) > window:
            prefix = prefix[-(window // 2) :]
        tokens = torch.tensor([prefix])
        with torch.no_grad():
            y, _ = model(tokens)
            logits = model.head(y)[:, -1]
        token = sample_tokens(
            logits,
            temperature=options.temperature,
            top_k=options.top_k,
            top_p=options.top_p,
            noise=uniform_noise(seed, [number], step),
        ).item()
        generated.append(token)
        prefix.append(token)
    return generated


# Streaming -----------------------------------------------------------------------------------------------------------


@every_model
def test_sampling_with_a_state_equals_recomputing_the_prefix(make: Callable[[], Model]) -> None:
    model = ready(make)
    texts = collect(stream(model, PROMPTS, options=OPTIONS, seed=3), len(PROMPTS))
    assert texts == [without_a_state(model, p, number, OPTIONS, 3) for number, p in enumerate(PROMPTS)]
    assert texts[0] != texts[3]  # one prompt, two samples


@every_model
def test_greedy_search_with_a_state_equals_recomputing_the_prefix(make: Callable[[], Model]) -> None:
    model, options = ready(make), Decode(temperature=0, max_length=12)
    texts = collect(stream(model, PROMPTS, options=options, seed=0), len(PROMPTS))
    assert texts == [without_a_state(model, prompt, 0, options, 0) for prompt in PROMPTS]
    assert texts[0] == texts[3]


@every_model
def test_a_seed_gives_the_same_text_alone_and_in_a_batch(make: Callable[[], Model]) -> None:
    model = ready(make)
    together = collect(stream(model, PROMPTS, options=OPTIONS, seed=5), len(PROMPTS))
    for number, prompt in enumerate(PROMPTS):
        torch.manual_seed(number)  # the global generator has no effect
        (alone,) = collect(stream(model, [prompt], options=OPTIONS, seed=5, sample_numbers=[number]), 1)
        assert alone == together[number]
    assert collect(stream(model, PROMPTS, options=OPTIONS, seed=6), len(PROMPTS)) != together


@every_model
def test_the_end_token_ends_only_its_row(make: Callable[[], Model]) -> None:
    model = ready(make)
    freely = collect(stream(model, PROMPTS, options=OPTIONS, seed=1), len(PROMPTS))
    end = freely[2][0]
    ended = collect(stream(model, PROMPTS, options=OPTIONS, seed=1, end=end), len(PROMPTS))
    assert ended == [text[: text.index(end)] if end in text else text for text in freely]
    assert ended[2] == []
    assert any(ended)


def test_streaming_ends_when_all_rows_have_ended() -> None:
    model = ready(lstm)
    assert list(stream(model, PROMPTS, options=OPTIONS, seed=1, end=3, banned=set(range(VOCABULARY)) - {3})) == []
    assert list(stream(model, [], options=OPTIONS, seed=1)) == []


@pytest.mark.parametrize("context", [1, 3, 8, 50])
def test_streaming_continues_past_the_maximum_length(context: int) -> None:
    model, options = ready(transformer_of_8_positions), Decode(temperature=1.0, max_length=14)
    prompts = [PROMPTS[0], PROMPTS[1], [number % VOCABULARY for number in range(23)]]  # longer than the context
    texts = collect(stream(model, prompts, options=options, seed=2, context=context), len(prompts))
    assert [len(text) for text in texts] == [14] * len(prompts)
    alone = [
        collect(stream(model, [prompt], options=options, seed=2, context=context, sample_numbers=[number]), 1)[0]
        for number, prompt in enumerate(prompts)
    ]
    assert texts == alone


def test_streaming_does_not_read_positions_from_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, where a state has only an upper bound on its positions."""
    model, options = ready(transformer_of_8_positions), Decode(temperature=1.0, max_length=14)
    texts = collect(stream(model, PROMPTS, options=options, seed=2), len(PROMPTS))
    for user in ("kernels.masks", "nn.state", "nn.validation"):
        monkeypatch.setattr(f"seqloom.{user}.readable_without_sync", lambda _: False)
    assert collect(stream(model, PROMPTS, options=options, seed=2), len(PROMPTS)) == texts


def test_a_step_processes_one_token() -> None:
    model, widths = ready(transformer), []
    model.stem.register_forward_pre_hook(lambda _, inputs: widths.append(tuple(inputs[0].shape)))
    collect(stream(model, PROMPTS, options=OPTIONS, seed=1), len(PROMPTS))
    assert widths == [(5, 5)] + [(5, 1)] * (OPTIONS.max_length - 1)


def test_a_row_with_a_full_context_is_recomputed_alone() -> None:
    model, widths = ready(transformer_of_8_positions), []
    model.stem.register_forward_pre_hook(lambda _, inputs: widths.append(tuple(inputs[0].shape)))
    prompts = [[1, 2, 3, 4, 5, 6, 7], [1]]
    collect(stream(model, prompts, options=Decode(max_length=4), seed=1), 2)
    assert widths == [(2, 7), (2, 1), (1, 4), (1, 1), (2, 1)]


def test_each_token_is_yielded_when_it_is_generated() -> None:
    model, calls = ready(lstm), []
    model.stem.register_forward_pre_hook(lambda _, inputs: calls.append(1))
    steps = stream(model, PROMPTS[:2], options=OPTIONS, seed=1)
    assert calls == []
    assert list(next(steps)) == [0, 1]
    assert len(calls) == 1
    assert torch.is_grad_enabled()  # the generator does not change the grad mode of its caller


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(ArgumentError) as error:
        stream(ready(lstm), [[1], []], options=OPTIONS, seed=1)
    assert str(error.value) == (
        "decode: prompts[1] has no tokens; expected at least one: begin with the token that begins a text."
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_not_finite_are_an_error(value: float, temperature: float) -> None:
    model = ready(lstm)
    with torch.no_grad():
        model.head.output.bias[4] = value
    with pytest.raises(ArgumentError, match="decode: logits has no finite largest value"):
        next(stream(model, PROMPTS, options=Decode(temperature=temperature), seed=1))


@every_model
def test_constraints_apply_to_streaming(make: Callable[[], Model]) -> None:
    model, options = ready(make), Decode(temperature=1.5, max_length=30, min_length=5, no_repeat_ngram=1)
    texts = collect(stream(model, PROMPTS, options=options, seed=1, end=0, banned=[1, 2]), len(PROMPTS))
    for text in texts:
        assert len(text) >= 5
        assert len(set(text)) == len(text)
        assert not {0, 1, 2} & set(text)
    options = options.model_copy(update={"min_length": 100})
    texts = collect(stream(model, PROMPTS, options=options, seed=1, end=0, banned=[1, 2]), len(PROMPTS))
    assert [sorted(text) for text in texts] == [list(range(3, VOCABULARY))] * len(PROMPTS)  # no token was left


def test_other_invalid_input_is_an_error() -> None:
    with pytest.raises(
        ArgumentError, match="options has a beam of 3 and n_best 1; expected 1 of both; `decode` returns"
    ):
        stream(ready(lstm), PROMPTS, options=Decode(beam_size=3), seed=1)
    with pytest.raises(ArgumentError, match="context is 0; expected at least 1"):
        stream(ready(lstm), PROMPTS, options=OPTIONS, seed=1, context=0)
    with pytest.raises(ArgumentError, match="sample_numbers has length 1; expected 5, one per prompt"):
        stream(ready(lstm), PROMPTS, options=OPTIONS, seed=1, sample_numbers=[4])
    with pytest.raises(ArgumentError, match="tokens has the value 99"):
        next(stream(ready(lstm), [[99]], options=OPTIONS, seed=1))


# Detokenizer ---------------------------------------------------------------------------------------------------------

TRAINING_TEXT = "I don't (really) know, she with_end: it's well-known!\n\nNaïve café, 漢字 🙂 [a, {b}].\n" * 3


def train(kind: str) -> Tokenizer:
    return train_tokenizer(kind, [TRAINING_TEXT], vocabulary_size=300, min_count=1, lowercase=False, sample=10_000)


ALL_TOKENIZERS = {kind: train(kind) for kind in TOKENIZERS}


@pytest.mark.parametrize("kind", ALL_TOKENIZERS)
@given(st.data())
def test_the_texts_of_any_tokens_join_to_the_decoded_text(kind: str, data: st.DataObject) -> None:
    """Also of bytes that are no UTF-8 and of punctuation in any order."""
    tokenizer = ALL_TOKENIZERS[kind]
    tokens = data.draw(st.lists(st.integers(0, len(tokenizer) - 1), max_size=40))
    detokenizer = Detokenizer(tokenizer)
    text = "".join(detokenizer.add(token) for token in tokens)
    decoded = tokenizer.decode(tokens)
    assert decoded.startswith(text)
    assert decoded[len(text) :] in ("", "\ufffd")  # the bytes of the last character may be incomplete


@pytest.mark.parametrize("kind", ALL_TOKENIZERS)
def test_the_texts_of_an_encoded_text_join_to_it(kind: str) -> None:
    tokens = ALL_TOKENIZERS[kind].encode(TRAINING_TEXT).tolist()
    detokenizer = Detokenizer(ALL_TOKENIZERS[kind])
    text = "".join([detokenizer.add(token) for token in tokens])
    assert text == ALL_TOKENIZERS[kind].decode(tokens)
    assert "\ufffd" not in text
    assert "漢" in text


@pytest.mark.parametrize("kind", ALL_TOKENIZERS)
def test_a_token_costs_the_same_at_any_length_of_the_text(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = train(kind)
    decoded: list[int] = []
    decode = tokenizer.decode
    monkeypatch.setattr(tokenizer, "decode", lambda ids: decoded.append(len(ids)) or decode(ids))
    detokenizer = Detokenizer(tokenizer)
    tokens = tokenizer.encode(TRAINING_TEXT * 5).tolist()
    for token in tokens:
        detokenizer.add(token)
    assert max(decoded, default=0) <= 2
    assert sum(decoded) <= 3 * len(tokens)
