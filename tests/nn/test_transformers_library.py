"""Against `transformers`: GPT-2, BERT and Llama are our blocks with other parts.

Small models with random weights, made from configs. Their weights are put into our parts by name, all of them (loading
is strict), and the answers must agree.
"""

from types import ModuleType

import pytest
import torch
from torch import Tensor, nn

from seqloom.nn.feed_forward import FeedForward, GatedFeedForward
from seqloom.nn.heads import PerToken
from seqloom.nn.model import Model
from seqloom.nn.multihead import SelfAttention
from seqloom.nn.normalization import LayerNorm, RMSNorm
from seqloom.nn.positions import LearnedPositions, Rotary
from seqloom.nn.residual import PostNorm, PreNorm
from seqloom.nn.stack import Stack
from seqloom.nn.stems import TokenEmbedding
from seqloom.nn.transformer import TransformerConfig, decoder

VOCABULARY, SIZE, HIDDEN, HEADS, DEPTH, LENGTH = 19, 16, 24, 4, 3, 32
ROWS, STEPS = 3, 9
LENGTHS = torch.tensor([9, 1, 6])
REAL = torch.arange(STEPS) < LENGTHS.unsqueeze(1)


@pytest.fixture(scope="module")
def transformers() -> ModuleType:
    """Import `transformers` in the tests that need it, since this takes seconds."""
    return pytest.importorskip("transformers")


@pytest.fixture
def tokens() -> Tensor:
    return torch.randint(VOCABULARY, (ROWS, STEPS))


def shaken(model: nn.Module, dtype: torch.dtype) -> nn.Module:
    """In eval mode, with every weight far enough from zero and one that errors show."""
    with torch.no_grad():
        for weight in model.to(dtype).eval().parameters():
            weight += 0.2 * torch.randn_like(weight)
    return model


def near(dtype: torch.dtype) -> float:
    return 1e-5 if dtype == torch.float32 else 1e-12


def assert_close(actual: Tensor, expected: Tensor, atol: float) -> None:
    assert expected.abs().max() > 1  # there is something to compare
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


def assert_same_logits(ours: Model, theirs: nn.Module, tokens: Tensor, atol: float) -> None:
    """Logits are equal in one call, with padding, token by token, and in chunks of unequal lengths."""
    with torch.no_grad():
        expected = theirs(tokens).logits
        logits, _ = ours.step(tokens, ours.start(tokens))
        assert_close(logits, expected, atol)

        padded = theirs(tokens, attention_mask=REAL.long()).logits
        logits, _ = ours.step(tokens, ours.start(tokens), LENGTHS)
        assert_close(logits[REAL], padded[REAL], atol)

        state, steps = ours.start(tokens), []
        for token in tokens.split(1, dim=1):
            logits, state = ours.step(token, state)
            steps.append(logits)
        assert_close(torch.cat(steps, dim=1), expected, atol)

        _, state = ours.step(tokens[:, :6], ours.start(tokens), LENGTHS.clamp(max=6))  # prompts of 6, 1 and 6
        second, _ = ours.step(torch.stack([tokens[0, 6:8], tokens[1, 1:3], tokens[2, 6:8]]), state)
        assert_close(torch.stack([second[0], second[2]]), expected[[0, 2], 6:8], atol)
        assert_close(second[1], expected[1, 1:3], atol)


def linear(name: str, theirs: nn.Linear) -> dict[str, Tensor]:
    """The weights of a linear layer or a norm, under another name."""
    return {f"{name}.{kind}": weight for kind, weight in theirs.named_parameters()}


# GPT-2: pre-norm, learned positions, gelu by tanh, tied output ----------------------------------------------------


def transposed(name: str, theirs: nn.Module, into: tuple[str, ...] = ("",)) -> dict[str, Tensor]:
    """Its "Conv1D" stores W as [in, out], with several maps side by side."""
    weights, biases = theirs.weight.T.chunk(len(into)), theirs.bias.chunk(len(into))
    return {
        f"{name}{part}.{kind}": chunk
        for part, weight, bias in zip(into, weights, biases, strict=True)
        for kind, chunk in (("weight", weight), ("bias", bias))
    }


def gpt2(theirs: nn.Module) -> Model:
    stem = TokenEmbedding(VOCABULARY, SIZE, positions=LearnedPositions(SIZE, LENGTH))
    body = decoder(
        TransformerConfig(
            depth=DEPTH,
            size=SIZE,
            heads=HEADS,
            hidden_size=4 * SIZE,
            norm_order="pre",
            activation="gelu-tanh",
            dropout=0.0,
        )
    )
    ours = Model(stem, body, PerToken(SIZE, VOCABULARY, tied=stem.embedding, bias=False))
    weights = {
        "stem.embedding.weight": theirs.transformer.wte.weight,
        "stem.layers.positions.embedding.weight": theirs.transformer.wpe.weight,
        **linear("body.layers.norm", theirs.transformer.ln_f),
    }
    for k, block in enumerate(theirs.transformer.h):
        attention, feed_forward = (f"body.layers.{k}.layers.{part}.layers" for part in ("attention", "feed_forward"))
        weights |= linear(f"{attention}.norm", block.ln_1)
        weights |= transposed(f"{attention}.layer.", block.attn.c_attn, into=("query", "key", "value"))
        weights |= transposed(f"{attention}.layer.output", block.attn.c_proj)
        weights |= linear(f"{feed_forward}.norm", block.ln_2)
        weights |= transposed(f"{feed_forward}.layer.widen", block.mlp.c_fc)
        weights |= transposed(f"{feed_forward}.layer.narrow", block.mlp.c_proj)
    return loaded(ours, weights)


