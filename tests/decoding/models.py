"""Small generative models of every kind in float64, and their teacher-forced scores."""

from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from seqloom.nn.attention_decoder import AttentionDecoder, ConcatCombine, TanhCombine
from seqloom.nn.bridges import choose_bridge
from seqloom.nn.cells import GRU, LSTM
from seqloom.nn.decoder_context import AttentionAfter, AttentionBefore
from seqloom.nn.heads.per_token import PerToken
from seqloom.nn.model import EncoderDecoder, GenerativeModel, Model
from seqloom.nn.positions import LearnedPositions, Sinusoidal
from seqloom.nn.record import record
from seqloom.nn.recurrent import Bidirectional, Recurrent
from seqloom.nn.stems import TokenEmbedding
from seqloom.nn.transformer import TransformerConfig, cross_decoder, decoder, encoder

WORDS, END, SIZE = 5, 4, 8
PARTS = TransformerConfig(depth=2, size=SIZE, heads=2, hidden_size=12, dropout=0.0)
SOURCE = torch.tensor([[1, 2, 3, 0, 2], [3, 1, 0, 0, 0], [2, 2, 0, 3, 0], [0, 0, 0, 0, 0]])
LENGTHS = torch.tensor([5, 2, 4, 1])


def before() -> EncoderDecoder:
    encoder_ = Bidirectional(Recurrent(GRU(SIZE, 4)), Recurrent(GRU(SIZE, 4)))
    body = Recurrent(GRU(2 * SIZE, SIZE))
    context = AttentionBefore(SIZE, SIZE, "additive")
    decoder_ = AttentionDecoder(body, context, ConcatCombine(SIZE, SIZE), choose_bridge(encoder_, body))
    return EncoderDecoder(
        TokenEmbedding(WORDS, SIZE), encoder_, TokenEmbedding(WORDS, SIZE), decoder_, PerToken(2 * SIZE, WORDS)
    )


def after() -> EncoderDecoder:
    encoder_, body = Recurrent(LSTM(SIZE, SIZE)), Recurrent(LSTM(2 * SIZE, SIZE))
    context, combine = AttentionAfter(SIZE, SIZE, "dot"), TanhCombine(SIZE, SIZE)
    decoder_ = AttentionDecoder(body, context, combine, choose_bridge(encoder_, body), input_feeding=True)
    return EncoderDecoder(
        TokenEmbedding(WORDS, SIZE), encoder_, TokenEmbedding(WORDS, SIZE), decoder_, PerToken(SIZE, WORDS)
    )


def transformer() -> EncoderDecoder:
    words = TokenEmbedding(WORDS, SIZE, positions=LearnedPositions(SIZE, 12))
    source = TokenEmbedding(WORDS, SIZE, positions=Sinusoidal(SIZE), tied=words)
    return EncoderDecoder(source, encoder(PARTS), words, cross_decoder(PARTS), PerToken(SIZE, WORDS))


def recurrent_language_model() -> Model:
    return Model(TokenEmbedding(WORDS, SIZE), Recurrent(LSTM(SIZE, SIZE)), PerToken(SIZE, WORDS))


def transformer_language_model() -> Model:
    words = TokenEmbedding(WORDS, SIZE, positions=Sinusoidal(SIZE))
    return Model(words, decoder(PARTS), PerToken(SIZE, WORDS))


ENCODER_DECODERS = {"before": before, "after": after, "transformer": transformer}
LANGUAGE_MODELS = {"lstm": recurrent_language_model, "gpt": transformer_language_model}
every_encoder_decoder = pytest.mark.parametrize("make", ENCODER_DECODERS.values(), ids=ENCODER_DECODERS)
every_model = pytest.mark.parametrize(
    "make", [*ENCODER_DECODERS.values(), *LANGUAGE_MODELS.values()], ids=[*ENCODER_DECODERS, *LANGUAGE_MODELS]
)

# The prompt of an encoder-decoder is the end token; that of a language model is a text.
PROMPTS = {True: [[END]] * 4, False: [[1, 2], [3], [0, 1, 2], [3]]}


def ready(make: Callable[[], GenerativeModel], seed: int = 0) -> GenerativeModel:
    """A model in eval mode, with weights large enough that generated texts differ."""
    torch.manual_seed(seed)
    model = make().double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 0.6)
    return model


def prompts_of(model: GenerativeModel) -> list[list[int]]:
    return PROMPTS[isinstance(model, EncoderDecoder)]


def teacher_forced(model: GenerativeModel, row: int, prompt: list[int], texts: list[list[int]]) -> list[list[float]]:
    """log p of each token after the prompt, for each text of this source, in one teacher-forced pass."""
    inputs = [torch.tensor([*prompt, *text[:-1]]) for text in texts]
    state = model.start(SOURCE[row : row + 1, : LENGTHS[row]].expand(len(texts), -1))
    lengths = torch.tensor([len(tokens) for tokens in inputs])
    with torch.no_grad():
        logits, _ = model.step(pad_sequence(inputs, batch_first=True), state, lengths)
    log_p = logits[:, len(prompt) - 1 :].log_softmax(dim=2)
    return [row_log_p[torch.arange(len(text)), text].tolist() for row_log_p, text in zip(log_p, texts, strict=True)]


def teacher_forced_attention(
    model: EncoderDecoder, row: int, prompt: list[int], tokens: list[int]
) -> dict[str, Tensor]:
    """The attention weights of each of these tokens, in one teacher-forced pass over a single row."""
    state = model.start(SOURCE[row : row + 1, : LENGTHS[row]])
    with record("attention") as seen:
        model.step(torch.tensor([[*prompt, *tokens[:-1]]]), state)
    return {
        name: values["weights"][0, :, len(prompt) - 1 :]
        for name, values in seen["attention"].items()
        if name.endswith("memory")
    }


def all_texts(steps: int) -> list[tuple[list[int], bool]]:
    """Every text that ends within `steps` tokens, with its end token, and every text cut there."""
    words = [word for word in range(WORDS) if word != END]
    ended = [([*text, END], True) for n in range(steps) for text in product(words, repeat=n)]
    return ended + [(list(text), False) for text in product(words, repeat=steps)]
