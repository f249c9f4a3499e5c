"""Attention pooling: a sum of values, weighted by how well a query and each key agree."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

Mask = Bool[Tensor, "#batch #heads #queries #keys"]


def pool(
    query: Float[Tensor, "batch heads queries dim"],
    key: Float[Tensor, "batch key_heads keys dim"],
    value: Float[Tensor, "batch key_heads keys out"],
    *,
    scale: float,
    mask: Mask | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> Float[Tensor, "batch heads queries out"]:
    """Σ_s softmax_s(scale q · k_s) v_s on `scaled_dot_product_attention`; a query that sees no key gets zeros.

    `causal` hides key s from query t where s > t, both counted from the first, so it is for queries and keys of one
    sequence. Fewer key heads than heads: each serves as many queries' heads in turn.
    """
    rows, heads, queries, _ = query.shape
    key_heads, out = key.shape[1], value.shape[3]
    query, key, value = one_width(query, key, value)
    alone = queries == 1 and not causal and (key_heads == heads or mask is None or mask.shape[1] == 1)
    if alone:  # one step: heads that share keys ask together, as queries of one head (half the time on a CPU)
        query = query.reshape(rows, key_heads, heads // key_heads, query.shape[3])
    if alone and not dropout and query.device.type == "cpu" and not torch.is_grad_enabled():
        return few(query, key, value, scale, mask)[..., :out].reshape(rows, heads, queries, out)
    hidden = None
    if mask is not None:
        hidden = ~mask.any(dim=3, keepdim=True)  # softmax over nothing: zeros in most kernels, anything in cuDNN's
        mask = mask | hidden
    context = F.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=mask,
        dropout_p=dropout,
        is_causal=causal,
        scale=scale,
        enable_gqa=query.shape[1] != key_heads,
    )[..., :out]
    if hidden is not None:
        context = context.masked_fill(hidden, 0)
    return context.reshape(rows, heads, queries, out)


def few(
    query: Float[Tensor, "batch heads queries dim"],
    key: Float[Tensor, "batch heads keys dim"],
    value: Float[Tensor, "batch heads keys out"],
    scale: float,
    mask: Mask | None,
) -> Float[Tensor, "batch heads queries out"]:
    """The same for a few queries, written out: two products, where the fused kernel is made for many."""
    scores = (query * scale) @ key.transpose(2, 3)
    return softmax(scores, mask) @ value


def one_width(
    query: Float[Tensor, "batch heads queries dim"],
    key: Float[Tensor, "batch key_heads keys dim"],
    value: Float[Tensor, "batch key_heads keys out"],
) -> tuple[Tensor, Tensor, Tensor]:
    """The three at the width of the widest, as flash kernels want them; zeros at the end change neither product.

    On CUDA also a multiple of 8, without which a mask leaves no fast kernel (3x).
    """
    width = max(query.shape[3], value.shape[3])
    if query.is_cuda:
        width += -width % 8
    query, key, value = (widen(x, width) for x in (query, key, value))
    return query, key, value


def stored_width(dim: int, out: int) -> int:
    """The width at which to keep keys and values for many calls, so that `one_width` copies none of them again.

    (A step of 8 rows after 1,024 others, Gaussian score, 8 heads of 64, on two cores: 12 ms with the copy, 4 without.)
    """
    width = max(dim, out)
    return width if dim == out else width + -width % 8


def widen(x: Float[Tensor, "*batch dim"], width: int) -> Float[Tensor, "*batch {width}"]:
    """x with zeros at the end of its features."""
    return F.pad(x, (0, width - x.shape[-1])) if x.shape[-1] < width else x


def share(x: Float[Tensor, "batch key_heads keys dim"], heads: int) -> Float[Tensor, "batch {heads} keys dim"]:
    """Keys or values, each head of which serves as many heads of queries in turn."""
    groups = heads // x.shape[1]
    return x if groups == 1 else x.repeat_interleave(groups, dim=1)


def softmax(
    scores: Float[Tensor, "batch heads queries keys"], mask: Mask | None
) -> Float[Tensor, "batch heads queries keys"]:
    """Weights that sum to one over the keys that a query sees; all zero where it sees none."""
    if mask is None:
        return scores.softmax(dim=3)
    hidden = ~mask.any(dim=3, keepdim=True)
    return scores.masked_fill(~(mask | hidden), float("-inf")).softmax(dim=3).masked_fill(hidden, 0)


def shares(
    scores: Float[Tensor, "batch heads queries keys"], mask: Mask | None
) -> Float[Tensor, "batch heads queries keys"]:
    """α_s = score_s / Σ score, over the keys that a query sees; all zero where they sum to zero."""
    if mask is not None:
        scores = scores.masked_fill(~mask, 0)
    total = scores.sum(dim=3, keepdim=True)
    nothing = total == 0
    return (scores / total.masked_fill(nothing, 1)).masked_fill(nothing, 0)


def causal_mask(queries: int, keys: int, device: torch.device) -> Bool[Tensor, "1 1 queries keys"]:
    """True where key s ≤ query t, both counted from the first."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril()[None, None]
