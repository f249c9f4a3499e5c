"""Attentive decoders: a body that writes, a context that says what it knows of the source, and how the two meet.

Bahdanau 2014    c_t = context(s_{t−1});       s_t = body([x_t; c_t]);      y_t = [c_t; s_t]
Luong 2015       s_t = body([x_t; y_{t−1}]);   c_t = context(s_t);          y_t = tanh(W_c [c_t; s_t])
Cho 2014         c = pool(memory);             s_t = body([x_t; c]);        y_t = [c; s_t]
Sutskever 2014   s_0 = the encoder's end;      s_t = body(x_t);             y_t = s_t
"""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError, MissingMemory
from seqloom.kernels.linear import Linear
from seqloom.kernels.masks import last_step
from seqloom.nn.bridges import Bridge
from seqloom.nn.decoder_context import Context
from seqloom.nn.dropout import DropoutBase
from seqloom.nn.layer import Layer, Shapes, Traits
from seqloom.nn.record import scope
from seqloom.nn.recurrent import Recurrent
from seqloom.nn.stack import Stack
from seqloom.nn.state import State
from seqloom.nn.validation import check_sequence, resolve_lengths


class Combine(nn.Module, ABC):
    """How the context c and the body's output s become the decoder's output y."""

    def __init__(self, context_size: int, hidden_size: int, output_size: int) -> None:
        super().__init__()
        self.context_size, self.hidden_size, self.output_size = context_size, hidden_size, output_size

    @abstractmethod
    def forward(self, c: Float[Tensor, "batch time context"], s: Float[Tensor, "batch time hidden"]) -> Tensor:
        """y"""


class ConcatCombine(Combine):
    """y = [c; s]"""

    def __init__(self, context_size: int, hidden_size: int) -> None:
        super().__init__(context_size, hidden_size, context_size + hidden_size)

    def forward(self, c: Float[Tensor, "batch time context"], s: Float[Tensor, "batch time hidden"]) -> Tensor:
        return torch.cat([c, s], dim=2)


class TanhCombine(Combine):
    """y = tanh(W_c [c; s])   (Luong et al. 2015, eq. 5)"""

    def __init__(self, context_size: int, hidden_size: int, output_size: int | None = None) -> None:
        super().__init__(context_size, hidden_size, output_size or hidden_size)
        self.linear = Linear(context_size + hidden_size, self.output_size, bias=False)

    def forward(self, c: Float[Tensor, "batch time context"], s: Float[Tensor, "batch time hidden"]) -> Tensor:
        return torch.tanh(self.linear(torch.cat([c, s], dim=2)))


