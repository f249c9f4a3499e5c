"""Attention: a query is compared with keys, and the result is a weighted sum of values."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.core.names import WEIGHTINGS
from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.core.registry import unknown_name
from seqloom.kernels.attention import (
    causal_mask,
    divide_by_sum,
    dot_product_attention,
    masked_softmax,
    pad_features,
    repeat_key_heads,
    stored_width,
)
from seqloom.kernels.masks import mask_padding, sequence_mask
from seqloom.nn.record import offer, recording
from seqloom.nn.scores import MappedQueries, Score
from seqloom.nn.validation import check_lengths, check_probability, check_sequence

Mask = Bool[Tensor, "#batch #heads #queries #keys"]


class Attention(nn.Module):
    """context = Σ_s α_s v_s,   α = softmax_s(score(q, k_s)),   or α_s = score_s / Σ score with weighting="sum"

    With a Gaussian score this is kernel regression: keys are the x of the data, values their y.

    >>> import torch
    >>> from seqloom.nn import Gaussian
    >>> x, y = torch.tensor([[[0.0], [1.0], [2.0]]]), torch.tensor([[[0.0], [10.0], [20.0]]])
    >>> smooth = Attention(Gaussian(1, 1, width=0.1))
    >>> smooth(torch.tensor([[[1.0], [1.5]]]), x, y).flatten().tolist()
    [10.0, 15.0]
    """

    def __init__(self, score: Score, *, weighting: str = "softmax", dropout: float = 0.0) -> None:
        super().__init__()
        if weighting not in WEIGHTINGS:
            raise UnknownName(*unknown_name("weighting", weighting, WEIGHTINGS))
        check_probability("Attention", "dropout", dropout)
        self.score, self.weighting, self.dropout = score, weighting, dropout
        # Whether it runs on `scaled_dot_product_attention`; otherwise the weights are computed explicitly.
        self.fused = score.kind == "dot" and weighting == "softmax"

    def forward(
        self,
        query: Float[Tensor, "batch queries query_size"],
        key: Float[Tensor, "batch keys key_size"],
        value: Float[Tensor, "batch keys out"],
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> Float[Tensor, "batch queries out"]:
        """Attention with one head; `lengths` is the number of valid keys of each row."""
        self._check(query, key, value)
        mask = None
        if lengths is not None:
            lengths = check_lengths("Attention", lengths, key.shape[0], key.shape[1], key.device)
            mask = sequence_mask(lengths, key.shape[1])[:, None, None]
            key, value = mask_padding(key, lengths), mask_padding(value, lengths)
        q, k, v = (x.unsqueeze(1) for x in (query, key, value))
        q, k = self.score.center(q, k, lengths)
        return self.attend(self.score.query(q), self.score.key(k), v, mask).squeeze(1)

    def attend(
        self,
        query: MappedQueries,
        key: Float[Tensor, "batch key_heads keys stored"],
        value: Float[Tensor, "batch key_heads keys out"],
        mask: Mask | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "batch heads queries out"]:
        """The context for queries and keys that the score has mapped. `mask` is True where a query sees a key.

        Keys and values may end in zeros (see `stored_widths`); then so does the context.
        """
        dropout = self.dropout if self.training else 0.0
        if not self.fused or recording("attention"):
            if causal:
                mask = causal_mask(query.shape[2], key.shape[2], query.device)
            scores = self.score.scores(query, key[..., : query.shape[3]])
            weights = (masked_softmax if self.weighting == "softmax" else divide_by_sum)(scores, mask)
            offer("attention", time=2, weights=weights)
        if self.fused:
            query, mask = pad_features(query, key.shape[3]), None if causal else mask
            scale = self.score.scale
            return dot_product_attention(query, key, value, scale=scale, mask=mask, causal=causal, dropout=dropout)
        return F.dropout(weights.to(value.dtype), dropout) @ repeat_key_heads(value, query.shape[1])

    def stored_widths(self, value_size: int) -> tuple[int, int]:
        """The widths of stored keys and values, padded with zeros so that `attend` does not copy them at each step."""
        mapped = self.score.mapped_size
        return (stored_width(mapped, value_size),) * 2 if self.fused else (mapped, value_size)

    def _check(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        weight = next(self.parameters(), None)
        check_sequence("Attention", query, self.score.query_size, weight, argument="query")
        check_sequence("Attention", key, self.score.key_size, weight, argument="key")
        check_sequence("Attention", value, value.shape[-1], weight, argument="value")
        if key.shape[0] != query.shape[0]:
            raise ArgumentError("Attention", "key", f"{key.shape[0]} rows", f"{query.shape[0]}, the rows of query")
        if value.shape[:2] != key.shape[:2]:
            shape = f"{value.shape[0]} rows of {value.shape[1]} steps"
            raise ArgumentError(
                "Attention", "value", shape, f"{key.shape[0]} of {key.shape[1]}: one value for each key"
            )
        if self.score.heads != 1:
            raise ArgumentError("Attention", "score", f"{self.score.heads} heads", "1; SelfAttention takes more")
