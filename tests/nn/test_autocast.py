"""Under autocast, with products in bfloat16 and weights in float32, results are close to float32."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from seqloom.nn.attention_decoder import AttentionDecoder, ConcatCombine
from seqloom.nn.bridges import LearnedBridge
from seqloom.nn.cells import GRU, LSTM
from seqloom.nn.decoder_context import AttentionBefore
from seqloom.nn.heads.crf import CRF
from seqloom.nn.heads.per_token import PerToken
from seqloom.nn.model import EncoderDecoder, Model
from seqloom.nn.recurrent import Recurrent
from seqloom.nn.stems import TokenEmbedding
from seqloom.nn.transformer import LLAMA, decoder

SIZE, WORDS, TAGS = 16, 11, 5
LENGTHS, SOME = torch.tensor([7, 3, 0]), torch.tensor([7, 3, 1])
TOKENS = torch.tensor([[3, 1, 4, 1, 5, 9, 2], [6, 5, 3, 0, 0, 0, 0], [0] * 7])
TARGET = torch.tensor([[2, 0, 1, 3, 4, 4, 1], [1, 2, 3, 0, 0, 0, 0], [0] * 7])


def rotary_decoder() -> tuple[Model, Callable[[Model], Tensor]]:
    """A language model with Llama's parts: rotary positions, RMS norms, gates, grouped heads."""
    parts = replace(LLAMA, depth=2, size=SIZE, heads=4, hidden_size=24, dropout=0.0)
    model = Model(TokenEmbedding(WORDS, SIZE), decoder(parts), PerToken(SIZE, TAGS))
    return model, lambda model: model.loss(TOKENS, TARGET, LENGTHS).mean


def bahdanau() -> tuple[EncoderDecoder, Callable[[EncoderDecoder], Tensor]]:
    """A decoder that attends to the outputs of an encoder before each step, with an additive score."""
    body = Recurrent(GRU(2 * SIZE, SIZE))
    context, combine = AttentionBefore(SIZE, SIZE, "additive"), ConcatCombine(SIZE, SIZE)
    attention_decoder = AttentionDecoder(body, context, combine, LearnedBridge(SIZE, body))
    stems = TokenEmbedding(WORDS, SIZE), TokenEmbedding(TAGS, SIZE)
    model = EncoderDecoder(stems[0], Recurrent(LSTM(SIZE, SIZE)), stems[1], attention_decoder, PerToken(2 * SIZE, TAGS))
    return model, lambda model: model.loss(TOKENS, TARGET, TARGET, LENGTHS, LENGTHS).mean


def tagger() -> tuple[Model, Callable[[Model], Tensor]]:
    """A CRF on an LSTM; its sums over all tag sequences are not accurate in bfloat16."""
    model = Model(TokenEmbedding(WORDS, SIZE), Recurrent(LSTM(SIZE, SIZE)), CRF(SIZE, TAGS))
    return model, lambda model: model.loss(TOKENS, TARGET, LENGTHS).mean


@pytest.mark.parametrize("make", [rotary_decoder, bahdanau, tagger])
def test_losses_and_gradients_are_close_to_float32(
    make: Callable[[], tuple[Model | EncoderDecoder, Callable]],
) -> None:
    model, loss_of = make()
    results = []
    for low in (False, True):
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=low):
            loss = loss_of(model)
        loss.backward()
        results.append((loss.detach(), {name: weight.grad.clone() for name, weight in model.named_parameters()}))
    (high, exact), (low_loss, actual) = results
    assert abs(low_loss.float() - high) < 0.02 * high
    for name, gradient in actual.items():
        assert gradient.dtype == torch.float32, name
        assert gradient.isfinite().all(), name
        assert (gradient - exact[name]).norm() <= 0.05 * exact[name].norm() + 1e-4, name


@pytest.mark.parametrize("make", [rotary_decoder, bahdanau])
def test_stepwise_outputs_are_close_to_one_call(make: Callable[[], tuple[Model | EncoderDecoder, Callable]]) -> None:
    """States between steps keep the precision in which they were computed."""
    model, _ = make()
    written = TARGET if isinstance(model, EncoderDecoder) else TOKENS
    with torch.no_grad():
        whole, _ = model.step(written, model.start(TOKENS, SOME))
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        state, steps = model.start(TOKENS, SOME), []
        for token in written.split(1, dim=1):
            scores, state = model.step(token, state)
            steps.append(scores)
    torch.testing.assert_close(torch.cat(steps, dim=1).float(), whole, rtol=0, atol=0.05)
