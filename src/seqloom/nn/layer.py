"""The one contract: a sequence of vectors in, a sequence of vectors out, in which each position knows about others."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError, CannotStep
from seqloom.kernels.masks import mask_padding
from seqloom.nn.state import State
from seqloom.nn.validation import check_lengths, check_sequence, check_state, longest_length

Shapes = dict[str, tuple[int | None, ...]]


class Traits(NamedTuple):
    """What a layer promises, in eval mode; the conformance suite asks exactly that of it.

    causal: y_t depends on x_1 .. x_t alone, so T steps in one call, one step in T calls and any split between are the
        same.
    max_length: the most steps that it takes, None for any number.
    rows_independent: no row changes another, in training mode either (batch normalization is the exception).
    """

    causal: bool
    max_length: int | None = None
    rows_independent: bool = True

    @staticmethod
    def of_all(layers: Iterable["Layer"]) -> "Traits":
        """What layers promise together: causal if all are, and so on."""
        traits = [layer.traits for layer in layers]
        causal, limits, independent = zip(*traits, strict=True) if traits else ((), (), ())
        return Traits(all(causal), min((each for each in limits if each is not None), default=None), all(independent))


class Layer(nn.Module, ABC):
    """y, state = layer(x, lengths=lengths, state=state)

    x       [batch, time, input_size]
    lengths [batch], how much of each row is real; what lies beyond changes no result and no gradient
    state   what the last call returned, None at the start
    y       [batch, time, output_size], zero beyond a row's length

    A layer writes `mix`, which may count on checked arguments and a state, and says what it carries in
    `state_shapes`. Beyond a row's length `mix` finds finite values; zeros if the layer says that it `needs_zeros`,
    because it reads other steps without asking which are real.
    """

    input_size: int
    output_size: int
    needs_zeros: ClassVar[bool] = False

    @property
    @abstractmethod
    def traits(self) -> Traits:
        """What this layer promises."""

    @abstractmethod
    def mix(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        """The layer itself; time is at least 1. What y holds beyond a row's length does not matter."""

    def state_shapes(self) -> Shapes:
        """The tensors that this layer carries, each without its batch dimension; None is any size."""
        return {}

    def initial(self, rows: int, like: Tensor) -> State:
        """The state before the first step, zeros unless a layer says otherwise; of the device and type of `like`."""
        zeros = {
            name: like.new_zeros(rows, *(size or 0 for size in shape)) for name, shape in self.state_shapes().items()
        }
        return State(zeros, position=like.new_zeros(rows, dtype=torch.int64))

    def start(
        self,
        memory: Float[Tensor, "batch steps memory_size"],
        lengths: Int[Tensor, " batch"] | None = None,
        final: State | None = None,
    ) -> State:
        """The state before the first step of a layer that may look at another sequence: that memory, prepared once.

        `final` is the state in which the layer that made the memory ended, for one that begins where it ended.
        """
        return self.initial(memory.shape[0], memory)

    def forward(
        self,
        x: Float[Tensor, "batch time dim"],
        lengths: Int[Tensor, " batch"] | None = None,
        state: State | None = None,
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        if isinstance(state, State) and state.checked:  # within another layer, which has looked at x for all its parts
            return self.mix(mask_padding(x, lengths) if self.needs_zeros else x, lengths, state)
        where = type(self).__name__
        check_sequence(where, x, self.input_size, next(self.parameters(), None))
        return self.run(where, x, lengths, state)

    def run(
        self, where: str, x: Tensor, lengths: Tensor | None, state: State | None, argument: str = "x"
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        """`mix` between the two ends of the contract: arguments checked, padding silenced, position moved on.

        Within another layer, which has done so for all its parts, nothing of that is done again.
        """
        if isinstance(state, State) and state.checked:
            return self.mix(mask_padding(x, lengths) if self.needs_zeros else x, lengths, state)
        rows, time = x.shape[:2]
        if state is None:
            state = self.initial(rows, x)
        else:
            check_state(where, state, self.state_shapes(), rows, x)
            if state.position is None:  # made by hand from tensors alone: a beginning
                state = state.with_position(torch.zeros(rows, dtype=torch.int64, device=x.device), 0)
        traits = self.traits
        if not traits.causal and state.max_position > 0:
            raise CannotStep(
                "this state comes from an earlier call, and this layer can't go on from it, because it reads the whole "
                "sequence at once",
                "Give it all steps in one call, or use a causal layer",
                location=where,
            )
        longest = time
        if lengths is not None:
            longest, lengths = longest_length(lengths, time), check_lengths(where, lengths, rows, time, x.device)
        position, max_position = state.advance(longest, lengths)
        if traits.max_length is not None and max(time, max_position) > traits.max_length:
            past = f" after {state.max_position} earlier ones" if state.max_position else ""
            raise ArgumentError(where, argument, f"{time} steps{past}", f"at most {traits.max_length} in all")
        if time == 0:
            return x.new_zeros(rows, 0, self.output_size), state
        y, carried = self.mix(mask_padding(x, lengths), lengths, state.as_checked())
        return mask_padding(y, lengths), carried.with_position(position, max_position)


class Pointwise(Layer):
    """A layer that treats each step by itself: y_t = f(x_t). Causal, of any length, with nothing to carry."""

    @property
    def traits(self) -> Traits:
        return Traits(causal=True)

    @abstractmethod
    def each(self, x: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch time out"]:
        """f, at every step."""

    def mix(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        return self.each(x), State()


class Identity(Pointwise):
    """y = x"""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.input_size = self.output_size = size

    def each(self, x: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch time dim"]:
        return x
