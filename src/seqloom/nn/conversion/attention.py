"""`nn.MultiheadAttention`, and self- and cross-attention.

torch keeps the maps of query, key and value in one matrix where their sizes agree, and apart where they don't:

    in_proj_weight = [W_q; W_k; W_v]     or     q_proj_weight, k_proj_weight, v_proj_weight
"""

import torch
from torch import Tensor, nn

from seqloom.core.problem import NoEquivalent
from seqloom.nn.conversion.refusals import no_equivalent
from seqloom.nn.conversion.weights import filled
from seqloom.nn.multihead import CrossAttention, MultiHeadAttention, SelfAttention

PROJECTIONS = ("query", "key", "value")


def attention_from_torch(module: nn.MultiheadAttention) -> SelfAttention | CrossAttention:
    """Self-attention that sees all steps; cross-attention where keys and values have another size."""
    if module.kdim == module.vdim == module.embed_dim:
        return self_attention_from_torch(module)
    return cross_attention_from_torch(module)


def self_attention_from_torch(module: nn.MultiheadAttention, *, causal: bool = False) -> SelfAttention:
    """The attention of a sequence to itself; `causal`: to its steps so far, which torch says by a mask in each call.

    >>> theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    >>> ours, x = self_attention_from_torch(theirs, causal=True), torch.randn(1, 5, 8)
    >>> expected, _ = theirs(x, x, x, attn_mask=nn.Transformer.generate_square_subsequent_mask(5))
    >>> torch.allclose(ours(x)[0], expected, atol=1e-6)
    True
    """
    check_module(module)
    size, heads, bias = module.embed_dim, module.num_heads, module.in_proj_bias is not None
    if module.kdim != size:
        raise NoEquivalent(
            f"{type(module).__name__} with kdim={module.kdim}", "SelfAttention", f"its own size is {size}"
        )
    return filled(
        lambda: SelfAttention(size, heads, causal=causal, dropout=module.dropout, bias=bias), inwards(module)
    ).train(module.training)


def cross_attention_from_torch(module: nn.MultiheadAttention) -> CrossAttention:
    """The attention of a sequence to another one.

    >>> layer = cross_attention_from_torch(nn.MultiheadAttention(8, 2, kdim=6, vdim=6))
    >>> layer.memory_size
    6
    """
    check_module(module)
    size, heads, bias = module.embed_dim, module.num_heads, module.in_proj_bias is not None
    return filled(
        lambda: CrossAttention(size, module.kdim, heads, dropout=module.dropout, bias=bias), inwards(module)
    ).train(module.training)


def check_module(module: nn.MultiheadAttention) -> None:
    """Keys and values come from one memory, and from nowhere else."""
    what = type(module).__name__
    if module.kdim != module.vdim:
        sizes = f"kdim={module.kdim} and vdim={module.vdim}"
        raise NoEquivalent(f"{what} with {sizes}", "seqloom", "keys and values come from one memory of one size here")
    if module.bias_k is not None or module.add_zero_attn:
        asked = "add_zero_attn" if module.add_zero_attn else "add_bias_kv"
        raise NoEquivalent(f"{what} with {asked}", "seqloom", "all keys and values come from the memory here")


def inwards(module: nn.MultiheadAttention) -> dict[str, Tensor | None]:
    """torch's weights as ours."""
    together, biases = module.in_proj_weight, module.in_proj_bias
    apart = [module.q_proj_weight, module.k_proj_weight, module.v_proj_weight]
    weights = apart if together is None else together.chunk(3)
    ours: dict[str, Tensor | None] = {"output.weight": module.out_proj.weight, "output.bias": module.out_proj.bias}
    ours.update({f"{name}.weight": weight for name, weight in zip(PROJECTIONS, weights, strict=True)})
    if biases is not None:
        ours.update({f"{name}.bias": bias for name, bias in zip(PROJECTIONS, biases.chunk(3), strict=True)})
    return ours


def attention_to_torch(layer: SelfAttention | CrossAttention) -> nn.MultiheadAttention:
    """The module; where the layer is causal, each call must be given a causal `attn_mask`."""
    check_layer(layer)
    size, memory_size, bias = layer.input_size, layer.memory_size, biased(layer)
    return filled(
        lambda: nn.MultiheadAttention(
            size,
            layer.heads,
            dropout=layer.attention.dropout,
            bias=bias,
            kdim=memory_size,
            vdim=memory_size,
            batch_first=True,
        ),
        outwards(layer),
    ).train(layer.training)


def outwards(layer: MultiHeadAttention) -> dict[str, Tensor | None]:
    """Our weights as torch's."""
    ours = dict(layer.named_parameters())
    weights: list[Tensor] = [ours[f"{name}.weight"] for name in PROJECTIONS]
    theirs: dict[str, Tensor | None] = {"out_proj.weight": ours["output.weight"]}
    if layer.memory_size == layer.input_size:
        theirs["in_proj_weight"] = torch.cat(weights)
    else:
        theirs.update({f"{name[0]}_proj_weight": weight for name, weight in zip(PROJECTIONS, weights, strict=True)})
    if biased(layer):
        theirs["in_proj_bias"] = torch.cat([ours[f"{name}.bias"] for name in PROJECTIONS])
        theirs["out_proj.bias"] = ours["output.bias"]
    return theirs


def biased(layer: MultiHeadAttention) -> bool:
    """Whether its maps have biases: all have, or none."""
    return layer.output.bias is not None


def check_layer(layer: SelfAttention | CrossAttention) -> None:
    """Softmax over heads that share out the size among them, no window. (Scores, rotary positions: see `refusals`.)"""
    head_size, theirs = layer.attention.score.key_size, "nn.MultiheadAttention"
    if layer.kv_heads != layer.heads:
        raise no_equivalent(
            layer, f"it has {layer.kv_heads} key heads for {layer.heads} heads; {theirs} has one for each"
        )
    if not head_size == layer.value_size == layer.input_size / layer.heads or layer.output_size != layer.input_size:
        sizes = f"head_size {head_size}, value_size {layer.value_size}, output_size {layer.output_size}"
        wanted = f"size / heads, size / heads and size ({layer.input_size} / {layer.heads})"
        raise no_equivalent(layer, f"it has {sizes}; in {theirs} they are {wanted}")
    if layer.attention.weighting != "softmax":
        raise no_equivalent(layer, f"its weighting is {layer.attention.weighting!r}; that of {theirs} is softmax")
    if isinstance(layer, SelfAttention) and layer.window is not None:
        instead = "use window=None, and give it the window as attn_mask in each call"
        raise no_equivalent(layer, f"it sees a window of {layer.window} steps; {theirs} has none: {instead}")