class AttentionDecoder(Layer):
    """A decoder from parts; begin with `start(memory, lengths, final)`.

    body: any causal layer; its input is x_t, then c_t if the context feeds, then y_{t−1} with input feeding
    feed: a context that feeds goes into the body at "every" step, or at the "first" alone; it meets s_t at every step
    input_feeding: y_{t−1} goes into the body too, so that it knows where it has looked (Luong et al. 2015)
    Steps are taken one after another only where one needs the output of the last.

    >>> from seqloom.nn import GRU, AttentionBefore, LearnedBridge
    >>> body, context = Recurrent(GRU(3 + 6, 4)), AttentionBefore(4, 6, "additive")
    >>> decoder = AttentionDecoder(body, context, ConcatCombine(6, 4), LearnedBridge(6, body))
    >>> state = decoder.start(torch.randn(2, 7, 6), lengths=torch.tensor([7, 5]))
    >>> y, state = decoder(torch.randn(2, 5, 3), state=state)
    >>> y.shape
    torch.Size([2, 5, 10])
    """

    def __init__(
        self,
        body: Layer,
        context: Context,
        meeting: Combine,
        bridge: Bridge,
        *,
        feed: str = "every",
        input_feeding: bool = False,
    ) -> None:
        super().__init__()
        if not body.traits.causal:
            raise ArgumentError("AttentionDecoder", "body", "later steps", "a causal layer", verb="sees")
        if feed not in ("every", "first"):
            raise ArgumentError("AttentionDecoder", "feed", repr(feed), "'every' or 'first'", verb="is")
        if feed == "first" and not context.feeds:
            expected = "'every', since this context does not go into the body"
            raise ArgumentError("AttentionDecoder", "feed", "'first'", expected, verb="is")
        self.body, self.context, self.meeting, self.bridge = body, context, meeting, bridge
        self.feed, self.input_feeding = feed, input_feeding
        self.memory_size = bridge.memory_size if context.memory_size is None else context.memory_size
        self._check_widths()
        beside = context.size * context.feeds + meeting.output_size * input_feeding
        self.input_size, self.output_size = body.input_size - beside, meeting.output_size
        if self.input_size < 1:
            came, expected = f"input_size {body.input_size}", f"x beside the {beside} of context and input feeding"
            raise ArgumentError("AttentionDecoder", "body", came, expected)

    @property
    def traits(self) -> Traits:
        return self.body.traits

    def state_shapes(self) -> Shapes:
        shapes = {f"body.{name}": shape for name, shape in self.body.state_shapes().items()}
        shapes |= {f"context.{name}": shape for name, shape in self.context.shapes().items()}
        if self.context.asks_before:
            shapes["asked"] = (self.body.output_size,)
        if self.input_feeding:
            shapes["fed"] = (self.output_size,)
        return shapes

    def initial(self, rows: int, like: Tensor) -> State:
        raise MissingMemory(
            "called without a state, so it has nothing to write about",
            "Begin with state = decoder.start(memory, lengths, final), from the encoder's outputs and final state",
            location="AttentionDecoder",
        )

    def start(
        self,
        memory: Float[Tensor, "batch steps memory_size"],
        lengths: Int[Tensor, " batch"] | None = None,
        final: State | None = None,
    ) -> State:
        if self.memory_size is not None:
            weight = next(self.parameters(), None)
            check_sequence("AttentionDecoder", memory, self.memory_size, weight, argument="memory")
        memory, lengths = resolve_lengths("AttentionDecoder", memory, lengths)
        body = self.bridge(self.body, memory, lengths, final)
        beside = {}
        if self.context.asks_before:
            said = last_said(self.body, body)
            beside["asked"] = memory.new_zeros(memory.shape[0], self.body.output_size) if said is None else said
        if self.input_feeding:
            beside["fed"] = memory.new_zeros(memory.shape[0], self.output_size)
        joined = State.join({"body": body, "context": self.context.prepare(memory, lengths)})
        return State({**joined, **beside}, position=torch.zeros_like(lengths), fixed=joined.fixed)

    def mix(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        if not (self.context.asks_before or self.input_feeding):
            return self._write(x, lengths, state)
        outputs = []
        for t in range(x.shape[1]):
            now = None if lengths is None else (t < lengths).to(lengths.dtype)
            y, after = self._write(x[:, t : t + 1], now, state)
            state = after.with_position(*state.advance(1, now)).as_checked()
            outputs.append(y)
        return torch.cat(outputs, dim=1), state

    def _write(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        """One step, or all of them where none needs the output of the last."""
        prepared, inputs, beside = state.substate("context"), [x], {}
        if self.context.feeds:
            query = state["asked"].unsqueeze(1) if self.context.asks_before else x
            c = self._look(query, prepared)
            inputs.append(c if self.feed == "every" else c * (state.step_positions(x) == 0).unsqueeze(2))
        if self.input_feeding:
            inputs.append(state["fed"].unsqueeze(1))
        with scope("body"):
            s, body = self.body(torch.cat(inputs, dim=2), lengths, state.substate("body"))
        if not self.context.feeds:
            c = self._look(s, prepared)
        y = self.meeting(c, s)
        if self.context.asks_before:
            beside["asked"] = last_step(s, lengths, default=state["asked"])
        if self.input_feeding:
            beside["fed"] = last_step(y, lengths, default=state["fed"])
        joined = State.join({"body": body, "context": prepared})
        return y, State({**joined, **beside}, fixed=joined.fixed)

    def _check_widths(self) -> None:
        """Each part takes what another gives."""
        context, meeting, hidden_size = self.context, self.meeting, self.body.output_size
        for part, size, came, expected, whose in (
            ("meeting", "context_size", meeting.context_size, context.size, "the context's size"),
            ("meeting", "hidden_size", meeting.hidden_size, hidden_size, "the body's output_size"),
            ("context", "query_size", context.query_size, hidden_size, "the body's output_size"),
            ("bridge", "memory_size", self.bridge.memory_size, self.memory_size, "the context's memory_size"),
        ):
            if came is not None and came != expected:
                raise ArgumentError("AttentionDecoder", part, f"{size} {came}", f"{expected}, {whose}")

    def _look(self, query: Tensor, prepared: State) -> Float[Tensor, "batch time context"]:
        with scope("context"):
            return self.context.look(query, prepared)


def last_said(layer: Layer, state: State) -> Float[Tensor, "batch dim"] | None:
    """What a recurrent body said last, which is h of its top layer; None for a layer that does not keep it."""
    if isinstance(layer, Recurrent):
        return state[layer.cell.carries[0]]
    if isinstance(layer, Stack):
        for name, part in reversed(layer.sublayers().items()):
            if not isinstance(part, DropoutBase):
                return last_said(part, state.substate(name))
    return None
