"""The layers of torch's Transformer equal our blocks: outputs, gradients, masks, and torch's fast path."""

import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.nn.conversion import (
    decoder_from_torch,
    decoder_layer_from_torch,
    encoder_from_torch,
    encoder_layer_from_torch,
    from_torch,
    to_torch,
)
from seqloom.nn.transformer import TransformerConfig, cross_decoder, decoder, encoder
from tests.nn.conversion.helpers import (
    LENGTHS,
    PADDING,
    ROWS,
    STEPS,
    assert_close,
    assert_same_kind,
    assert_same_weights,
    causal_mask,
    few_examples,
    gradients,
    perturbed,
)

sizes = {"d_model": 8, "nhead": 2, "dim_feedforward": 12, "layer_norm_eps": 1e-3}
parts = TransformerConfig(depth=2, size=8, heads=2, hidden_size=12, dropout=0.0)
blocks = few_examples(
    norm_first=st.booleans(),
    activation=st.sampled_from(["relu", "gelu", F.gelu, nn.SiLU(), nn.GELU("tanh"), nn.PReLU()]),
    bias=st.booleans(),
    causal=st.booleans(),
    batch_first=st.booleans(),
)


def run_encoder(module: nn.Module, x: Tensor, causal: bool, padding: Tensor | None) -> Tensor:
    first = (module.layers[0] if isinstance(module, nn.TransformerEncoder) else module).self_attn.batch_first
    masks = {"src_key_padding_mask": padding}
    if causal:
        name = "mask" if isinstance(module, nn.TransformerEncoder) else "src_mask"
        masks[name] = causal_mask(True)
    return module(x, **masks) if first else module(x.transpose(0, 1), **masks).transpose(0, 1)


def run_decoder(module: nn.Module, x: Tensor, memory: Tensor, padding: Tensor | None) -> Tensor:
    first = (module.layers[0] if isinstance(module, nn.TransformerDecoder) else module).self_attn.batch_first
    masks = {"tgt_mask": causal_mask(True), "memory_key_padding_mask": padding}
    if first:
        return module(x, memory, **masks)
    return module(x.transpose(0, 1), memory.transpose(0, 1), **masks).transpose(0, 1)


@blocks
def test_encoder_layers_are_converted_in_both_directions(norm_first, activation, bias, causal, batch_first) -> None:
    module = perturbed(
        nn.TransformerEncoderLayer(
            **sizes, norm_first=norm_first, activation=activation, bias=bias, batch_first=batch_first
        )
    )
    layer = encoder_layer_from_torch(module, causal=causal)
    back = to_torch(layer)
    assert_same_weights(back, module)
    assert_same_weights(from_torch(back), layer)
    x = torch.randn(ROWS, STEPS, 8, dtype=torch.float64, requires_grad=True)
    y, _ = layer(x)
    for theirs in (module, back):
        expected = run_encoder(theirs, x, causal, None)
        assert_close(y, expected)
        assert_close(gradients(y, x), gradients(expected, x), atol=1e-11)
    y = layer(x, LENGTHS)[0][~PADDING]
    for theirs in (module, back):
        assert_close(y, run_encoder(theirs, x, causal, PADDING)[~PADDING])
    with torch.no_grad():  # torch's fast path
        assert_close(y, run_encoder(back, x, causal, PADDING)[~PADDING])


