"""A cell over time, in one direction or both."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from traceback import walk_tb

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.core.names import INITIAL_STATES
from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.core.registry import unknown_name
from seqloom.kernels.masks import flip, mask_padding
from seqloom.kernels.recurrence import REFERENCE, Recurrence, choose_backend
from seqloom.nn.cells.cell import Cell
from seqloom.nn.layer import Flags, Layer, Lengths, Output, Shapes, Traits, Vectors
from seqloom.nn.record import capture, offer, recording
from seqloom.nn.stack import Composite
from seqloom.nn.state import State
from seqloom.nn.validation import check_probability

Step = Callable[[Tensor, State], tuple[Tensor, State]]


class Recurrent(Layer):
    """y_t, s_t = cell(x_t, s_{t−1})

    weight_drop: in training, each recurrent weight is dropped with this probability, the same ones at all steps
        (Merity et al. 2017)
    zoneout: in training, each value of the state keeps its past with this probability; in eval, the mean of both
        (Krueger et al. 2016)
    initial: "zero"; "learned", a parameter; "random", N(0, 0.1²) in training and zero in eval

    Runs on the fastest backend that has the cell's equation (`seqloom.kernels`). With zoneout, or while gates or states
    are recorded, it runs as a loop.

    >>> from seqloom.nn import LSTM
    >>> y, state = Recurrent(LSTM(3, 4))(torch.randn(2, 5, 3), lengths=torch.tensor([5, 2]))
    >>> y.shape, y[1, 2:].abs().sum().item(), state.position.tolist()
    (torch.Size([2, 5, 4]), 0.0, [5, 2])
    """

    traits = Traits(causal=True)

    def __init__(self, cell: Cell, *, weight_drop: float = 0.0, zoneout: float = 0.0, initial: str = "zero") -> None:
        super().__init__()
        if not isinstance(cell, Cell):
            raise ArgumentError(
                "Recurrent",
                "cell",
                repr(cell) if isinstance(cell, str) else f"a {type(cell).__module__}.{type(cell).__qualname__}",
                "a cell of seqloom.nn; recurrent_stack takes names, from_torch modules of torch.nn",
                verb="is",
            )
        check_probability("Recurrent", "weight_drop", weight_drop)
        check_probability("Recurrent", "zoneout", zoneout)
        if initial not in INITIAL_STATES:
            raise UnknownName(*unknown_name("initial state", initial, INITIAL_STATES))
        self.cell = cell
        self.input_size, self.output_size = cell.input_size, cell.hidden_size
        self.weight_drop, self.zoneout, self.initial_kind = weight_drop, zoneout, initial
        if initial == "learned":
            self.first = nn.ParameterDict({name: torch.zeros(cell.hidden_size) for name in cell.carries})

    def state_shapes(self) -> Shapes:
        return dict.fromkeys(self.cell.carries, (self.cell.hidden_size,))

    def initial(self, rows: int, like: Tensor) -> State:
        state = super().initial(rows, like)
        if self.initial_kind == "learned":
            return State({n: self.first[n].to(like.dtype).expand(rows, -1) for n in state}, position=state.position)
        if self.initial_kind == "random" and self.training:
            return State({n: 0.1 * torch.randn_like(zero) for n, zero in state.items()}, position=state.position)
        return state

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        cell = self.cell
        if self.weight_drop and self.training:
            cell = cell.with_weights(recurrent_weight=F.dropout(cell.recurrent_weight, self.weight_drop))
        step: Step = cell.step if cell.equation else partial(checked_step, cell)
        step = self._zone_out(step) if self.zoneout else step
        equation = None if self.zoneout else cell.equation
        recurrence = Recurrence(equation, x, state, lengths, cell.project, step, cell.operands)
        if recording("gates") or recording("states"):
            y, after = self._run_recorded(recurrence)
        else:
            y, after = choose_backend(recurrence).run(recurrence)
        return y, State(after)

    def _zone_out(self, step: Step) -> Step:
        """s' = m ⊙ s + (1 − m) ⊙ step(s), with m ~ Bernoulli(zoneout), in eval mode its mean"""
        output = self.cell.carries[0]

        def zoned_out(projected: Tensor, state: State) -> tuple[Tensor, State]:
            _, after = step(projected, state)
            mixed = {}
            for name, new in after.items():
                m = torch.full_like(new, self.zoneout)
                m = torch.bernoulli(m) if self.training else m
                mixed[name] = m * state[name] + (1 - m) * new
            return mixed[output], State(mixed)

        return zoned_out

    def _run_recorded(self, recurrence: Recurrence[State]) -> tuple[Tensor, dict[str, Tensor]]:
        """The loop; what its steps offer is joined over time and offered again."""

        def offering_states(projected: Tensor, state: State) -> tuple[Tensor, State]:
            y, after = recurrence.step(projected, state)
            offer("states", time=None, **after)
            return y, after

        with capture("gates", "states") as captured:
            result = REFERENCE.run(replace(recurrence, equation=None, step=offering_states))
        for kind in captured.kinds:
            for tensors in captured[kind].values():
                offer(kind, time=1, **{name: mask_padding(t, recurrence.lengths) for name, t in tensors.items()})
        return result

    def extra_repr(self) -> str:
        options = {"weight_drop": self.weight_drop, "zoneout": self.zoneout}
        return ", ".join([f"{name}={p}" for name, p in options.items() if p] + [f"initial={self.initial_kind!r}"])


