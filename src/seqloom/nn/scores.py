"""Attention scores: how well a query and a key agree.

    score(q, k) = scale · query(q) · key(k)

    dot          q · k                        Luong et al. 2015
    scaled-dot   q · k / √dim                 Vaswani et al. 2017
    cosine       cos(q, k) / τ                Graves et al. 2014
    bilinear     qᵀ W k                       Luong et al. 2015, "general"
    low-rank     (U q) · (V k)
    gaussian     −|q − k|² / (2 width²)       Nadaraya 1964, Watson 1964
    additive     v · tanh(W_q q + W_k k)      Bahdanau et al. 2014; the only one that is not a dot product

Every dot product runs on one kernel. `query` and `key` are separate methods so that decoding maps each key once.
"""

import math
from abc import ABC
from typing import ClassVar, TypedDict, Unpack

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.core import names
from seqloom.core.problem import ArgumentError
from seqloom.core.registry import Registry
from seqloom.kernels.attention import repeat_key_heads
from seqloom.kernels.masks import mask_padding
from seqloom.nn.validation import check_count

Queries = Float[Tensor, "batch heads queries query_size"]
Keys = Float[Tensor, "batch key_heads keys key_size"]
MappedQueries = Float[Tensor, "batch heads queries mapped"]
MappedKeys = Float[Tensor, "batch key_heads keys mapped"]
Scores = Float[Tensor, "batch heads queries keys"]


class Heads(TypedDict, total=False):
    """The number of query heads and of key heads for which a score has weights of its own; default: 1 of each."""

    heads: int
    key_heads: int | None


class Score(nn.Module, ABC):
    """score(q, k) = scale · query(q) · key(k)

    heads, key_heads: a score with weights has its own for each head
    """

    scale: float = 1.0
    kind: str = "dot"  # "dot" runs on scaled_dot_product_attention

    def __init__(self, query_size: int, key_size: int, *, heads: int = 1, key_heads: int | None = None) -> None:
        super().__init__()
        self.query_size, self.key_size = query_size, key_size
        self.heads, self.key_heads = heads, heads if key_heads is None else key_heads
        check_count(type(self).__name__, "heads", self.heads)
        check_count(type(self).__name__, "key_heads", self.key_heads)
        self.mapped_size = key_size  # the width of what `key` returns

    def query(self, q: Queries) -> MappedQueries:
        return q

    def key(self, k: Keys) -> MappedKeys:
        return k

    def scores(self, query: MappedQueries, key: MappedKeys) -> Scores:
        """Scores of mapped queries and keys, in float32 at least, as inside the fused kernels."""
        wide = torch.promote_types(query.dtype, torch.float32)
        return self.scale * query.to(wide) @ repeat_key_heads(key, query.shape[1]).to(wide).transpose(2, 3)

    def center(self, q: Queries, k: Keys, lengths: Int[Tensor, " batch"] | None) -> tuple[Queries, Keys]:
        """Unmapped queries and keys, both shifted to where a shift-invariant score is most exact.

        For callers that have all keys at once; `lengths` is the number of valid keys of each row.
        """
        return q, k

    def extra_repr(self) -> str:
        return f"{self.query_size}, {self.key_size}, heads={self.heads}"


class SameSize(Score):
    """A score whose queries and keys have one size."""

    def __init__(self, query_size: int, key_size: int, **heads: Unpack[Heads]) -> None:
        if query_size != key_size:
            sizes = f"{query_size} (queries) and {key_size} (keys)"
            expected = "the same; bilinear, low-rank and additive take different ones"
            raise ArgumentError(type(self).__name__, "sizes", sizes, expected, verb="are")
        super().__init__(query_size, key_size, **heads)


class Dot(SameSize):
    """score = q · k   (Luong et al. 2015)"""


class ScaledDot(SameSize):
    """score = q · k / √dim   (Vaswani et al. 2017)"""

    @property
    def scale(self) -> float:  # type: ignore[override]
        return 1 / math.sqrt(self.key_size)


class Cosine(SameSize):
    """score = cos(q, k) / τ   (Graves et al. 2014)"""

    def __init__(self, query_size: int, key_size: int, *, temperature: float = 1.0, **heads: Unpack[Heads]) -> None:
        super().__init__(query_size, key_size, **heads)
        if temperature <= 0:
            raise ArgumentError("Cosine", "temperature", str(temperature), "a number above 0", verb="is")
        self.temperature = temperature

    def query(self, q: Queries) -> Queries:
        return F.normalize(q, dim=-1)

    def key(self, k: Keys) -> Keys:
        return F.normalize(k, dim=-1)

    @property
    def scale(self) -> float:  # type: ignore[override]
        return 1 / self.temperature


class Bilinear(Score):
    """score = qᵀ W k   (Luong et al. 2015, "general"); q and k may differ in size"""

    roles: ClassVar[dict[str, str]] = {"weight": "weights"}

    def __init__(self, query_size: int, key_size: int, **heads: Unpack[Heads]) -> None:
        super().__init__(query_size, key_size, **heads)
        self.weight = glorot_per_head(self.heads, query_size, key_size)

    def query(self, q: Queries) -> MappedQueries:
        return linear_per_head(q, self.weight)


class TwoMatrices(Score):
    """A score of U q and V k, both of `mapped_size`; q and k may differ in size."""

    roles: ClassVar[dict[str, str]] = {"query_weight": "weights", "key_weight": "weights"}

    def __init__(self, query_size: int, key_size: int, mapped_size: int, **heads: Unpack[Heads]) -> None:
        super().__init__(query_size, key_size, **heads)
        self.mapped_size = mapped_size
        self.query_weight = glorot_per_head(self.heads, query_size, mapped_size)
        self.key_weight = glorot_per_head(self.key_heads, key_size, mapped_size)

    def query(self, q: Queries) -> MappedQueries:
        return linear_per_head(q, self.query_weight)

    def key(self, k: Keys) -> MappedKeys:
        return linear_per_head(k, self.key_weight)