def loaded(ours: nn.Module, weights: dict[str, Tensor]) -> nn.Module:
    """Load all weights and no others, in their precision; a tied matrix counts once."""
    dtype = next(iter(weights.values())).dtype
    own = dict(ours.named_parameters())
    assert set(own) == set(weights)
    with torch.no_grad():
        for name, weight in ours.to(dtype).eval().named_parameters():
            weight.copy_(weights[name])
    return ours


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_logits_equal_those_of_gpt2(transformers: ModuleType, tokens: Tensor, dtype: torch.dtype) -> None:
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=LENGTH,
        n_embd=SIZE,
        n_layer=DEPTH,
        n_head=HEADS,
        bos_token_id=0,
        eos_token_id=0,
    )
    theirs = shaken(transformers.GPT2LMHeadModel(config), dtype)
    assert_same_logits(gpt2(theirs), theirs, tokens, near(dtype))


# BERT: post-norm, every step sees every other, norms with ε = 1e-12, exact gelu -------------------------------------


def bert(theirs: nn.Module) -> Stack:
    """The layers after the sum of tokens and segments."""

    def norm() -> LayerNorm:
        return LayerNorm(SIZE, eps=1e-12)

    parts = {"positions": LearnedPositions(SIZE, LENGTH), "norm": norm()}
    for k in range(DEPTH):
        attention = PostNorm(SelfAttention(SIZE, HEADS), norm=norm())
        feed_forward = PostNorm(FeedForward(SIZE, HIDDEN, activation="gelu"), norm=norm())
        parts[str(k)] = Stack({"attention": attention, "feed_forward": feed_forward})
    weights = {
        "layers.positions.embedding.weight": theirs.embeddings.position_embeddings.weight,
        **linear("layers.norm", theirs.embeddings.LayerNorm),
    }
    for k, block in enumerate(theirs.encoder.layer):
        attention, feed_forward = (f"layers.{k}.layers.{part}.layers" for part in ("attention", "feed_forward"))
        for name in ("query", "key", "value"):
            weights |= linear(f"{attention}.layer.{name}", getattr(block.attention.self, name))
        weights |= linear(f"{attention}.layer.output", block.attention.output.dense)
        weights |= linear(f"{attention}.norm", block.attention.output.LayerNorm)
        weights |= linear(f"{feed_forward}.layer.widen", block.intermediate.dense)
        weights |= linear(f"{feed_forward}.layer.narrow", block.output.dense)
        weights |= linear(f"{feed_forward}.norm", block.output.LayerNorm)
    return loaded(Stack(parts), weights)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_hidden_states_equal_those_of_bert(transformers: ModuleType, tokens: Tensor, dtype: torch.dtype) -> None:
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=SIZE,
        num_hidden_layers=DEPTH,
        num_attention_heads=HEADS,
        intermediate_size=HIDDEN,
        max_position_embeddings=LENGTH,
    )
    theirs = shaken(transformers.BertModel(config, add_pooling_layer=False), dtype)
    ours = bert(theirs)
    segments = torch.randint(2, (ROWS, STEPS))
    with torch.no_grad():
        expected = theirs(
            tokens, attention_mask=REAL.long(), token_type_ids=segments, output_hidden_states=True
        ).hidden_states
        x = theirs.embeddings.word_embeddings(tokens) + theirs.embeddings.token_type_embeddings(segments)
        actual = []
        for layer in ours.sublayers().values():
            x, _ = layer(x, LENGTHS)
            actual.append(x)
    assert len(actual[1:]) == len(expected) == DEPTH + 1
    for hidden, expected_hidden in zip(actual[1:], expected, strict=True):
        assert_close(hidden[REAL], expected_hidden[REAL], near(dtype))


