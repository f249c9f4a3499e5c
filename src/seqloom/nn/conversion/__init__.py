"""Weights between seqloom and torch.nn, both ways: `from_torch(module)`, `to_torch(layer)`.

torch leaves to each call which steps see which (its masks); here a layer knows. `from_torch` takes the usual reading:
`nn.MultiheadAttention` is self-attention where its sizes allow it, an encoder sees all steps, a decoder those up to its
own. The functions behind it take the other readings: `self_attention_from_torch(module, causal=True)`,
`cross_attention_from_torch(module)`, `encoder_from_torch(module, causal=True)`. On the way out this can't be kept: what
is causal here needs a causal mask there.
"""

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from seqloom.core.problem import NoEquivalent
from seqloom.nn.conversion.attention import (
    attention_from_torch,
    attention_to_torch,
    cross_attention_from_torch,
    self_attention_from_torch,
)
from seqloom.nn.conversion.recurrent import recurrent_from_torch, recurrent_to_torch
from seqloom.nn.conversion.refusals import check_expressible, no_equivalent
from seqloom.nn.conversion.transformer import (
    block_to_torch,
    decoder_from_torch,
    decoder_layer_from_torch,
    encoder_from_torch,
    encoder_layer_from_torch,
    transformer_to_torch,
)
from seqloom.nn.dropout import Dropout, VariationalDropout
from seqloom.nn.layer import Layer
from seqloom.nn.multihead import CrossAttention, SelfAttention
from seqloom.nn.recurrent import Bidirectional, Recurrent
from seqloom.nn.residual import PostNorm, PreNorm
from seqloom.nn.stack import Stack

__all__ = [
    "cross_attention_from_torch",
    "decoder_from_torch",
    "decoder_layer_from_torch",
    "encoder_from_torch",
    "encoder_layer_from_torch",
    "from_torch",
    "self_attention_from_torch",
    "to_torch",
]

INWARDS: Mapping[type[nn.Module], Callable[[Any], Layer]] = {
    nn.RNN: recurrent_from_torch,
    nn.LSTM: recurrent_from_torch,
    nn.GRU: recurrent_from_torch,
    nn.MultiheadAttention: attention_from_torch,
    nn.TransformerEncoderLayer: encoder_layer_from_torch,
    nn.TransformerDecoderLayer: decoder_layer_from_torch,
    nn.TransformerEncoder: encoder_from_torch,
    nn.TransformerDecoder: decoder_from_torch,
}

OUTWARDS: Mapping[type[nn.Module], Callable[[Any], nn.Module]] = {
    Recurrent: recurrent_to_torch,
    Bidirectional: recurrent_to_torch,
    SelfAttention: attention_to_torch,
    CrossAttention: attention_to_torch,
}

# What a stack is, by its first part.
STACKS: Mapping[type[nn.Module], Callable[[Any], nn.Module]] = {
    Recurrent: recurrent_to_torch,
    Bidirectional: recurrent_to_torch,
    Dropout: recurrent_to_torch,
    VariationalDropout: recurrent_to_torch,
    PreNorm: block_to_torch,
    PostNorm: block_to_torch,
    Stack: transformer_to_torch,
}


def from_torch(module: nn.Module) -> Layer:
    """The layer that computes what this module of torch.nn does, with a copy of its weights.

    `nn.RNN`, `nn.LSTM` and `nn.GRU` become what `recurrent_stack` builds; `nn.MultiheadAttention` becomes
    `SelfAttention`, or `CrossAttention` where keys have another size; the Transformer's layers become the blocks of
    `transformer`. Precision, device and training mode stay. What has no equivalent here is refused by name.

    >>> import torch
    >>> theirs = nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)
    >>> ours = from_torch(theirs)
    >>> x = torch.randn(2, 5, 3)
    >>> torch.allclose(ours(x)[0], theirs(x)[0], atol=1e-6)
    True
    """
    if type(module) not in INWARDS:
        known = ", ".join(f"nn.{kind.__name__}" for kind in INWARDS)
        raise NoEquivalent(type(module).__name__, "seqloom", f"from_torch knows {known}, and no subclass of them")
    return INWARDS[type(module)](module)


def to_torch(layer: Layer) -> nn.Module:
    """The module of torch.nn that computes what this layer does, batch first, with a copy of its weights.

    A causal layer becomes a module that must be given a causal mask in each call. Precision, device and training mode
    stay. What has no equivalent there is refused by name.

    >>> from seqloom.nn.deep_recurrent import recurrent_stack
    >>> to_torch(recurrent_stack("gru-after", 3, 4, depth=2))
    GRU(3, 4, num_layers=2, batch_first=True)
    >>> to_torch(recurrent_stack("gru", 3, 4))
    Traceback (most recent call last):
    seqloom.core.problem.NoEquivalent: GRU has no equivalent in torch.nn: its reset gate acts before the product, ...
    """
    check_expressible(layer)
    table, kind = OUTWARDS, type(layer)
    if type(layer) is Stack:
        table, kind = STACKS, type(next(iter(layer.sublayers().values())))
    if kind not in table:
        raise no_equivalent(layer)
    return table[kind](layer)
