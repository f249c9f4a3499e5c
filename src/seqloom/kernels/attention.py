"""softmax(scale q kᵀ) v with masks and shared key heads, on `scaled_dot_product_attention` or written out."""

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

Mask = Bool[Tensor, "#batch #heads #queries #keys"]  # True where a query sees a key
Query = Float[Tensor, "batch heads queries dim"]
Key = Float[Tensor, "batch key_heads keys dim"]
Value = Float[Tensor, "batch key_heads keys out"]
Weights = Float[Tensor, "batch heads queries keys"]


def dot_product_attention(
    query: Query,
    key: Key,
    value: Value,
    *,
    scale: float,
    mask: Mask | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> Float[Tensor, "batch heads queries out"]:
    """Σ_s softmax_s(scale q · k_s) v_s; zeros for a query that sees no key.

    `causal` hides key s from query t where s > t, both counted from the start of one sequence. With fewer key heads
    than heads, each key head serves a group of query heads.
    """
    rows, heads, queries, _ = query.shape
    key_heads, out = key.shape[1], value.shape[3]
    query, key, value = pad_to_one_width(query, key, value)
    one_step = queries == 1 and not causal and (key_heads == heads or mask is None or mask.shape[1] == 1)
    if one_step:  # query heads that share keys become several queries of one head (half the time on a CPU)
        query = query.reshape(rows, key_heads, heads // key_heads, query.shape[3])
    if one_step and not dropout and query.device.type == "cpu" and not torch.is_grad_enabled():
        return explicit_attention(query, key, value, scale, mask)[..., :out].reshape(rows, heads, queries, out)
    sees_nothing = None
    if mask is not None:  # softmax over no keys: zeros in most kernels, undefined in cuDNN's
        sees_nothing = ~mask.any(dim=3, keepdim=True)
        mask = mask | sees_nothing
    grouped = query.shape[1] != key_heads
    with _cudnn_plans.limit(query, key, value, mask, causal=causal):
        context = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, dropout_p=dropout, is_causal=causal, scale=scale, enable_gqa=grouped
        )[..., :out]
    if sees_nothing is not None:
        context = context.masked_fill(sees_nothing, 0)
    return context.reshape(rows, heads, queries, out)


class CudnnPlans:
    """Keeps cuDNN's attention from rare shapes, because it plans a kernel for each new one.

    A plan takes 0.1 to 1.8 s (H200, cuDNN 9.19) and saves at most 2 ms a call, for long sequences in half precision.
    So a shape is planned at its 1,000th call: soon if all batches have one shape, as those of a language model do, and
    hardly ever if their lengths vary. With deterministic algorithms it is never planned, because results would depend
    on the calls before.
    """

    CALLS = 1000
    SHAPES = 10_000  # counted at a time

    def __init__(self) -> None:
        self._calls: Counter[tuple[object, ...]] = Counter()
        self._lock, self._open = Lock(), 0

    def limit(
        self, query: Query, key: Key, value: Value, mask: Mask | None, *, causal: bool
    ) -> AbstractContextManager[None]:
        """A block without cuDNN's attention, unless the shape is frequent or the caller allows no other kernel."""
        if not query.is_cuda or torch.compiler.is_compiling():
            return nullcontext()
        shapes = query.shape, key.shape, value.shape, mask is None, causal
        signature = (*shapes, query.dtype, query.device, torch.is_grad_enabled())
        with self._lock:
            if len(self._calls) > self.SHAPES:
                self._calls.clear()
            self._calls[signature] += 1
            is_frequent = self._calls[signature] >= self.CALLS
        return nullcontext() if is_frequent and not torch.are_deterministic_algorithms_enabled() else self._disabled()

    @contextmanager
    def _disabled(self) -> Iterator[None]:
        """torch's setting is shared by all threads: the first block changes it, the last one restores it."""
        cuda = torch.backends.cuda
        with self._lock:
            others = cuda.flash_sdp_enabled() or cuda.mem_efficient_sdp_enabled() or cuda.math_sdp_enabled()
            changes = self._open > 0 or (cuda.cudnn_sdp_enabled() and others)
            if changes and self._open == 0:
                cuda.enable_cudnn_sdp(False)
            self._open += changes
        try:
            yield
        finally:
            with self._lock:
                self._open -= changes
                if changes and self._open == 0:
                    cuda.enable_cudnn_sdp(True)


_cudnn_plans = CudnnPlans()


def explicit_attention(
    query: Query, key: Key, value: Value, scale: float, mask: Mask | None
) -> Float[Tensor, "batch heads queries out"]:
    """The same as two products, which is faster for a few queries than the fused kernel."""
    return masked_softmax((query * scale) @ key.transpose(2, 3), mask) @ value


def pad_to_one_width(query: Query, key: Key, value: Value) -> tuple[Tensor, Tensor, Tensor]:
    """All three at the width of the widest, as flash kernels require; zeros at the end change neither product.

    On CUDA the width is also a multiple of 8: with a mask, no fast kernel takes another (3x slower).
    """
    width = max(query.shape[3], value.shape[3])
    if query.is_cuda:
        width += -width % 8
    return pad_features(query, width), pad_features(key, width), pad_features(value, width)


def stored_width(dim: int, out: int) -> int:
    """The width at which a cache stores keys and values, so that `pad_to_one_width` never copies them.

    (A step of 8 rows after 1,024 others, Gaussian score, 8 heads of 64, on two cores: 12 ms with the copy, 4 without.)
    """
    width = max(dim, out)
    return width if dim == out else width + -width % 8


def pad_features(x: Float[Tensor, "*batch dim"], width: int) -> Float[Tensor, "*batch {width}"]:
    return F.pad(x, (0, width - x.shape[-1])) if x.shape[-1] < width else x


def repeat_key_heads(x: Key, heads: int) -> Float[Tensor, "batch {heads} keys dim"]:
    """Keys or values, each head repeated for the group of query heads that it serves."""
    groups = heads // x.shape[1]
    return x if groups == 1 else x.repeat_interleave(groups, dim=1)


def masked_softmax(scores: Weights, mask: Mask | None) -> Weights:
    """α = softmax(score) over the keys that a query sees; zeros where it sees none."""
    if mask is None:
        return scores.softmax(dim=3)
    sees_nothing = ~mask.any(dim=3, keepdim=True)
    return scores.masked_fill(~(mask | sees_nothing), float("-inf")).softmax(dim=3).masked_fill(sees_nothing, 0)


def divide_by_sum(scores: Weights, mask: Mask | None) -> Weights:
    """α_s = score_s / Σ score over the keys that a query sees; zeros where the scores sum to zero."""
    if mask is not None:
        scores = scores.masked_fill(~mask, 0)
    total = scores.sum(dim=3, keepdim=True)
    return (scores / total.masked_fill(total == 0, 1)).masked_fill(total == 0, 0)


def causal_mask(queries: int, keys: int, device: torch.device) -> Bool[Tensor, "1 1 queries keys"]:
    """True where key s ≤ query t, both counted from the start."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril()[None, None]
