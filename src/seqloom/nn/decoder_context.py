"""The context vector c_t that a decoder reads at each step."""

from abc import ABC, abstractmethod

from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.kernels.masks import sequence_mask
from seqloom.nn.attention import Attention
from seqloom.nn.layer import Shapes
from seqloom.nn.pooling import POOLS, Pool
from seqloom.nn.record import scope
from seqloom.nn.scores import SCORES, Score
from seqloom.nn.state import State

Memory = Float[Tensor, "batch steps dim"]
Lengths = Int[Tensor, " batch"]
Queries = Float[Tensor, "batch time query_size"]
Vectors = Float[Tensor, "batch time context"]


class Context(nn.Module, ABC):
    """c_t, a vector for each step.

    size: the width of c
    query_size, memory_size: the widths of the query and of the memory; None for any
    feeds_body: c_t is part of the body's input
    before_step: the query is the body's output before this step, so steps are computed one after another
    """

    size: int
    query_size: int | None = None
    memory_size: int | None = None
    feeds_body: bool
    before_step: bool

    @abstractmethod
    def state_shapes(self) -> Shapes:
        """The shapes of what `prepare` returns, without the batch dimension."""

    @abstractmethod
    def prepare(self, memory: Memory, lengths: Lengths) -> State:
        """What every step reads of the memory, computed once."""

    @abstractmethod
    def forward(self, query: Queries, prepared: State) -> Vectors:
        """c for each query."""


class NoContext(Context):
    """No c: the decoder knows only its initial state (Sutskever et al. 2014)."""

    size, feeds_body, before_step = 0, False, False

    def state_shapes(self) -> Shapes:
        return {}

    def prepare(self, memory: Memory, lengths: Lengths) -> State:
        return State()

    def forward(self, query: Queries, prepared: State) -> Vectors:
        return query[..., :0]


class PooledContext(Context):
    """c = pool(memory), the same for all steps, such as the encoder's last output (Cho et al. 2014), mean or max.

    pool: the name of a pool in `POOLS`, or a pool
    """

    feeds_body, before_step = True, False

    def __init__(self, memory_size: int, pool: str | Pool) -> None:
        super().__init__()
        self.size = self.memory_size = memory_size
        self.pool = POOLS[pool](memory_size) if isinstance(pool, str) else pool

    def state_shapes(self) -> Shapes:
        return {"pooled": (self.size,)}

    def prepare(self, memory: Memory, lengths: Lengths) -> State:
        return State(pooled=self.pool(memory, lengths), fixed=["pooled"])

    def forward(self, query: Queries, prepared: State) -> Vectors:
        return prepared["pooled"].unsqueeze(1).expand(-1, query.shape[1], -1)


class AttentionContext(Context):
    """c_t = Σ_s α_ts m_s,   α_t = softmax_s(score(query_t, m_s))"""

    def __init__(self, query_size: int, memory_size: int, score: str | Score) -> None:
        super().__init__()
        self.query_size, self.memory_size, self.size = query_size, memory_size, memory_size
        if isinstance(score, str):
            score = SCORES[score](query_size, memory_size)
        sizes = (score.query_size, score.key_size, score.heads)
        if sizes != (query_size, memory_size, 1):
            actual = "query_size {}, key_size {} and heads {}".format(*sizes)
            raise ArgumentError(type(self).__name__, "score", actual, f"{query_size}, {memory_size} and 1")
        self.attention = Attention(score)

    def state_shapes(self) -> Shapes:
        return {"keys": (None, self.attention.score.mapped_size), "values": (None, self.size), "lengths": ()}

    def prepare(self, memory: Memory, lengths: Lengths) -> State:
        keys = self.attention.score.key(memory.unsqueeze(1)).squeeze(1)
        stored = {"keys": keys, "values": memory, "lengths": lengths}
        return State(stored, fixed=stored)

    def forward(self, query: Queries, prepared: State) -> Vectors:
        keys, values = prepared["keys"].unsqueeze(1), prepared["values"].unsqueeze(1)
        mask = sequence_mask(prepared["lengths"], keys.shape[2])[:, None, None]
        query = self.attention.score.query(query.unsqueeze(1))
        with scope("memory"):
            return self.attention.attend(query, keys, values, mask).squeeze(1)


class AttentionBefore(AttentionContext):
    """c_t = attention(s_{t−1}), part of the body's input (Bahdanau et al. 2014, https://arxiv.org/abs/1409.0473)."""

    feeds_body, before_step = True, True


class AttentionAfter(AttentionContext):
    """c_t = attention(s_t), from the body's new output (Luong et al. 2015, https://arxiv.org/abs/1508.04025)."""

    feeds_body, before_step = False, False
