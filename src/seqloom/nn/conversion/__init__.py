"""Conversion between seqloom and torch.nn with weights: `from_torch(module)`, `to_torch(layer)`.

In torch each call decides by masks which steps see which; here a layer decides. `from_torch` assumes the usual case:
`nn.MultiheadAttention` is self-attention if its sizes allow it, an encoder sees all steps, a decoder those up to its
own. For the other cases call the functions behind it: `self_attention_from_torch(module, causal=True)`,
`cross_attention_from_torch(module)`, `encoder_from_torch(module, causal=True)`. A causal layer converted by `to_torch`
needs a causal mask in each call.
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
from seqloom.nn.conversion.refusals import check_convertible, no_equivalent
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
    "cross_attention_from_torch", "decoder_from_torch", "decoder_layer_from_torch", "encoder_from_torch",
    "encoder_layer_from_torch", "from_torch", "self_attention_from_torch", "to_torch",
]  # fmt: skip

FROM_TORCH: Mapping[type[nn.Module], Callable[[Any], Layer]] = {
    **dict.fromkeys((nn.RNN, nn.LSTM, nn.GRU), recurrent_from_torch),
    nn.MultiheadAttention: attention_from_torch,
    nn.TransformerEncoderLayer: encoder_layer_from_torch,
    nn.TransformerDecoderLayer: decoder_layer_from_torch,
    nn.TransformerEncoder: encoder_from_torch,
    nn.TransformerDecoder: decoder_from_torch,
}

TO_TORCH: Mapping[type[nn.Module], Callable[[Any], nn.Module]] = {
    **dict.fromkeys((Recurrent, Bidirectional), recurrent_to_torch),
    **dict.fromkeys((SelfAttention, CrossAttention), attention_to_torch),
}

# The conversion of a stack, by the type of its first layer.
STACK_TO_TORCH: Mapping[type[nn.Module], Callable[[Any], nn.Module]] = {
    **dict.fromkeys((Recurrent, Bidirectional, Dropout, VariationalDropout), recurrent_to_torch),
    **dict.fromkeys((PreNorm, PostNorm), block_to_torch),
    Stack: transformer_to_torch,
}


def from_torch(module: nn.Module) -> Layer:
    """The layer that computes the same as this module of torch.nn, with a copy of its weights.

    `nn.RNN`, `nn.LSTM` and `nn.GRU` become what `recurrent_stack` builds; `nn.MultiheadAttention` becomes
    `SelfAttention`, or `CrossAttention` if keys have another size; the Transformer's layers become the blocks of
    `transformer`. Precision, device and training mode are kept. A module without an equivalent raises an error.

    >>> import torch
    >>> theirs = nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)
    >>> ours = from_torch(theirs)
    >>> x = torch.randn(2, 5, 3)
    >>> torch.allclose(ours(x)[0], theirs(x)[0], atol=1e-6)
    True
    """
    if type(module) not in FROM_TORCH:
        names = ", ".join(f"nn.{kind.__name__}" for kind in FROM_TORCH)
        raise NoEquivalent(type(module).__name__, "seqloom", f"from_torch knows {names}, and no subclass of them")
    return FROM_TORCH[type(module)](module)


def to_torch(layer: Layer) -> nn.Module:
    """The module of torch.nn that computes the same as this layer, batch first, with a copy of its weights.

    A causal layer becomes a module that needs a causal mask in each call. Precision, device and training mode are
    kept. A layer without an equivalent raises an error.

    >>> from seqloom.nn.deep_recurrent import recurrent_stack
    >>> to_torch(recurrent_stack("gru-after", 3, 4, depth=2))
    GRU(3, 4, num_layers=2, batch_first=True)
    >>> to_torch(recurrent_stack("gru", 3, 4))
    Traceback (most recent call last):
    seqloom.core.problem.NoEquivalent: GRU has no equivalent in torch.nn: its reset gate acts before the product, ...
    """
    check_convertible(layer)
    table, kind = TO_TORCH, type(layer)
    if type(layer) is Stack:
        table, kind = STACK_TO_TORCH, type(next(iter(layer.sublayers().values())))
    if kind not in table:
        raise no_equivalent(layer)
    return table[kind](layer)