def checked_step(cell: Cell, projected: Tensor, state: State) -> tuple[Tensor, State]:
    """The step of a user-defined cell, with an error if its result has the wrong form."""
    location, names = f"{type(cell).__name__}.step", list(cell.carries)
    try:
        result = cell.step(projected, state)
    except KeyError as missing:
        *_, (frame, _) = walk_tb(missing.__traceback__)
        if frame.f_globals["__name__"] != State.__module__:  # raised by another mapping
            raise
        key = f"state[{missing.args[0]!r}]" if missing.args else "a state that is not there"
        raise ArgumentError(location, key, "unknown", f"one of {names}; `carries` names them", verb="is") from missing
    expected = f"(y, state) with y [{projected.shape[0]}, {cell.hidden_size}] and a State of {names}, as in `carries`"
    if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], State)):
        raise ArgumentError(location, "what it returned", f"type {type(result).__name__}", expected)
    y, after = result
    if set(after) != set(names) or y.shape != (projected.shape[0], cell.hidden_size):
        actual = f"y {list(y.shape)} and a State of {list(after)}"
        raise ArgumentError(location, "what it returned", actual, expected)
    return y, after


class Backwards(Composite):
    """A recurrent layer that reads each row from its end to its start; padding stays at the end."""

    traits = Traits(causal=False)

    def __init__(self, layer: Recurrent) -> None:
        super().__init__({"reversed": layer})
        self.input_size, self.output_size = layer.input_size, layer.output_size

    def backward_features(self, of_input: Flags | None = None) -> Flags:
        return (True,) * self.output_size

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        layer, before = self.layers["reversed"], state.substate("reversed")
        kinds = [kind for kind in ("gates", "states") if recording(kind)]
        if not kinds:
            y, after = layer(flip(x, lengths), lengths, before)
            return flip(y, lengths), State.join({"reversed": after})
        with capture(*kinds) as captured:
            y, after = layer(flip(x, lengths), lengths, before)
        for kind in kinds:
            for tensors in captured[kind].values():
                offer(kind, time=1, **{name: flip(tensor, lengths) for name, tensor in tensors.items()})
        return flip(y, lengths), State.join({"reversed": after})


class Bidirectional(Composite):
    """y_t = [→y_t; ←y_t]   (Schuster & Paliwal 1997)

    Takes an initial state but can't continue from a carried one, because the backward layer starts at the end.

    >>> from seqloom.nn import GRU
    >>> y, state = Bidirectional(Recurrent(GRU(3, 4)), Recurrent(GRU(3, 4)))(torch.randn(2, 5, 3))
    >>> y.shape, sorted(state)
    (torch.Size([2, 5, 8]), ['backwards.reversed.hidden', 'forwards.hidden'])
    """

    def __init__(self, forwards: Recurrent, backwards: Recurrent) -> None:
        super().__init__({"forwards": forwards, "backwards": Backwards(backwards)})
        self.input_size = forwards.input_size
        self.output_size = forwards.output_size + backwards.output_size

    def backward_features(self, of_input: Flags | None = None) -> Flags:
        return tuple(flag for layer in self.sublayers().values() for flag in layer.backward_features())

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        forward, forward_state = self.run_layer("forwards", x, lengths, state)
        backward, backward_state = self.run_layer("backwards", x, lengths, state)
        return torch.cat([forward, backward], dim=2), State.join(
            {"forwards": forward_state, "backwards": backward_state}
        )
