"""Multi-head attention: self-attention with a key-value cache, and cross-attention to a memory."""

from typing import TypedDict, Unpack

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError, MissingMemory
from seqloom.kernels.attention import pad_features
from seqloom.kernels.masks import all_equal, sequence_mask
from seqloom.nn.attention import Attention
from seqloom.nn.dense import Linear
from seqloom.nn.layer import Layer, Lengths, Memory, Output, Shapes, Traits, Vectors
from seqloom.nn.positions import Rotary, rotate
from seqloom.nn.record import recording, scope
from seqloom.nn.scores import SCORES, Dot, MappedQueries, ScaledDot, Score
from seqloom.nn.state import State, pad_to
from seqloom.nn.validation import check_count, check_sequence, resolve_lengths

Keys = Float[Tensor, "batch kv_heads steps stored"]
Values = Float[Tensor, "batch kv_heads steps out"]


class MultiHeadAttention(Layer):
    """Attention in several heads; m is the memory, which is x in self-attention.

        Attention(q, k, v) = softmax(q kᵀ / √dim) v          with the default score, scaled-dot
        head_j = Attention(x W_q^j, m W_k^j, m W_v^j)
        y = [head_1; …; head_h] W_o                          (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762)

    size, memory_size: the widths of x and of m
    head_size, value_size: of a head's queries and keys (default: size / heads), and of its values (default: head_size)
    kv_heads: fewer heads of keys and values than of queries (grouped-query attention, Ainslie et al. 2023, https://arxiv.org/abs/2305.13245)
    """

    def __init__(
        self,
        size: int,
        memory_size: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        head_size: int | None = None,
        value_size: int | None = None,
        output_size: int | None = None,
        score: str | Score = "scaled-dot",
        weighting: str = "softmax",
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        kv_heads = heads if kv_heads is None else kv_heads
        _check_heads(type(self).__name__, size, heads, kv_heads, head_size, value_size)
        head_size = size // heads if head_size is None else head_size
        value_size = head_size if value_size is None else value_size
        if isinstance(score, str):
            score = SCORES[score](head_size, head_size, heads=heads, key_heads=kv_heads)
        _check_score(type(self).__name__, score, heads, kv_heads)
        self.input_size, self.memory_size = size, memory_size
        self.output_size = size if output_size is None else output_size
        self.heads, self.kv_heads, self.value_size = heads, kv_heads, value_size
        self.query: nn.Module = Linear(size, heads * score.query_size, bias=bias)  # W_q
        self.key: nn.Module = Linear(memory_size, kv_heads * score.key_size, bias=bias)  # W_k
        self.value: nn.Module = Linear(memory_size, kv_heads * value_size, bias=bias)  # W_v
        self.output: nn.Module = Linear(heads * value_size, self.output_size, bias=bias)  # W_o
        self.attention = Attention(score, weighting=weighting, dropout=dropout)
        self.stored_widths = self.attention.stored_widths(value_size)

    def keys_and_values(
        self, key: Float[Tensor, "batch kv_heads steps key_size"], memory: Memory
    ) -> tuple[Keys, Values]:
        """Keys mapped by the score, and values of the memory, as the state stores them."""
        key_width, value_width = self.stored_widths
        values = split_heads(self.value(memory), self.kv_heads)
        return pad_features(self.attention.score.key(key), key_width), pad_features(values, value_width)

    def attend(
        self,
        query: MappedQueries,
        keys: Keys,
        values: Values,
        mask: Bool[Tensor, "#batch 1 #time steps"] | None,
        causal: bool = False,
    ) -> Float[Tensor, "batch time dim"]:
        """y = [head_1; …; head_h] W_o, without the zeros to which the stored values are padded"""
        heads = self.attention.attend(query, keys, values, mask, causal)[..., : self.value_size]
        y: Tensor = self.output(heads.transpose(1, 2).flatten(2))
        return y

    def cache_shapes(self) -> Shapes:
        """Shapes of stored keys and values, whose features end in zeros if the kernel needs a larger width."""
        key_width, value_width = self.stored_widths
        return {"keys": (self.kv_heads, None, key_width), "values": (self.kv_heads, None, value_width)}


class Options(TypedDict, total=False):
    """Keyword arguments of `MultiHeadAttention`, which has their defaults."""

    kv_heads: int | None
    head_size: int | None
    value_size: int | None
    output_size: int | None
    score: str | Score
    weighting: str
    dropout: float
    bias: bool


class SelfAttention(MultiHeadAttention):
    """Each step attends to all steps of its own sequence or, if causal, to those up to itself.

    window: a step sees only steps less than this far away
    rotary: rotates queries and keys by their positions; for dot and scaled-dot scores
    A causal layer's state is the keys and values of the steps so far.

    >>> y, state = SelfAttention(8, heads=2, causal=True)(torch.randn(1, 5, 8))
    >>> y.shape, state["keys"].shape
    (torch.Size([1, 5, 8]), torch.Size([1, 2, 5, 4]))
    """

    def __init__(
        self,
        size: int,
        heads: int,
        *,
        causal: bool = False,
        window: int | None = None,
        rotary: Rotary | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(size, size, heads, **options)
        if window is not None:
            check_count(type(self).__name__, "window", window)
        if rotary is not None:
            _check_rotary(rotary, self.attention.score)
        self.causal, self.window, self.rotary = causal, window, rotary

    @property
    def traits(self) -> Traits:
        return Traits(causal=self.causal)

    def state_shapes(self) -> Shapes:
        return self.cache_shapes() if self.causal else {}

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        score = self.attention.score
        query, key = split_heads(self.query(x), self.heads), split_heads(self.key(x), self.kv_heads)
        if self.rotary is not None:
            angles = self.rotary.cos_sin(state.step_positions(x), x)
            query, key = rotate(query, *angles), rotate(key, *angles)
        if not self.causal:
            query, key = score.center(query, key, lengths)
            return self.attend(score.query(query), *self.keys_and_values(key, x), self._mask(x, lengths)), State()
        keys, values = self.keys_and_values(key, x)
        keys, values = append_to_cache(state["keys"], keys, state), append_to_cache(state["values"], values, state)
        key_steps = keys.shape[2] if reads_whole_cache(x) else state.max_position + x.shape[1]
        query, cache = score.query(query), (keys[:, :, :key_steps], values[:, :, :key_steps])
        if x.shape[1] == 1 and self.window is None and state.aligned:
            y = self.attend(query, *cache, mask=None)
        elif state.max_position == 0 and self.window is None:  # padding follows the valid steps, so causality hides it
            y = self.attend(query, *cache, mask=None, causal=True)
        else:
            y = self.attend(query, *cache, mask=self._causal_mask(x, key_steps, state))
        return y, State(keys=keys, values=values)

    def _mask(self, x: Tensor, lengths: Lengths) -> Bool[Tensor, "#batch 1 #time time"] | None:
        """True for valid keys within the window on both sides."""
        mask = None if lengths is None else sequence_mask(lengths, x.shape[1])[:, None, None]
        if self.window is None:
            return mask
        steps = torch.arange(x.shape[1], device=x.device)
        near = ((steps[:, None] - steps).abs() < self.window)[None, None]
        return near if mask is None else near & mask

    def _causal_mask(self, x: Tensor, key_steps: int, state: State) -> Bool[Tensor, "#batch 1 time key_steps"]:
        """The step at position p sees key s where p − window < s ≤ p."""
        position = state.step_positions(x)[:, None, :, None]
        key = torch.arange(key_steps, device=x.device)
        mask = key <= position
        return mask if self.window is None else mask & (key > position - self.window)


class PlainSelfAttention(SelfAttention):
    """Self-attention without projections: y_t = Σ_s softmax_s(score(x_t, x_s)) x_s

    >>> layer = PlainSelfAttention(4)
    >>> sum(weight.numel() for weight in layer.parameters())
    0
    """

    def __init__(
        self,
        size: int,
        *,
        score: str | Score = "dot",
        weighting: str = "softmax",
        causal: bool = False,
        window: int | None = None,
    ) -> None:
        super().__init__(size, heads=1, score=score, weighting=weighting, causal=causal, window=window)
        if {self.attention.score.query_size, self.attention.score.key_size} != {size}:
            sizes = f"sizes {self.attention.score.query_size} and {self.attention.score.key_size}"
            raise ArgumentError("PlainSelfAttention", "score", sizes, f"{size} for both, the width of x")
        self.query = self.key = self.value = self.output = nn.Identity()


class CrossAttention(MultiHeadAttention):
    """Each step attends to all steps of another sequence, the memory; `start` prepares its keys and values once.

    >>> layer = CrossAttention(8, memory_size=6, heads=2)
    >>> state = layer.start(torch.randn(1, 7, 6))
    >>> layer(torch.randn(1, 3, 8), state=state)[0].shape
    torch.Size([1, 3, 8])
    """

    @property
    def traits(self) -> Traits:
        return Traits(causal=True)

    def state_shapes(self) -> Shapes:
        return {**self.cache_shapes(), "lengths": ()}

    def initial(self, rows: int, like: Tensor) -> State:
        raise MissingMemory(
            "called without a state, so there is no memory to attend to",
            "Begin with state = layer.start(memory, lengths), where `layer` is the outermost one",
            location="CrossAttention",
        )

    def start(self, memory: Memory, lengths: Lengths = None, final: State | None = None) -> State:
        check_sequence("CrossAttention", memory, self.memory_size, next(self.parameters()), argument="memory")
        memory, lengths = resolve_lengths("CrossAttention", memory, lengths)
        keys, values = self.keys_and_values(split_heads(self.key(memory), self.kv_heads), memory)
        stored = {"keys": keys.contiguous(), "values": values.contiguous(), "lengths": lengths}
        return State(stored, position=torch.zeros_like(lengths, dtype=torch.int64), fixed=stored)

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        query = self.attention.score.query(split_heads(self.query(x), self.heads))
        steps = state["keys"].shape[2]
        mask = None if all_equal(state["lengths"], steps) else sequence_mask(state["lengths"], steps)[:, None, None]
        with scope("memory"):
            return self.attend(query, state["keys"], state["values"], mask), state


def split_heads(x: Float[Tensor, "batch time heads*dim"], heads: int) -> Float[Tensor, "batch heads time dim"]:
    rows, time, size = x.shape
    return x.reshape(rows, time, heads, size // heads).transpose(1, 2)


def append_to_cache(
    stored: Float[Tensor, "batch heads capacity dim"], new: Float[Tensor, "batch heads time dim"], state: State
) -> Float[Tensor, "batch heads larger dim"]:
    """The cache with new steps at each row's position. A full cache doubles, so that each step costs the same.

    Without gradients it is written in place, which consumes `state`. A row's padding is written after its position,
    where no query sees it, and the next steps overwrite it.
    """
    (rows, heads, capacity, dim), time = stored.shape, new.shape[2]
    needed = state.max_position + time
    if capacity == 0 or state.position is None:
        return new
    if needed > capacity:
        stored = pad_to(stored, [rows, heads, max(needed, 2 * capacity), dim])
    grad = torch.is_grad_enabled() or stored.requires_grad
    if state.aligned and not grad:
        state.mark_consumed()
        stored[:, :, state.max_position : needed] = new
        return stored
    row = torch.arange(rows, device=new.device).unsqueeze(1)
    slot = state.position.unsqueeze(1) + torch.arange(time, device=new.device)
    new = new.to(stored.dtype).transpose(1, 2)
    if grad:  # a backward pass may still need the old values
        return stored.transpose(1, 2).index_put((row, slot), new).transpose(1, 2)
    state.mark_consumed()
    stored.transpose(1, 2).index_put_((row, slot), new)
    return stored


def reads_whole_cache(x: Tensor) -> bool:
    """Whether attention reads the whole storage, whose size rarely changes: cuDNN builds a kernel for each new size.

    (On an H200 a step of six layers took 100 ms without this, and 8 with it.)
    """
    return x.is_cuda and not recording("attention")


def _check_heads(
    location: str, size: int, heads: int, kv_heads: int, head_size: int | None, value_size: int | None
) -> None:
    counts = {"heads": heads, "kv_heads": kv_heads, "head_size": head_size, "value_size": value_size}
    for argument, count in counts.items():
        if count is not None:
            check_count(location, argument, count)
    if head_size is None and size % heads:
        expected = f"a divisor of the size, {size}; or set head_size"
        raise ArgumentError(location, "heads", str(heads), expected, verb="is")
    if heads % kv_heads:
        raise ArgumentError(location, "kv_heads", str(kv_heads), f"a divisor of heads, {heads}", verb="is")


def _check_score(location: str, score: Score, heads: int, kv_heads: int) -> None:
    if score.heads not in (1, heads) or score.key_heads not in (1, kv_heads):
        actual = f"{score.heads} heads and {score.key_heads} key heads"
        raise ArgumentError(location, "score", actual, f"{heads} and {kv_heads}, or 1 to share its weights")


def _check_rotary(rotary: Rotary, score: Score) -> None:
    if not isinstance(rotary, Rotary):
        raise ArgumentError("SelfAttention", "rotary", repr(rotary), "a Rotary, such as Rotary(head_size)", verb="is")
    if not isinstance(score, Dot | ScaledDot):
        expected = "dot or scaled-dot, the scores that it rotates"
        raise ArgumentError("SelfAttention", "rotary", f"the score {type(score).__name__} with it", expected)
    if rotary.size != score.query_size:
        raise ArgumentError("SelfAttention", "rotary", f"size {rotary.size}", f"{score.query_size}, a head's size")
