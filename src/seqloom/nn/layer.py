"""The contract of all layers: a sequence of vectors in, a sequence of vectors out, and a state between calls."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError, CannotStep
from seqloom.kernels.masks import mask_padding
from seqloom.nn.record import step
from seqloom.nn.state import State
from seqloom.nn.validation import check_lengths, check_sequence, check_state, longest_length

Shapes = dict[str, tuple[int | None, ...]]
Vectors = Float[Tensor, "batch time dim"]
Memory = Float[Tensor, "batch steps memory_size"]
Lengths = Int[Tensor, " batch"] | None
Flags = tuple[bool, ...]
Output = tuple[Float[Tensor, "batch time out"], State]


class Traits(NamedTuple):
    """What a layer promises in eval mode. The conformance suite tests it.

    causal: y_t depends only on x_1 .. x_t, so T steps in one call, one step in T calls and any other split give the
        same result
    max_length: the largest number of steps, None if any number will do
    rows_independent: no row changes the output of another, in training mode either (batch normalization is the
        exception)
    """

    causal: bool
    max_length: int | None = None
    rows_independent: bool = True

    @staticmethod
    def combine(layers: Iterable["Layer"]) -> "Traits":
        """The traits of layers used together: causal if all of them are, and so on."""
        traits = [layer.traits for layer in layers]
        return Traits(
            causal=all(t.causal for t in traits),
            max_length=min((t.max_length for t in traits if t.max_length is not None), default=None),
            rows_independent=all(t.rows_independent for t in traits),
        )


class Layer(nn.Module, ABC):
    """y, state = layer(x, lengths=lengths, state=state)

    x       [batch, time, input_size]
    lengths [batch], the number of valid steps of each row; padding changes no result and no gradient
    state   what the last call returned, None at the start
    y       [batch, time, output_size], zero at padding

    A layer implements `mix`, which receives validated arguments and a state, and declares in `state_shapes` what it
    carries. At padding `mix` receives finite values. A layer that reads other steps without a mask sets `needs_zeros`,
    and receives zeros there.
    """

    input_size: int
    output_size: int
    needs_zeros: ClassVar[bool] = False

    @property
    @abstractmethod
    def traits(self) -> Traits: ...

    @abstractmethod
    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        """The computation of this layer. time is at least 1; the values of y at padding do not matter."""

    def state_shapes(self) -> Shapes:
        """The shapes of the tensors that this layer carries, without the batch dimension; None is any size."""
        return {}

    def backward_features(self, of_input: Flags | None = None) -> Flags:
        """For each feature of y, whether a network that reads from the end of a row to its start computes it.

        of_input: the same for x, for a layer that passes features on; default: none of them
        """
        return (False,) * self.output_size

    def initial(self, rows: int, like: Tensor) -> State:
        """The state before the first step, with the device and dtype of `like`; zeros by default."""
        shapes = self.state_shapes().items()
        zeros = {name: like.new_zeros(rows, *(size or 0 for size in shape)) for name, shape in shapes}
        return State(zeros, position=like.new_zeros(rows, dtype=torch.int64))

    def start(self, memory: Memory, lengths: Lengths = None, final: State | None = None) -> State:
        """The state before the first step of a decoder: a layer with cross-attention projects the memory here, once.

        final: the encoder's last state, for a decoder that starts from it
        """
        return self.initial(memory.shape[0], memory)

    def forward(self, x: Vectors, lengths: Lengths = None, state: State | None = None) -> Output:
        location = type(self).__name__
        if not (isinstance(state, State) and state.checked):
            check_sequence(location, x, self.input_size, next(self.parameters(), None))
        return self.run(location, x, lengths, state)

    def run(self, location: str, x: Tensor, lengths: Tensor | None, state: State | None, argument: str = "x") -> Output:
        """Run `mix` with what the contract requires of all layers: validation, masked padding, the new position.

        Within another layer, which has done this for all its sublayers, run `mix` alone.
        """
        if isinstance(state, State) and state.checked:
            return self.mix(mask_padding(x, lengths) if self.needs_zeros else x, lengths, state)
        rows, time = x.shape[:2]
        if state is None:
            state = self.initial(rows, x)
        else:
            check_state(location, state, self.state_shapes(), rows, x)
            if state.position is None:  # built by hand from tensors alone
                state = state.with_position(torch.zeros(rows, dtype=torch.int64, device=x.device), 0)
        traits = self.traits
        if not traits.causal and state.max_position > 0:
            raise CannotStep(
                "this state comes from an earlier call, and this layer can't continue from it, because it reads the "
                "whole sequence at once",
                "Give it all steps in one call, or use a causal layer",
                location=location,
            )
        longest = time
        if lengths is not None:
            longest, lengths = longest_length(lengths, time), check_lengths(location, lengths, rows, time, x.device)
        position, max_position = state.advance(longest, lengths)
        if traits.max_length is not None and max(time, max_position) > traits.max_length:
            earlier = f" after {state.max_position} earlier ones" if state.max_position else ""
            raise ArgumentError(location, argument, f"{time} steps{earlier}", f"at most {traits.max_length} in all")
        if time == 0:
            return x.new_zeros(rows, 0, self.output_size), state
        with step(x, state, lengths) as recorded:
            y, new_state = self.mix(mask_padding(x, lengths), lengths, state.as_checked())
        y, new_state = mask_padding(y, lengths), new_state.with_position(position, max_position)
        if recorded is not None:
            new_state.recorded = recorded.step_rows
        return y, new_state


class Pointwise(Layer):
    """y_t = f(x_t), each step by itself: causal, of any length, without a state."""

    traits = Traits(causal=True)

    @abstractmethod
    def transform(self, x: Vectors) -> Float[Tensor, "batch time out"]:
        """f, at every step."""

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        return self.transform(x), State()


class FeatureWise(Layer):
    """A layer whose feature y_j is x_j, scaled or masked: the features stay what they are."""

    def backward_features(self, of_input: Flags | None = None) -> Flags:
        return super().backward_features() if of_input is None else of_input


class Identity(FeatureWise, Pointwise):
    """y = x"""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.input_size = self.output_size = size

    def transform(self, x: Vectors) -> Vectors:
        return x