class LowRank(TwoMatrices):
    """score = (U q) · (V k), with U and V of `rank` rows: a bilinear score with W = Uᵀ V"""

    def __init__(self, query_size: int, key_size: int, *, rank: int | None = None, **heads: Unpack[Heads]) -> None:
        rank = max(1, min(query_size, key_size) // 2) if rank is None else rank
        check_count("LowRank", "rank", rank)
        super().__init__(query_size, key_size, rank, **heads)


class Additive(TwoMatrices):
    """score = v · tanh(W_q q + W_k k)   (Bahdanau et al. 2014, https://arxiv.org/abs/1409.0473)"""

    kind = "additive"
    roles: ClassVar[dict[str, str]] = {**TwoMatrices.roles, "vector": "weights"}

    def __init__(
        self, query_size: int, key_size: int, *, hidden_size: int | None = None, **heads: Unpack[Heads]
    ) -> None:
        hidden_size = key_size if hidden_size is None else hidden_size
        check_count("Additive", "hidden_size", hidden_size)
        super().__init__(query_size, key_size, hidden_size, **heads)
        self.vector = glorot_per_head(self.heads, hidden_size, 1)

    def scores(self, query: MappedQueries, key: MappedKeys) -> Scores:
        key = repeat_key_heads(key, query.shape[1])
        hidden = torch.tanh(query.unsqueeze(3) + key.unsqueeze(2))  # [batch, heads, queries, keys, hidden]
        return linear_per_head(hidden.flatten(2, 3), self.vector).reshape(hidden.shape[:4])


class Gaussian(SameSize):
    """score = −|q − k|² / (2 width²); its softmax is kernel regression (Nadaraya 1964, Watson 1964)

        −|q − k|²/2 = q · k − |k|²/2 − |q|²/2

    The last term is the same for all keys, so softmax ignores it. The middle one becomes two more columns of the key
    (a coarse and a fine part, since a single bfloat16 number is too inexact), and the query gets two ones.

    Far from zero these terms are large and their difference loses digits. Where all keys are available (`Attention`,
    non-causal self-attention), `center` subtracts their mean first. Where keys are cached for later queries it can't,
    and a score is off by about 2e-7 (|k|/width)² in float32.
    """

    def __init__(self, query_size: int, key_size: int, *, width: float = 1.0, **heads: Unpack[Heads]) -> None:
        super().__init__(query_size, key_size, **heads)
        if width <= 0:
            raise ArgumentError("Gaussian", "width", str(width), "a number above 0", verb="is")
        self.width = width
        self.mapped_size = key_size + 2

    def query(self, q: Queries) -> MappedQueries:
        return torch.cat([q, torch.ones_like(q[..., :1]).expand(*q.shape[:3], 2)], dim=3)

    def key(self, k: Keys) -> MappedKeys:
        wide = k.to(torch.promote_types(k.dtype, torch.float32))
        half_square = -wide.square().sum(dim=3, keepdim=True) / 2
        coarse = half_square.to(k.dtype)
        fine = (half_square - coarse).to(k.dtype)
        return torch.cat([k, coarse, fine], dim=3)

    @property
    def scale(self) -> float:  # type: ignore[override]
        return 1 / self.width**2

    def scores(self, query: MappedQueries, key: MappedKeys) -> Scores:
        scores = super().scores(query, key)
        query_term = query[..., :-2].to(scores.dtype).square().sum(dim=3, keepdim=True) / 2
        return scores - self.scale * query_term

    def center(self, q: Queries, k: Keys, lengths: Int[Tensor, " batch"] | None) -> tuple[Queries, Keys]:
        """Both minus the mean of the valid keys, which leaves |q − k| unchanged.

        Types narrower than float32 stay as they are: kernels multiply them exactly, and a difference is rounded again.
        """
        if k.element_size() < 4:
            return q, k
        total = mask_padding(k.detach().transpose(1, 2), lengths).sum(dim=1)  # [batch, key_heads, key_size]
        count = max(k.shape[2], 1) if lengths is None else lengths.clamp(min=1)[:, None, None]
        mean = (total / count).unsqueeze(2)
        return q - repeat_key_heads(mean, q.shape[1]), k - mean


SCORES: Registry[type[Score]] = Registry(
    names.SCORES,
    {
        "cosine": Cosine, "dot": Dot, "scaled-dot": ScaledDot, "bilinear": Bilinear, "low-rank": LowRank,
        "additive": Additive, "gaussian": Gaussian,
    },
)  # fmt: skip


def linear_per_head(
    x: Float[Tensor, "batch heads steps dim"], weight: Float[Tensor, "weights dim out"]
) -> Float[Tensor, "batch heads steps out"]:
    """x W, with a matrix for each head or one for all.

    One large product for each matrix: `x @ weight` would copy each matrix for every row of the batch, and its gradient
    too (20 times slower in training at 150 rows and a width of 256).
    """
    if weight.shape[0] == 1:
        return x @ weight[0]
    product = torch.bmm(x.transpose(0, 1).flatten(1, 2), weight)
    per_row: Tensor = product.unflatten(1, (x.shape[0], x.shape[2]))
    return per_row.transpose(0, 1)


def glorot_per_head(heads: int, rows: int, columns: int) -> nn.Parameter:
    """A Glorot-uniform matrix for each head."""
    weight = torch.empty(heads, rows, columns)
    for matrix in weight:
        nn.init.xavier_uniform_(matrix)
    return nn.Parameter(weight)