def test_bert_can_have_the_stem_of_seqloom(transformers: ModuleType, tokens: Tensor) -> None:
    """With one segment, its vector is the same for all tokens and is added to their embedding."""
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=SIZE,
        num_hidden_layers=DEPTH,
        num_attention_heads=HEADS,
        intermediate_size=HIDDEN,
    )
    config.max_position_embeddings = LENGTH
    theirs = shaken(transformers.BertModel(config, add_pooling_layer=False), torch.float64)
    parts = bert(theirs).sublayers()
    stem = TokenEmbedding(VOCABULARY, SIZE, positions=parts.pop("positions"), norm=parts.pop("norm")).double().eval()
    with torch.no_grad():
        stem.embedding.weight.copy_(
            theirs.embeddings.word_embeddings.weight + theirs.embeddings.token_type_embeddings.weight[0]
        )
        x, _ = stem(tokens, LENGTHS)
        y, _ = Stack(parts)(x, LENGTHS)
        expected = theirs(tokens, attention_mask=REAL.long()).last_hidden_state
    assert_close(y[REAL], expected[REAL], 1e-12)


# Llama: pre-norm by RMS, rotary positions, grouped heads, gated feed-forward ---------------------------------------


def llama(theirs: nn.Module, *, kv_heads: int, head_size: int, eps: float, base: float) -> Model:
    def norm() -> RMSNorm:
        return RMSNorm(SIZE, eps=eps)

    blocks = {}
    for k in range(DEPTH):
        attention = SelfAttention(
            SIZE,
            HEADS,
            causal=True,
            rotary=Rotary(head_size, base=base),
            kv_heads=kv_heads,
            head_size=head_size,
            bias=False,
        )
        feed_forward = GatedFeedForward(SIZE, HIDDEN, activation="swish")
        around = {
            name: PreNorm(layer, norm=norm())
            for name, layer in (("attention", attention), ("feed_forward", feed_forward))
        }
        blocks[str(k)] = Stack(around)
    ours = Model(
        TokenEmbedding(VOCABULARY, SIZE), Stack({**blocks, "norm": norm()}), PerToken(SIZE, VOCABULARY, bias=False)
    )
    return loaded(ours, llama_weights(theirs))


def llama_weights(theirs: nn.Module) -> dict[str, Tensor]:
    weights = {
        "stem.embedding.weight": theirs.model.embed_tokens.weight,
        **linear("body.layers.norm", theirs.model.norm),
        **linear("head.output", theirs.lm_head),
    }
    for k, block in enumerate(theirs.model.layers):
        attention, feed_forward = (f"body.layers.{k}.layers.{part}.layers" for part in ("attention", "feed_forward"))
        weights |= linear(f"{attention}.norm", block.input_layernorm)
        for our_name, their_name in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "o")):
            weights |= linear(f"{attention}.layer.{our_name}", getattr(block.self_attn, f"{their_name}_proj"))
        weights |= linear(f"{feed_forward}.norm", block.post_attention_layernorm)
        for our_name, their_name in (("gate", "gate"), ("widen", "up"), ("narrow", "down")):
            weights |= linear(f"{feed_forward}.layer.{our_name}", getattr(block.mlp, f"{their_name}_proj"))
    return weights


@pytest.mark.parametrize(
    ("kv_heads", "head_size", "eps", "base"),
    [(4, 4, 1e-6, 10_000.0), (2, 4, 1e-5, 500_000.0), (1, 6, 1e-2, 100.0)],
    ids=["as many key heads", "grouped key heads", "one key head, heads wider than their share"],
)
def test_logits_equal_those_of_llama(
    transformers: ModuleType, tokens: Tensor, kv_heads: int, head_size: int, eps: float, base: float
) -> None:
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=SIZE,
        intermediate_size=HIDDEN,
        num_hidden_layers=DEPTH,
        num_attention_heads=HEADS,
        num_key_value_heads=kv_heads,
        head_dim=head_size,
        max_position_embeddings=LENGTH,
        rms_norm_eps=eps,
        rope_parameters={"rope_type": "default", "rope_theta": base},
    )
    theirs = shaken(transformers.LlamaForCausalLM(config), torch.float32)
    ours = llama(theirs, kv_heads=kv_heads, head_size=head_size, eps=eps, base=base)
    assert_same_logits(ours, theirs, tokens, 1e-5)  # theirs computes norms and angles in float32 also in float64


def test_the_modern_decoder_equals_llama(transformers: ModuleType, tokens: Tensor) -> None:
    """The settings by name, as in a config."""
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=SIZE,
        intermediate_size=HIDDEN,
        num_hidden_layers=DEPTH,
        num_attention_heads=HEADS,
        num_key_value_heads=2,
        max_position_embeddings=LENGTH,
    )
    theirs = shaken(transformers.LlamaForCausalLM(config), torch.float32)
    parts = TransformerConfig(
        depth=DEPTH,
        size=SIZE,
        heads=HEADS,
        hidden_size=HIDDEN,
        norm_order="pre",
        norm="rms",
        activation="swish",
        gated=True,
        kv_heads=2,
        rotary=10_000.0,
        bias=False,
    )
    ours = Model(TokenEmbedding(VOCABULARY, SIZE), decoder(parts), PerToken(SIZE, VOCABULARY, bias=False))
    assert_same_logits(loaded(ours, llama_weights(theirs)), theirs, tokens, 1e-5)
