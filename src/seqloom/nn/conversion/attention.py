"""`nn.MultiheadAttention` to and from self- and cross-attention.

torch keeps the projections of query, key and value in one matrix if their input sizes agree, otherwise in three:

    in_proj_weight = [W_q; W_k; W_v]     or     q_proj_weight, k_proj_weight, v_proj_weight
"""

from functools import partial

import torch
from torch import Tensor, nn

from seqloom.core.problem import NoEquivalent
from seqloom.nn.conversion.refusals import no_equivalent
from seqloom.nn.conversion.weights import build_with_weights
from seqloom.nn.multihead import CrossAttention, MultiHeadAttention, SelfAttention

PROJECTIONS = ("query", "key", "value")


def attention_from_torch(module: nn.MultiheadAttention) -> SelfAttention | CrossAttention:
    """Self-attention that sees all steps; cross-attention if keys and values have another size."""
    if module.kdim == module.vdim == module.embed_dim:
        return self_attention_from_torch(module)
    return cross_attention_from_torch(module)


def self_attention_from_torch(module: nn.MultiheadAttention, *, causal: bool = False) -> SelfAttention:
    """Self-attention. causal: each step sees only itself and earlier steps; torch takes a mask in each call instead.

    >>> theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    >>> ours, x = self_attention_from_torch(theirs, causal=True), torch.randn(1, 5, 8)
    >>> expected, _ = theirs(x, x, x, attn_mask=nn.Transformer.generate_square_subsequent_mask(5))
    >>> torch.allclose(ours(x)[0], expected, atol=1e-6)
    True
    """
    weights, bias = attention_weights_from_torch(module), module.in_proj_bias is not None
    size, heads, dropout = module.embed_dim, module.num_heads, module.dropout
    if module.kdim != size:
        kind = f"{type(module).__name__} with kdim={module.kdim}"
        raise NoEquivalent(kind, "SelfAttention", f"its own size is {size}")
    layer = build_with_weights(lambda: SelfAttention(size, heads, causal=causal, dropout=dropout, bias=bias), weights)
    return layer.train(module.training)


def cross_attention_from_torch(module: nn.MultiheadAttention) -> CrossAttention:
    """Attention to another sequence.

    >>> layer = cross_attention_from_torch(nn.MultiheadAttention(8, 2, kdim=6, vdim=6))
    >>> layer.memory_size
    6
    """
    weights, bias = attention_weights_from_torch(module), module.in_proj_bias is not None
    size, heads, dropout = module.embed_dim, module.num_heads, module.dropout
    layer = build_with_weights(lambda: CrossAttention(size, module.kdim, heads, dropout=dropout, bias=bias), weights)
    return layer.train(module.training)


def attention_weights_from_torch(module: nn.MultiheadAttention) -> dict[str, Tensor | None]:
    """The weights under seqloom's names. In seqloom, keys and values come from the same memory."""
    kind = type(module).__name__
    if module.kdim != module.vdim:
        sizes = f"kdim={module.kdim} and vdim={module.vdim}"
        raise NoEquivalent(f"{kind} with {sizes}", "seqloom", "keys and values come from one memory of one size here")
    if module.bias_k is not None or module.add_zero_attn:
        option = "add_zero_attn" if module.add_zero_attn else "add_bias_kv"
        raise NoEquivalent(f"{kind} with {option}", "seqloom", "all keys and values come from the memory here")
    joint, biases = module.in_proj_weight, module.in_proj_bias
    separate = [module.q_proj_weight, module.k_proj_weight, module.v_proj_weight]
    projections = separate if joint is None else joint.chunk(3)
    weights: dict[str, Tensor | None] = {"output.weight": module.out_proj.weight, "output.bias": module.out_proj.bias}
    weights.update({f"{name}.weight": weight for name, weight in zip(PROJECTIONS, projections, strict=True)})
    if biases is not None:
        weights.update({f"{name}.bias": bias for name, bias in zip(PROJECTIONS, biases.chunk(3), strict=True)})
    return weights


def attention_to_torch(layer: SelfAttention | CrossAttention) -> nn.MultiheadAttention:
    """The module; if the layer is causal, each call needs a causal `attn_mask`."""
    check_has_equivalent(layer)
    size, memory_size, dropout, bias = layer.input_size, layer.memory_size, layer.attention.dropout, has_bias(layer)
    build = partial(nn.MultiheadAttention, size, layer.heads, dropout=dropout, bias=bias, batch_first=True)
    ours = dict(layer.named_parameters())
    projections: list[Tensor] = [ours[f"{name}.weight"] for name in PROJECTIONS]
    weights: dict[str, Tensor | None] = {"out_proj.weight": ours["output.weight"]}
    if memory_size == size:
        weights["in_proj_weight"] = torch.cat(projections)
    else:
        weights.update({f"{name[0]}_proj_weight": w for name, w in zip(PROJECTIONS, projections, strict=True)})
    if bias:
        weights["in_proj_bias"] = torch.cat([ours[f"{name}.bias"] for name in PROJECTIONS])
        weights["out_proj.bias"] = ours["output.bias"]
    module = build_with_weights(lambda: build(kdim=memory_size, vdim=memory_size), weights)
    return module.train(layer.training)


def has_bias(layer: MultiHeadAttention) -> bool:
    """Whether the projections have biases: all do, or none."""
    return layer.output.bias is not None


def check_has_equivalent(layer: SelfAttention | CrossAttention) -> None:
    """Refuse a layer that `nn.MultiheadAttention` can't express. (`refusals` checks scores and rotary positions.)"""
    head_size, theirs = layer.attention.score.key_size, "nn.MultiheadAttention"
    if layer.kv_heads != layer.heads:
        heads = f"it has {layer.kv_heads} key heads for {layer.heads} heads"
        raise no_equivalent(layer, f"{heads}; {theirs} has one for each")
    if not head_size == layer.value_size == layer.input_size / layer.heads or layer.output_size != layer.input_size:
        sizes = f"head_size {head_size}, value_size {layer.value_size}, output_size {layer.output_size}"
        expected = f"size / heads, size / heads and size ({layer.input_size} / {layer.heads})"
        raise no_equivalent(layer, f"it has {sizes}; in {theirs} they are {expected}")
    if layer.attention.weighting != "softmax":
        raise no_equivalent(layer, f"its weighting is {layer.attention.weighting!r}; that of {theirs} is softmax")
    if isinstance(layer, SelfAttention) and layer.window is not None:
        advice = "use window=None, and give it the window as attn_mask in each call"
        raise no_equivalent(layer, f"it sees a window of {layer.window} steps; {theirs} has none: {advice}")
