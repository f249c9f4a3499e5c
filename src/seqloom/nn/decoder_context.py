"""What a decoder knows of the source at each step, and when it asks."""

from abc import ABC, abstractmethod

from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.kernels.masks import sequence_mask
from seqloom.nn.attention import Attention
from seqloom.nn.layer import Shapes
from seqloom.nn.pooling import POOLS
from seqloom.nn.record import scope
from seqloom.nn.scores import SCORES, Score
from seqloom.nn.state import State


class Context(nn.Module, ABC):
    """c_t, a vector for each step.

    size: its width
    query_size, memory_size: the widths of who asks and of what is looked at; None where they don't matter
    feeds: it goes into the body's input
    asks_before: the query is the body's output before this step, so steps must be taken one after another
    """

    size: int
    query_size: int | None = None
    memory_size: int | None = None
    feeds: bool
    asks_before: bool

    @abstractmethod
    def shapes(self) -> Shapes:
        """What it keeps of the memory, each without its batch dimension."""

    @abstractmethod
    def prepare(self, memory: Float[Tensor, "batch steps dim"], lengths: Int[Tensor, " batch"]) -> State:
        """What it keeps of the memory: made once."""

    @abstractmethod
    def look(self, query: Float[Tensor, "batch time query_size"], state: State) -> Float[Tensor, "batch time context"]:
        """c for each query."""


class NoContext(Context):
    """None: what the decoder knows is the state in which it begins (Sutskever et al. 2014)."""

    size, feeds, asks_before = 0, False, False

    def shapes(self) -> Shapes:
        return {}

    def prepare(self, memory: Float[Tensor, "batch steps dim"], lengths: Int[Tensor, " batch"]) -> State:
        return State()

    def look(self, query: Float[Tensor, "batch time query_size"], state: State) -> Float[Tensor, "batch time 0"]:
        return query[..., :0]


class PooledContext(Context):
    """c = the last, mean or max of the encoder's outputs: one vector for all steps (Cho et al. 2014)."""

    feeds, asks_before = True, False

    def __init__(self, memory_size: int, pool: str) -> None:
        super().__init__()
        self.size = self.memory_size = memory_size
        self.pool = POOLS[pool](memory_size)

    def shapes(self) -> Shapes:
        return {"pooled": (self.size,)}

    def prepare(self, memory: Float[Tensor, "batch steps dim"], lengths: Int[Tensor, " batch"]) -> State:
        return State(pooled=self.pool(memory, lengths), fixed=["pooled"])

    def look(self, query: Float[Tensor, "batch time query_size"], state: State) -> Float[Tensor, "batch time context"]:
        return state["pooled"].unsqueeze(1).expand(-1, query.shape[1], -1)


class AttendedContext(Context):
    """c_t = Σ_s α_ts m_s,   α_t = softmax_s(score(query_t, m_s))"""

    def __init__(self, query_size: int, memory_size: int, score: str | Score) -> None:
        super().__init__()
        self.query_size, self.size = query_size, memory_size
        self.memory_size = memory_size
        if isinstance(score, str):
            score = SCORES[score](query_size, memory_size)
        sizes = (score.query_size, score.key_size, score.heads)
        if sizes != (query_size, memory_size, 1):
            came = "query_size {}, key_size {} and heads {}".format(*sizes)
            raise ArgumentError(type(self).__name__, "score", came, f"{query_size}, {memory_size} and 1")
        self.attention = Attention(score)

    def shapes(self) -> Shapes:
        return {"keys": (None, self.attention.score.mapped_size), "values": (None, self.size), "lengths": ()}

    def prepare(self, memory: Float[Tensor, "batch steps dim"], lengths: Int[Tensor, " batch"]) -> State:
        keys = self.attention.score.key(memory.unsqueeze(1)).squeeze(1)
        stored = {"keys": keys, "values": memory, "lengths": lengths}
        return State(stored, fixed=stored)

    def look(self, query: Float[Tensor, "batch time query_size"], state: State) -> Float[Tensor, "batch time context"]:
        keys, values = state["keys"].unsqueeze(1), state["values"].unsqueeze(1)
        mask = sequence_mask(state["lengths"], keys.shape[2])[:, None, None]
        asked = self.attention.score.query(query.unsqueeze(1))
        with scope("memory"):
            return self.attention.pool(asked, keys, values, mask).squeeze(1)


class AttentionBefore(AttendedContext):
    """The query is the body's last output, and c_t goes into its input (Bahdanau et al. 2014, https://arxiv.org/abs/1409.0473)."""

    feeds, asks_before = True, True


class AttentionAfter(AttendedContext):
    """The query is the body's new output (Luong et al. 2015, https://arxiv.org/abs/1508.04025)."""

    feeds, asks_before = False, False
