"""`nn.MultiheadAttention` equals self- and cross-attention: outputs, gradients, padding and causal masks."""

import torch
from hypothesis import strategies as st
from torch import Tensor, nn

from seqloom.nn.conversion import cross_attention_from_torch, from_torch, self_attention_from_torch, to_torch
from seqloom.nn.multihead import CrossAttention, SelfAttention
from tests.nn.conversion.helpers import (
    LENGTHS,
    PADDING,
    ROWS,
    STEPS,
    assert_close,
    assert_same_weights,
    causal_mask,
    few_examples,
    gradients,
    perturbed,
)

attentions = few_examples(
    heads=st.sampled_from([1, 2, 4]), bias=st.booleans(), causal=st.booleans(), batch_first=st.booleans()
)


def run_theirs(module: nn.MultiheadAttention, x: Tensor, memory: Tensor, **masks: Tensor | None) -> Tensor:
    if module.batch_first:
        return module(x, memory, memory, need_weights=False, **masks)[0]
    return module(x.transpose(0, 1), *[memory.transpose(0, 1)] * 2, need_weights=False, **masks)[0].transpose(0, 1)


@attentions
def test_self_attention_is_converted_in_both_directions(
    heads: int, bias: bool, causal: bool, batch_first: bool
) -> None:
    module = perturbed(nn.MultiheadAttention(8, heads, bias=bias, batch_first=batch_first))
    layer = self_attention_from_torch(module, causal=causal)
    back = to_torch(layer)
    assert back.batch_first
    assert_same_weights(back, module)
    assert_same_weights(from_torch(back), layer)
    x = torch.randn(ROWS, STEPS, 8, dtype=torch.float64, requires_grad=True)
    for lengths, padding in ((None, None), (LENGTHS, PADDING)):
        real = slice(None) if padding is None else ~padding
        y = layer(x, lengths)[0][real]
        for theirs in (module, back):
            expected = run_theirs(theirs, x, x, attn_mask=causal_mask(causal), key_padding_mask=padding)[real]
            assert_close(y, expected)
            assert_close(gradients(y, x), gradients(expected, x))


@attentions
def test_cross_attention_is_converted_in_both_directions(
    heads: int, bias: bool, causal: bool, batch_first: bool
) -> None:
    sizes = {"kdim": 6, "vdim": 6} if causal else {}  # another size, or the same
    module = perturbed(nn.MultiheadAttention(8, heads, bias=bias, batch_first=batch_first, **sizes))
    layer = cross_attention_from_torch(module)
    back = to_torch(layer)
    assert_same_weights(back, module)
    assert_same_weights(cross_attention_from_torch(back), layer)
    x = torch.randn(ROWS, 2, 8, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(ROWS, STEPS, sizes.get("kdim", 8), dtype=torch.float64, requires_grad=True)
    for lengths, padding in ((None, None), (LENGTHS, PADDING)):
        y, _ = layer(x, state=layer.start(memory, lengths))
        for theirs in (module, back):
            expected = run_theirs(theirs, x, memory, key_padding_mask=padding)
            assert_close(y, expected)
            assert_close(gradients(y, x, memory), gradients(expected, x, memory))


def test_sizes_decide_between_self_and_cross_attention() -> None:
    assert type(from_torch(nn.MultiheadAttention(8, 2))) is SelfAttention
    assert type(from_torch(nn.MultiheadAttention(8, 2, kdim=6, vdim=6))) is CrossAttention


def test_attention_dropout_is_converted() -> None:
    layer = from_torch(nn.MultiheadAttention(8, 2, dropout=0.25))
    assert layer.attention.dropout == 0.25
    assert to_torch(layer).dropout == 0.25
