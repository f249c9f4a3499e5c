"""The Transformer: number of parameters, order of layers, compilation."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from seqloom.core.problem import ArgumentError, MissingMemory, UnknownName
from seqloom.nn.feed_forward import FeedForward, GatedFeedForward
from seqloom.nn.multihead import CrossAttention, SelfAttention
from seqloom.nn.normalization import LayerNorm, RMSNorm
from seqloom.nn.positions import Rotary
from seqloom.nn.record import record
from seqloom.nn.residual import PostNorm, PreNorm
from seqloom.nn.transformer import BASE, LLAMA, TransformerConfig, cross_decoder, decoder, encoder

SMALL = TransformerConfig(depth=2, size=8, heads=2, hidden_size=12, dropout=0.0)
SMALL_MODERN = replace(LLAMA, depth=2, size=8, heads=4, hidden_size=12, dropout=0.0)


def parameters(layer):
    return sum(weight.numel() for weight in layer.parameters())


# Sizes -------------------------------------------------------------------------------------------------------------

N, d, f = 6, 512, 2048
attention = 4 * (d * d + d)  # W_q, W_k, W_v, W_o and their biases; 8 heads of 64 share each
feed_forward = (d * f + f) + (f * d + d)  # W_1, b_1, W_2, b_2
norm = 2 * d  # γ, β


def test_base_has_the_parameters_of_2017():
    assert (BASE.depth, BASE.size, BASE.heads, BASE.hidden_size, BASE.norm_order) == (N, d, 8, f, "post")
    with torch.device("meta"):
        assert parameters(encoder()) == N * (attention + norm + feed_forward + norm) == 18_914_304
        assert parameters(decoder()) == N * (attention + norm + feed_forward + norm)
        assert parameters(cross_decoder()) == N * (2 * (attention + norm) + feed_forward + norm) == 25_224_192


def test_pre_norm_has_a_final_norm():
    with torch.device("meta"):
        assert parameters(encoder(replace(BASE, norm_order="pre"))) == parameters(encoder()) + norm


def test_modern_has_the_parameters_of_its_equations():
    width, hidden = 64, 1408
    grouped = d * d + 2 * (d * 2 * width) + d * d  # W_q; W_k and W_v of two heads; W_o; no biases
    gated = 3 * d * hidden  # W_g, W_1, W_2
    with torch.device("meta"):
        assert parameters(decoder(LLAMA)) == N * (grouped + d + gated + d) + d == 16_914_944


# Order -------------------------------------------------------------------------------------------------------------


def sublayers(block):
    return {name: part.sublayers() for name, part in block.sublayers().items()}


def test_post_norm_is_the_order_of_2017():
    """x ← norm(x + attention(x)); x ← norm(x + feed_forward(x))"""
    layer, x = encoder(SMALL).eval(), torch.randn(2, 5, 8)
    expected = x
    for block in layer.sublayers().values():
        for part in sublayers(block).values():
            expected = part["norm"](expected + part["layer"](expected)[0])[0]
    assert_close(layer(x)[0], expected)


def test_pre_norm_normalizes_before_and_at_the_end():
    """x ← x + attention(norm(x)); x ← x + feed_forward(norm(x)); finally norm(x)"""
    layer, x = encoder(replace(SMALL, norm_order="pre")).eval(), torch.randn(2, 5, 8)
    *blocks, (name, last) = layer.sublayers().items()
    assert name == "norm"
    expected = x
    for _, block in blocks:
        for part in sublayers(block).values():
            expected = expected + part["layer"](part["norm"](expected)[0])[0]
    assert_close(layer(x)[0], last(expected)[0])


@pytest.mark.parametrize(("order", "around"), [("post", PostNorm), ("pre", PreNorm)])
def test_a_decoder_block_has_self_attention_cross_attention_and_feed_forward(order, around):
    first = cross_decoder(replace(SMALL, norm_order=order), memory_size=6).sublayers()["0"].sublayers()
    assert list(first) == ["attention", "cross", "feed_forward"]
    assert {type(part) for part in first.values()} == {around}
    kinds = [type(part.sublayers()["layer"]) for part in first.values()]
    assert kinds == [SelfAttention, CrossAttention, FeedForward]
    assert first["attention"].sublayers()["layer"].causal
    assert first["cross"].sublayers()["layer"].memory_size == 6
    assert isinstance(first["attention"].sublayers()["norm"], LayerNorm)


def test_the_modern_transformer_has_the_same_blocks_with_other_layers():
    for block in list(decoder(SMALL_MODERN).sublayers().values())[:2]:
        assert all(isinstance(part, PreNorm) for part in block.sublayers().values())
        parts = sublayers(block)
        looks, thinks = parts["attention"]["layer"], parts["feed_forward"]["layer"]
        assert isinstance(looks.rotary, Rotary)
        assert (looks.heads, looks.kv_heads) == (4, 2)
        assert isinstance(thinks, GatedFeedForward)
        assert isinstance(thinks.activation, torch.nn.SiLU)
        assert isinstance(parts["attention"]["norm"], RMSNorm)
        assert all(name.endswith("weight") for name, _ in block.named_parameters())


def test_an_encoder_without_positions_is_permutation_equivariant():
    layer, x = encoder(SMALL).eval().double(), torch.randn(1, 5, 8, dtype=torch.float64)
    order = torch.tensor([3, 1, 4, 0, 2])
    assert_close(layer(x[:, order])[0], layer(x)[0][:, order])
    turned = encoder(SMALL_MODERN).eval().double()
    assert not torch.allclose(turned(x[:, order])[0], turned(x)[0][:, order])


# State and records -------------------------------------------------------------------------------------------------


def test_the_state_is_the_cache_and_the_memory():
    layer = cross_decoder(SMALL, memory_size=6).eval()
    state = layer.start(torch.randn(2, 4, 6), torch.tensor([4, 2]))
    _, state = layer(torch.randn(2, 3, 8), state=state)
    assert state["1.attention.layer.keys"].shape == (2, 2, 3, 4)
    assert state["1.cross.layer.keys"].shape == (2, 2, 4, 4)
    assert state["0.cross.layer.lengths"].tolist() == [4, 2]
    assert state.position.tolist() == [3, 3]


def test_every_attention_is_recorded_by_name():
    layer = cross_decoder(SMALL, memory_size=6).eval()
    with record("attention") as seen:
        layer(torch.randn(2, 3, 8), state=layer.start(torch.randn(2, 4, 6)))
    shapes = {name: weights["weights"].shape for name, weights in seen["attention"].items()}
    assert shapes == {
        "0.attention.layer": (2, 2, 3, 3),
        "0.cross.layer.memory": (2, 2, 3, 4),
        "1.attention.layer": (2, 2, 3, 3),
        "1.cross.layer.memory": (2, 2, 3, 4),
    }


def test_a_missing_memory_is_an_error():
    with pytest.raises(MissingMemory, match=r"Begin with state = layer\.start\(memory, lengths\)"):
        cross_decoder(SMALL)(torch.randn(1, 3, 8))


# Invalid settings --------------------------------------------------------------------------------------------------


def test_invalid_settings_are_errors():
    with pytest.raises(ArgumentError, match=r"^TransformerConfig: heads is 3; expected a divisor of the size, 512\.$"):
        TransformerConfig(heads=3, rotary=10_000.0)
    with pytest.raises(ArgumentError, match=r"^TransformerConfig: heads is 0; expected a whole number, at least 1\.$"):
        TransformerConfig(heads=0, rotary=10_000.0)
    with pytest.raises(ArgumentError, match=r"^TransformerConfig: depth is 0; expected a whole number, at least 1\.$"):
        TransformerConfig(depth=0)
    with pytest.raises(UnknownName, match="unknown norm order 'prenorm'"):
        encoder(replace(SMALL, norm_order="prenorm"))
    with pytest.raises(UnknownName, match=r"unknown norm 'rsm'\. Did you mean 'rms'"):
        encoder(replace(SMALL, norm="rsm"))
    with pytest.raises(ArgumentError, match=r"^SelfAttention: rotary has the score Cosine with it"):
        encoder(replace(SMALL_MODERN, score="cosine"))


# Compiled ----------------------------------------------------------------------------------------------------------


needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler")


@pytest.mark.parametrize(
    ("mode", "backend"),
    [
        ("blocks", "eager"),
        pytest.param("blocks", "aot_eager", marks=pytest.mark.slow),
        pytest.param("steps", "aot_eager", marks=pytest.mark.slow),
        pytest.param("blocks", "inductor", marks=[pytest.mark.slow, needs_compiler]),
    ],
)
def test_a_transformer_compiles_as_one_graph(mode, backend):
    """Runs in its own process, because the shape checks of the tests break compiled graphs."""
    command = [sys.executable, "-m", "tests.nn.compiled_transformer", mode, backend]
    completed = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