@blocks
def test_decoder_layers_are_converted_in_both_directions(norm_first, activation, bias, causal, batch_first) -> None:
    module = perturbed(
        nn.TransformerDecoderLayer(
            **sizes, norm_first=norm_first, activation=activation, bias=bias, batch_first=batch_first
        )
    )
    layer = from_torch(module)
    back = to_torch(layer)
    assert_same_weights(back, module)
    assert_same_weights(from_torch(back), layer)
    x = torch.randn(ROWS, STEPS, 8, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(ROWS, STEPS, 8, dtype=torch.float64, requires_grad=True)
    for lengths, padding in ((None, None), (LENGTHS, PADDING)):
        y, _ = layer(x, state=layer.start(memory, lengths))
        for theirs in (module, back):
            expected = run_decoder(theirs, x, memory, padding)
            assert_close(y, expected)
            assert_close(gradients(y, x, memory), gradients(expected, x, memory), atol=1e-11)


@pytest.mark.parametrize("last", [None, nn.LayerNorm(8, eps=1e-3)], ids=["no last norm", "last norm"])
@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
def test_encoders_are_converted_in_both_directions(causal: bool, last: nn.Module | None) -> None:
    layer_module = nn.TransformerEncoderLayer(**sizes, norm_first=True, batch_first=True)
    module = perturbed(nn.TransformerEncoder(layer_module, 3, last, enable_nested_tensor=False))
    layer = encoder_from_torch(module, causal=causal)
    assert layer.traits.causal is causal
    back = to_torch(layer)
    assert_same_weights(back, module)
    assert_same_kind(back, module)
    x = torch.randn(ROWS, STEPS, 8, dtype=torch.float64)
    y = layer(x, LENGTHS)[0][~PADDING]
    for theirs in (module, back):
        assert_close(y, run_encoder(theirs, x, causal, PADDING)[~PADDING])


@pytest.mark.parametrize("last", [None, nn.LayerNorm(8)], ids=["no last norm", "last norm"])
def test_decoders_are_converted_in_both_directions(last: nn.Module | None) -> None:
    module = perturbed(nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes, batch_first=True), 3, last))
    layer = from_torch(module)
    assert layer.traits.causal
    back = to_torch(layer)
    assert_same_weights(back, module)
    assert_same_kind(back, module)
    x, memory = torch.randn(2, ROWS, STEPS, 8, dtype=torch.float64)
    y, _ = layer(x, state=layer.start(memory, LENGTHS))
    for theirs in (module, back):
        assert_close(y, run_decoder(theirs, x, memory, PADDING))


def test_a_decoder_that_is_not_causal_is_converted() -> None:
    module = perturbed(nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes, batch_first=True), 2))
    x, memory = torch.randn(2, ROWS, STEPS, 8, dtype=torch.float64)
    layer = decoder_from_torch(module, causal=False)
    assert_close(layer(x, state=layer.start(memory))[0], module(x, memory))
    layer = decoder_layer_from_torch(module.layers[0], causal=False)
    assert_close(layer(x, state=layer.start(memory))[0], module.layers[0](x, memory))


@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu-tanh", "swish", "prelu"])
def test_transformers_are_converted_to_torch(order: str, activation: str) -> None:
    """With and without torch's fast path, which replaces nn.GELU("tanh") by the exact GELU."""
    ours = TransformerConfig(**{**vars(parts), "norm_order": order, "activation": activation})
    x, memory = torch.randn(2, ROWS, STEPS, 8, dtype=torch.float64)
    for make, causal in ((encoder, False), (decoder, True)):
        layer = perturbed(make(ours))
        expected = layer(x, LENGTHS)[0][~PADDING]
        for grad in (False, True):
            with torch.set_grad_enabled(grad):
                assert_close(run_encoder(to_torch(layer), x, causal, PADDING)[~PADDING], expected)
        assert_same_weights(from_torch(to_torch(layer)), layer)
    layer = perturbed(cross_decoder(ours))
    y, _ = layer(x, state=layer.start(memory, LENGTHS))
    assert_close(run_decoder(to_torch(layer), x, memory, PADDING), y)
    assert_same_weights(from_torch(to_torch(layer)), layer)


def test_every_dropout_is_converted() -> None:
    module = nn.TransformerDecoderLayer(**sizes, dropout=0.5)
    module.dropout.p, module.dropout1.p, module.dropout2.p, module.dropout3.p = 0.1, 0.2, 0.3, 0.4
    module.self_attn.dropout, module.multihead_attn.dropout = 0.6, 0.7
    back = to_torch(from_torch(module))
    assert [dropout.p for dropout in (back.dropout, back.dropout1, back.dropout2, back.dropout3)] == [
        0.1,
        0.2,
        0.3,
        0.4,
    ]
    assert (back.self_attn.dropout, back.multihead_attn.dropout) == (0.6, 0.7)
