"""Recurrent decoders with attention: a body, a context c from the source, and how c and the body's output s combine.

Bahdanau 2014    c_t = context(s_{t−1});       s_t = body([x_t; c_t]);      y_t = [c_t; s_t]
Luong 2015       s_t = body([x_t; y_{t−1}]);   c_t = context(s_t);          y_t = tanh(W_c [c_t; s_t])
Cho 2014         c = pool(memory);             s_t = body([x_t; c]);        y_t = [c; s_t]
Sutskever 2014                                 s_t = body(x_t);             y_t = s_t

The bridge computes s_0: the encoder's final state (Sutskever), a map of it (tanh(W ←h_1), Bahdanau; tanh(W h_n), Cho),
or another (`bridges.py`).
"""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError, MissingMemory
from seqloom.kernels.masks import last_step
from seqloom.nn.bridges import Bridge
from seqloom.nn.decoder_context import Context
from seqloom.nn.dense import Linear
from seqloom.nn.dropout import DropoutBase
from seqloom.nn.layer import Layer, Lengths, Memory, Output, Shapes, Traits, Vectors
from seqloom.nn.record import scope
from seqloom.nn.recurrent import Recurrent
from seqloom.nn.stack import Stack
from seqloom.nn.state import State
from seqloom.nn.validation import check_sequence, resolve_lengths

ContextVectors = Float[Tensor, "batch time context"]
Hidden = Float[Tensor, "batch time hidden"]


class Combine(nn.Module, ABC):
    """y from the context c and the body's output s."""

    def __init__(self, context_size: int, hidden_size: int, output_size: int) -> None:
        super().__init__()
        self.context_size, self.hidden_size, self.output_size = context_size, hidden_size, output_size

    @abstractmethod
    def forward(self, c: ContextVectors, s: Hidden) -> Tensor:
        """y"""


class ConcatCombine(Combine):
    """y = [c; s]"""

    def __init__(self, context_size: int, hidden_size: int) -> None:
        super().__init__(context_size, hidden_size, context_size + hidden_size)

    def forward(self, c: ContextVectors, s: Hidden) -> Tensor:
        return torch.cat([c, s], dim=2)


class TanhCombine(Combine):
    """y = tanh(W_c [c; s])   (Luong et al. 2015, eq. 5)"""

    def __init__(self, context_size: int, hidden_size: int, output_size: int | None = None) -> None:
        super().__init__(context_size, hidden_size, output_size or hidden_size)
        self.linear = Linear(context_size + hidden_size, self.output_size, bias=False)

    def forward(self, c: ContextVectors, s: Hidden) -> Tensor:
        return torch.tanh(self.linear(torch.cat([c, s], dim=2)))


