"""Storage that grows with a sequence: keys and values of the steps so far, each row at its own position."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError, MissingMemory
from seqloom.kernels.attention import widen
from seqloom.kernels.linear import Linear
from seqloom.kernels.masks import all_equal, sequence_mask
from seqloom.nn.attention import Attention
from seqloom.nn.layer import Layer, Shapes, Traits
from seqloom.nn.positions import Rotary, rotate
from seqloom.nn.record import recording, scope
from seqloom.nn.scores import SCORES, Dot, ScaledDot, Score
from seqloom.nn.state import State, pad_to
from seqloom.nn.validation import check_count, check_sequence, resolve_lengths


def extend(
    stored: Float[Tensor, "batch heads capacity dim"], new: Float[Tensor, "batch heads time dim"], state: State
) -> Float[Tensor, "batch heads larger dim"]:
    """The storage with new steps at each row's position. Capacity doubles when full, so that a step costs a step.

    Without gradients it is written in place: the state that came in is used up. What a row's padding writes lies past
    its position, where nothing looks, until its next steps take that place.
    """
    (rows, heads, capacity, dim), time = stored.shape, new.shape[2]
    needed = state.max_position + time
    if capacity == 0 or state.position is None:  # nothing stored and nothing reserved
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
    if grad:  # a backward pass may still want what is stored
        return stored.transpose(1, 2).index_put((row, slot), new).transpose(1, 2)
    state.mark_consumed()
    stored.transpose(1, 2).index_put_((row, slot), new)
    return stored


class MultiHeadAttention(Layer):
    """What self- and cross-attention share: maps into heads, attention in each, a map back.

        head_j = Attention(x W_q^j, m W_k^j, m W_v^j)
        y = [head_1; …; head_h] W_o                                  (Vaswani et al. 2017)

    size, memory_size: the widths of x, which asks, and of m, which is looked at
    head_size, value_size: of a head's queries and keys, and of its values; size / heads unless said
    key_heads: fewer heads of keys and values than of queries, shared in groups (Ainslie et al. 2023, https://arxiv.org/abs/2305.13245)
    """

    def __init__(
        self,
        size: int,
        memory_size: int,
        heads: int,
        *,
        key_heads: int | None = None,
        head_size: int | None = None,
        value_size: int | None = None,
        output_size: int | None = None,
        score: str | Score = "scaled-dot",
        weighting: str = "softmax",
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        where = type(self).__name__
        key_heads = heads if key_heads is None else key_heads
        check_count(where, "heads", heads)
        check_count(where, "key_heads", key_heads)
        if head_size is None and size % heads:
            expected = f"a divisor of the size, {size}; or say head_size"
            raise ArgumentError(where, "heads", str(heads), expected, verb="is")
        if heads % key_heads:
            raise ArgumentError(where, "key_heads", str(key_heads), f"a divisor of heads, {heads}", verb="is")
        head_size = size // heads if head_size is None else head_size
        value_size = head_size if value_size is None else value_size
        check_count(where, "head_size", head_size)
        check_count(where, "value_size", value_size)
        self.input_size, self.memory_size = size, memory_size
        self.output_size = size if output_size is None else output_size
        self.heads, self.key_heads, self.value_size = heads, key_heads, value_size
        if isinstance(score, str):
            score = SCORES[score](head_size, head_size, heads=heads, key_heads=key_heads)
        if score.heads not in (1, heads) or score.key_heads not in (1, key_heads):
            came = f"{score.heads} heads and {score.key_heads} key heads"
            raise ArgumentError(where, "score", came, f"{heads} and {key_heads}, or 1 to share its weights")
        self.query: nn.Module = Linear(size, heads * score.query_size, bias=bias)
        self.key: nn.Module = Linear(memory_size, key_heads * score.key_size, bias=bias)
        self.value: nn.Module = Linear(memory_size, key_heads * value_size, bias=bias)
        self.output: nn.Module = Linear(heads * value_size, self.output_size, bias=bias)
        self.attention = Attention(score, weighting=weighting, dropout=dropout)
        self.stored_widths = self.attention.stored_widths(value_size)

    def stored_shapes(self) -> Shapes:
        """Keys, as the score has mapped them, and values; zeros after the narrower, as the kernel wants them."""
        key_width, value_width = self.stored_widths
        return {"keys": (self.key_heads, None, key_width), "values": (self.key_heads, None, value_width)}

    def store(
        self, key: Float[Tensor, "batch key_heads steps key_size"], memory: Float[Tensor, "batch steps memory_size"]
    ) -> tuple[Float[Tensor, "batch key_heads steps mapped"], Float[Tensor, "batch key_heads steps out"]]:
        """Keys mapped by the score, and values of what is looked at, as they are stored."""
        key_width, value_width = self.stored_widths
        values = heads_of(self.value(memory), self.key_heads)
        return widen(self.attention.score.key(key), key_width), widen(values, value_width)

    def ask(
        self,
        query: Float[Tensor, "batch heads time mapped"],
        keys: Float[Tensor, "batch key_heads steps stored"],
        values: Float[Tensor, "batch key_heads steps out"],
        mask: Bool[Tensor, "#batch 1 #time steps"] | None,
        causal: bool = False,
    ) -> Float[Tensor, "batch time dim"]:
        """Each head's context, side by side, mapped back."""
        context = self.attention.pool(query, keys, values, mask, causal)
        y: Tensor = self.output(context[..., : self.value_size].transpose(1, 2).flatten(2))
        return y


class SelfAttention(MultiHeadAttention):
    """Each step asks all steps of its own sequence, or, if causal, those up to itself.

    window: sees only steps less than this far away
    rotary: turns queries and keys by their positions; with dot products alone, where it makes sense
    A causal layer carries the keys and values of the steps so far.

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
        key_heads: int | None = None,
        head_size: int | None = None,
        value_size: int | None = None,
        output_size: int | None = None,
        score: str | Score = "scaled-dot",
        weighting: str = "softmax",
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__(
            size,
            size,
            heads,
            key_heads=key_heads,
            head_size=head_size,
            value_size=value_size,
            output_size=output_size,
            score=score,
            weighting=weighting,
            dropout=dropout,
            bias=bias,
        )
        if window is not None:
            check_count(type(self).__name__, "window", window)
        if rotary is not None:
            _check_rotary(rotary, self.attention.score)
        self.causal, self.window, self.rotary = causal, window, rotary

    @property
    def traits(self) -> Traits:
        return Traits(causal=self.causal)

    def state_shapes(self) -> Shapes:
        return self.stored_shapes() if self.causal else {}

    def mix(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        score = self.attention.score
        query, key = heads_of(self.query(x), self.heads), heads_of(self.key(x), self.key_heads)
        if self.rotary is not None:
            cos_sin = self.rotary.cos_sin(state.step_positions(x), x)
            query, key = rotate(query, *cos_sin), rotate(key, *cos_sin)
        if not self.causal:
            query, key = score.centred(query, key, lengths)
            return self.ask(score.query(query), *self.store(key, x), self._mask(x, lengths)), State()
        keys, values = self.store(key, x)
        keys, values = extend(state["keys"], keys, state), extend(state["values"], values, state)
        seen = keys.shape[2] if static(x) else state.max_position + x.shape[1]  # storage may be larger
        query, asked = score.query(query), (keys[:, :, :seen], values[:, :, :seen])
        if x.shape[1] == 1 and self.window is None and state.aligned:
            y = self.ask(query, *asked, mask=None)
        elif (
            state.max_position == 0 and self.window is None
        ):  # padding comes after all that is real: causality hides it
            y = self.ask(query, *asked, mask=None, causal=True)
        else:
            y = self.ask(query, *asked, mask=self._causal_mask(x, seen, state))
        return y, State(keys=keys, values=values)

    def _mask(self, x: Tensor, lengths: Tensor | None) -> Bool[Tensor, "#batch 1 #time time"] | None:
        """Real keys, and within the window on both sides."""
        mask = None if lengths is None else sequence_mask(lengths, x.shape[1])[:, None, None]
        if self.window is None:
            return mask
        steps = torch.arange(x.shape[1], device=x.device)
        near = ((steps[:, None] - steps).abs() < self.window)[None, None]
        return near if mask is None else near & mask

    def _causal_mask(self, x: Tensor, seen: int, state: State) -> Bool[Tensor, "#batch 1 time seen"]:
        """Key s is seen by the step at position p where p − window < s ≤ p."""
        position = state.step_positions(x)[:, None, :, None]
        key = torch.arange(seen, device=x.device)
        mask = key <= position
        return mask if self.window is None else mask & (key > position - self.window)


class PlainSelfAttention(SelfAttention):
    """Self-attention without projections, the weighted sum of a first lecture: y_t = Σ_s softmax_s(score(x_t, x_s)) x_s

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
            came = f"sizes {self.attention.score.query_size} and {self.attention.score.key_size}"
            raise ArgumentError("PlainSelfAttention", "score", came, f"{size} for both, the width of x")
        self.query = self.key = self.value = self.output = nn.Identity()


class CrossAttention(MultiHeadAttention):
    """Each step asks all steps of another sequence, the memory, whose keys and values are prepared once, by `start`.

    >>> layer = CrossAttention(8, memory_size=6, heads=2)
    >>> state = layer.start(torch.randn(1, 7, 6))
    >>> layer(torch.randn(1, 3, 8), state=state)[0].shape
    torch.Size([1, 3, 8])
    """

    @property
    def traits(self) -> Traits:
        return Traits(causal=True)

    def state_shapes(self) -> Shapes:
        return {**self.stored_shapes(), "lengths": ()}

    def initial(self, rows: int, like: Tensor) -> State:
        raise MissingMemory(
            "called without a state, so there is no memory to look at",
            "Begin with state = layer.start(memory, lengths), where `layer` is the outermost one",
            location="CrossAttention",
        )

    def start(
        self,
        memory: Float[Tensor, "batch steps memory_size"],
        lengths: Int[Tensor, " batch"] | None = None,
        final: State | None = None,
    ) -> State:
        check_sequence("CrossAttention", memory, self.memory_size, next(self.parameters()), argument="memory")
        memory, lengths = resolve_lengths("CrossAttention", memory, lengths)
        keys, values = self.store(heads_of(self.key(memory), self.key_heads), memory)
        position = torch.zeros_like(lengths, dtype=torch.int64)
        stored = {"keys": keys.contiguous(), "values": values.contiguous(), "lengths": lengths}
        return State(stored, position=position, fixed=stored)

    def mix(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        query = self.attention.score.query(heads_of(self.query(x), self.heads))
        steps = state["keys"].shape[2]
        mask = None if all_equal(state["lengths"], steps) else sequence_mask(state["lengths"], steps)[:, None, None]
        with scope("memory"):
            return self.ask(query, state["keys"], state["values"], mask), state


def static(x: Tensor) -> bool:
    """Whether to look at all of the storage, whose size rarely changes: cuDNN builds a kernel for each new size.

    (On an H200 that made a step of six layers 100 ms, not 8.)
    """
    return x.is_cuda and not recording("attention")


def heads_of(x: Float[Tensor, "batch time heads*dim"], heads: int) -> Float[Tensor, "batch heads time dim"]:
    """Features shared out among heads."""
    rows, time, size = x.shape
    return x.reshape(rows, time, heads, size // heads).transpose(1, 2)


def _check_rotary(rotary: Rotary, score: Score) -> None:
    if not isinstance(rotary, Rotary):
        raise ArgumentError("SelfAttention", "rotary", repr(rotary), "a Rotary, such as Rotary(head_size)", verb="is")
    if not isinstance(score, Dot | ScaledDot):
        came = f"the score {type(score).__name__} beside it"
        raise ArgumentError("SelfAttention", "rotary", came, "dot or scaled-dot, the scores that it turns")
    if rotary.size != score.query_size:
        raise ArgumentError("SelfAttention", "rotary", f"size {rotary.size}", f"{score.query_size}, a head's size")
