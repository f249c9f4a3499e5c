"""How well a query and a key agree: every classic score, as two maps and a scale.

All but the additive one are a dot product after a map of the query and a map of the key, so all run on one kernel; the
maps stand apart so that decoding prepares keys once. Axes: queries [batch, heads, queries, query_size], keys
[batch, key_heads, keys, key_size].
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
from seqloom.kernels.attention import share
from seqloom.kernels.masks import mask_padding
from seqloom.nn.validation import check_count

Queries = Float[Tensor, "batch heads queries query_size"]
Keys = Float[Tensor, "batch key_heads keys key_size"]
Scores = Float[Tensor, "batch heads queries keys"]


class Heads(TypedDict, total=False):
    """How many heads of queries and of keys a score with weights has its own for; one, and as many, unless said."""

    heads: int
    key_heads: int | None


class Score(nn.Module, ABC):
    """score(q, k) = scale · query(q) · key(k)

    heads, key_heads: a score with weights has its own for each head
    """

    scale: float = 1.0
    kind: str = "dot"  # what the kernels need to know: "dot" runs on scaled_dot_product_attention

    def __init__(self, query_size: int, key_size: int, *, heads: int = 1, key_heads: int | None = None) -> None:
        super().__init__()
        self.query_size, self.key_size = query_size, key_size
        self.heads, self.key_heads = heads, heads if key_heads is None else key_heads
        check_count(type(self).__name__, "heads", self.heads)
        check_count(type(self).__name__, "key_heads", self.key_heads)
        self.mapped_size = key_size  # the width of what `key` gives

    def centred(self, q: Queries, k: Keys, lengths: Int[Tensor, " batch"] | None) -> tuple[Queries, Keys]:
        """Queries and keys, not mapped yet, where this score is most exact, if it is the same for both moved as one.

        For who has all keys at once; `lengths` says how many are real.
        """
        return q, k

    def query(self, q: Queries) -> Float[Tensor, "batch heads queries mapped"]:
        """The map of the query."""
        return q

    def key(self, k: Keys) -> Float[Tensor, "batch key_heads keys mapped"]:
        """The map of the key."""
        return k

    def scores(
        self,
        query: Float[Tensor, "batch heads queries mapped"],
        key: Float[Tensor, "batch key_heads keys mapped"],
    ) -> Scores:
        """Scores of mapped queries and keys, in full; in float32 at least, as inside the fast kernels."""
        wide = torch.promote_types(query.dtype, torch.float32)
        return self.scale * query.to(wide) @ share(key, query.shape[1]).to(wide).transpose(2, 3)

    def extra_repr(self) -> str:
        return f"{self.query_size}, {self.key_size}, heads={self.heads}"


class SameSize(Score):
    """A score of a query and a key of one size."""

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
        self.weight = matrix(self.heads, query_size, key_size)

    def query(self, q: Queries) -> Float[Tensor, "batch heads queries key_size"]:
        return by_head(q, self.weight)


class TwoMatrices(Score):
    """A score of U q and V k, whose sizes are one, `mapped_size`; q and k may differ in theirs."""

    roles: ClassVar[dict[str, str]] = {"query_weight": "weights", "key_weight": "weights"}

    def __init__(self, query_size: int, key_size: int, mapped_size: int, **heads: Unpack[Heads]) -> None:
        super().__init__(query_size, key_size, **heads)
        self.mapped_size = mapped_size
        self.query_weight = matrix(self.heads, query_size, mapped_size)
        self.key_weight = matrix(self.key_heads, key_size, mapped_size)

    def query(self, q: Queries) -> Float[Tensor, "batch heads queries mapped"]:
        return by_head(q, self.query_weight)

    def key(self, k: Keys) -> Float[Tensor, "batch key_heads keys mapped"]:
        return by_head(k, self.key_weight)


class LowRank(TwoMatrices):
    """score = (U q) · (V k), with U and V of `rank` rows: a bilinear score with W = Uᵀ V."""

    def __init__(self, query_size: int, key_size: int, *, rank: int | None = None, **heads: Unpack[Heads]) -> None:
        rank = max(1, min(query_size, key_size) // 2) if rank is None else rank
        check_count("LowRank", "rank", rank)
        super().__init__(query_size, key_size, rank, **heads)


class Gaussian(SameSize):
    """score = −|q − k|² / (2 width²); softmax of it is kernel regression (Nadaraya 1964, Watson 1964)

    −|q − k|²/2 = q · k − |k|²/2 − |q|²/2, and the last term is the same for all keys, so softmax does not see it. The
    middle one goes into two columns beside the key, a coarse and a fine part, since one column in bfloat16 would be far
    off; the query has ones there.

    Far from zero these terms are large and their difference loses digits, so where all keys are at hand, in `Attention`
    and in self-attention that is not causal, their mean is taken off first. Where keys are stored for queries to come
    (causal self-attention, a memory) it is not: a score is then off by some 2e-7 (|k|/width)² in float32.
    """

    def __init__(self, query_size: int, key_size: int, *, width: float = 1.0, **heads: Unpack[Heads]) -> None:
        super().__init__(query_size, key_size, **heads)
        if width <= 0:
            raise ArgumentError("Gaussian", "width", str(width), "a number above 0", verb="is")
        self.width = width
        self.mapped_size = key_size + 2

    def centred(self, q: Queries, k: Keys, lengths: Int[Tensor, " batch"] | None) -> tuple[Queries, Keys]:
        """Both less the mean of the real keys, which |q − k| does not see.

        In less than float32 they stay: kernels multiply those exactly, and a difference would be rounded once more.
        """
        if k.element_size() < 4:
            return q, k
        total = mask_padding(k.detach().transpose(1, 2), lengths).sum(dim=1)  # [batch, key_heads, key_size]
        count = max(k.shape[2], 1) if lengths is None else lengths.clamp(min=1)[:, None, None]
        mean = (total / count).unsqueeze(2)
        return q - share(mean, q.shape[1]), k - mean

    def query(self, q: Queries) -> Float[Tensor, "batch heads queries key_size+2"]:
        return torch.cat([q, torch.ones_like(q[..., :1]).expand(*q.shape[:3], 2)], dim=3)

    def key(self, k: Keys) -> Float[Tensor, "batch key_heads keys key_size+2"]:
        wide = k.to(torch.promote_types(k.dtype, torch.float32))
        half_square = -wide.square().sum(dim=3, keepdim=True) / 2
        coarse = half_square.to(k.dtype)
        fine = (half_square - coarse).to(k.dtype)
        return torch.cat([k, coarse, fine], dim=3)

    @property
    def scale(self) -> float:  # type: ignore[override]
        return 1 / self.width**2

    def scores(
        self,
        query: Float[Tensor, "batch heads queries key_size+2"],
        key: Float[Tensor, "batch key_heads keys key_size+2"],
    ) -> Scores:
        scores = super().scores(query, key)
        same_for_all_keys = query[..., :-2].to(scores.dtype).square().sum(dim=3, keepdim=True) / 2
        return scores - self.scale * same_for_all_keys


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
        self.vector = matrix(self.heads, hidden_size, 1)

    def scores(
        self,
        query: Float[Tensor, "batch heads queries hidden"],
        key: Float[Tensor, "batch key_heads keys hidden"],
    ) -> Scores:
        key = share(key, query.shape[1])
        met = torch.tanh(query.unsqueeze(3) + key.unsqueeze(2))  # [batch, heads, queries, keys, hidden]
        return by_head(met.flatten(2, 3), self.vector).reshape(met.shape[:4])


SCORES: Registry[type[Score]] = Registry(
    names.SCORES,
    {
        "cosine": Cosine,
        "dot": Dot,
        "scaled-dot": ScaledDot,
        "bilinear": Bilinear,
        "low-rank": LowRank,
        "additive": Additive,
        "gaussian": Gaussian,
    },
)


def by_head(
    x: Float[Tensor, "batch heads steps dim"], weight: Float[Tensor, "weights dim out"]
) -> Float[Tensor, "batch heads steps out"]:
    """x W, with a matrix for each head, or one for all.

    As few large products as there are matrices: `x @ weight` would copy each matrix for every row of the batch, and
    its gradient too (20 times slower in training at 150 rows and a width of 256).
    """
    if weight.shape[0] == 1:
        return x @ weight[0]
    product = torch.bmm(x.transpose(0, 1).flatten(1, 2), weight)
    by_row: Tensor = product.unflatten(1, (x.shape[0], x.shape[2]))
    return by_row.transpose(0, 1)


def matrix(heads: int, rows: int, columns: int) -> nn.Parameter:
    """A matrix for each head, Glorot-uniform."""
    weight = torch.empty(heads, rows, columns)
    for each in weight:
        nn.init.xavier_uniform_(each)
    return nn.Parameter(weight)