class AttentionDecoder(Layer):
    """A decoder whose first state is `start(memory, lengths, final)`.

    body: any causal layer; its input is x_t, then c_t if the context feeds the body, then y_{t−1} with input feeding
    context_input: a context that feeds the body does so at "every" step or at the "first" only
    input_feeding: y_{t−1} is part of the body's input, so that it knows its last attention (Luong et al. 2015)

    Steps are computed one after another only if each needs the output of the step before.

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
        combine: Combine,
        bridge: Bridge,
        *,
        context_input: str = "every",
        input_feeding: bool = False,
    ) -> None:
        super().__init__()
        location = "AttentionDecoder"
        if not body.traits.causal:
            raise ArgumentError(location, "body", "later steps", "a causal layer", verb="sees")
        if context_input not in ("every", "first"):
            raise ArgumentError(location, "context_input", repr(context_input), "'every' or 'first'", verb="is")
        if context_input == "first" and not context.feeds_body:
            expected = "'every', since this context does not feed the body"
            raise ArgumentError(location, "context_input", "'first'", expected, verb="is")
        self.body, self.context, self.bridge = body, context, bridge
        self.meeting = combine  # the name in saved weights
        self.context_input, self.input_feeding = context_input, input_feeding
        self.memory_size = bridge.memory_size if context.memory_size is None else context.memory_size
        memory_size, hidden_size = self.memory_size, body.output_size
        for argument, attribute, size, expected_size, source in (
            ("combine", "context_size", combine.context_size, context.size, "the context's size"),
            ("combine", "hidden_size", combine.hidden_size, hidden_size, "the body's output_size"),
            ("context", "query_size", context.query_size, hidden_size, "the body's output_size"),
            ("bridge", "memory_size", bridge.memory_size, memory_size, "the context's memory_size"),
        ):
            if size is not None and size != expected_size:
                raise ArgumentError(location, argument, f"{attribute} {size}", f"{expected_size}, {source}")
        extra = context.size * context.feeds_body + combine.output_size * input_feeding
        self.input_size, self.output_size = body.input_size - extra, combine.output_size
        if self.input_size < 1:
            expected = f"more than {extra}, the width of context and input feeding"
            raise ArgumentError(location, "body", f"input_size {body.input_size}", expected)

    @property
    def traits(self) -> Traits:
        return self.body.traits

    def state_shapes(self) -> Shapes:
        shapes = {f"body.{name}": shape for name, shape in self.body.state_shapes().items()}
        shapes |= {f"context.{name}": shape for name, shape in self.context.state_shapes().items()}
        if self.context.before_step:
            shapes["query"] = (self.body.output_size,)
        if self.input_feeding:
            shapes["fed_back"] = (self.output_size,)
        return shapes

    def initial(self, rows: int, like: Tensor) -> State:
        raise MissingMemory(
            "called without a state, so there is no source to decode",
            "Begin with state = decoder.start(memory, lengths, final), from the encoder's outputs and final state",
            location="AttentionDecoder",
        )

    def start(self, memory: Memory, lengths: Lengths = None, final: State | None = None) -> State:
        if self.memory_size is not None:
            weight = next(self.parameters(), None)
            check_sequence("AttentionDecoder", memory, self.memory_size, weight, argument="memory")
        memory, lengths = resolve_lengths("AttentionDecoder", memory, lengths)
        body = self.bridge(self.body, memory, lengths, final)
        own = {}
        if self.context.before_step:
            output = last_output(self.body, body)
            own["query"] = memory.new_zeros(memory.shape[0], self.body.output_size) if output is None else output
        if self.input_feeding:
            own["fed_back"] = memory.new_zeros(memory.shape[0], self.output_size)
        parts = State.join({"body": body, "context": self.context.prepare(memory, lengths)})
        return State({**parts, **own}, position=torch.zeros_like(lengths), fixed=parts.fixed)

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        if not (self.context.before_step or self.input_feeding):
            return self._steps(x, lengths, state)
        outputs = []
        for t in range(x.shape[1]):
            step_lengths = None if lengths is None else (t < lengths).to(lengths.dtype)
            y, new_state = self._steps(x[:, t : t + 1], step_lengths, state)
            state = new_state.with_position(*state.advance(1, step_lengths)).as_checked()
            outputs.append(y)
        return torch.cat(outputs, dim=1), state

    def _steps(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        """One step, or all of them if none needs the output of the step before."""
        prepared, inputs, own = state.substate("context"), [x], {}
        if self.context.feeds_body:
            c = self._context(state["query"].unsqueeze(1) if self.context.before_step else x, prepared)
            inputs.append(c if self.context_input == "every" else c * (state.step_positions(x) == 0).unsqueeze(2))
        if self.input_feeding:
            inputs.append(state["fed_back"].unsqueeze(1))
        with scope("body"):
            s, body = self.body(torch.cat(inputs, dim=2), lengths, state.substate("body"))
        if not self.context.feeds_body:
            c = self._context(s, prepared)
        y = self.meeting(c, s)
        if self.context.before_step:
            own["query"] = last_step(s, lengths, default=state["query"])
        if self.input_feeding:
            own["fed_back"] = last_step(y, lengths, default=state["fed_back"])
        parts = State.join({"body": body, "context": prepared})
        return y, State({**parts, **own}, fixed=parts.fixed)

    def _context(self, query: Tensor, prepared: State) -> ContextVectors:
        with scope("context"):
            return self.context(query, prepared)  # type: ignore[no-any-return]


def last_output(layer: Layer, state: State) -> Float[Tensor, "batch dim"] | None:
    """The last output of a recurrent body, which is h of its top layer; None for a layer whose state lacks it."""
    if isinstance(layer, Recurrent):
        return state[layer.cell.carries[0]]
    if isinstance(layer, Stack):
        for name, part in reversed(layer.sublayers().items()):
            if not isinstance(part, DropoutBase):
                return last_output(part, state.substate(name))
    return None
