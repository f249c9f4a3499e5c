"""The state that a layer carries from one call to the next."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from seqloom.core.problem import ArgumentError
from seqloom.kernels.masks import all_equal, readable_without_sync
from seqloom.nn.recorded_step import StepRows


class State(Mapping[str, Tensor]):
    """Named tensors, batch first, and a position for each row.

    An RNN's h, an LSTM's (h, c), a Transformer's key-value cache and the memory of cross-attention all have this type,
    so that decoding, truncated BPTT and beam search work with every layer.

    position: the number of steps that each row has read, without padding
    max_position: an upper bound of `position`, known without reading it from the device; the length of a cache
    fixed: the names of tensors that no step changes, such as the memory of cross-attention
    recorded: for each row, the last step of it in a recording; None if no row is in one

    The tensors of nested layers have dotted names.

    >>> state = State(hidden=torch.zeros(2, 4), position=torch.tensor([3, 5]), max_position=5)
    >>> state.select(torch.tensor([1, 1, 0])).position
    tensor([5, 5, 3])
    >>> State.join({"encoder": state})["encoder.hidden"].shape
    torch.Size([2, 4])
    """

    __slots__ = (
        *("_aligned", "_fixed", "_substates", "_tensors", "_use", "checked", "max_position", "position"),
        "recorded",
    )

    def __init__(
        self,
        tensors: Mapping[str, Tensor] | None = None,
        /,
        *,
        position: Tensor | None = None,
        max_position: int = 0,
        fixed: Collection[str] = (),
        recorded: StepRows | None = None,
        **named: Tensor,
    ) -> None:
        # Either tensors by dotted name or substates by the first component; each is built from the other on demand.
        self._tensors: dict[str, Tensor] | None = {**(tensors or {}), **named}
        self._fixed: frozenset[str] | None = frozenset(fixed)
        self._substates: dict[str, State] | None = None
        self.position = position
        self.max_position = max_position
        self.recorded = recorded
        self._aligned: list[bool] = []  # cache of `aligned`, shared with substates
        self._use = {"consumed": False}  # shared by all states that hold these tensors
        self.checked = False  # True if an enclosing layer has validated this state and its lengths

    def __getitem__(self, name: str) -> Tensor:
        return self._by_name()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name())

    def __len__(self) -> int:
        return len(self._by_name())

    def __bool__(self) -> bool:
        return True  # a layer without tensors of its own still has a position

    def __repr__(self) -> str:
        tensors = ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in self.items())
        return f"State({tensors or 'no tensors'}; max_position {self.max_position})"

    @property
    def fixed(self) -> frozenset[str]:
        if self._fixed is None:
            self._fixed = frozenset(f"{key}.{name}" for key, state in self._by_key().items() for name in state.fixed)
        return self._fixed

    @property
    def rows(self) -> int:
        first = self.position if self.position is not None else next(iter(self.values()))
        return first.shape[0]

    def with_position(self, position: Tensor | None, max_position: int) -> "State":
        """The same tensors at another position."""
        state = State(position=position, max_position=max_position, recorded=self.recorded)
        state._tensors, state._fixed, state._substates = self._tensors, self._fixed, self._substates
        state._use = self._use
        return state

    @property
    def aligned(self) -> bool:
        """Whether all rows are known to be at max_position. Read once per step; on a GPU, False without reading."""
        if not self._aligned:
            self._aligned.append(self.position is not None and all_equal(self.position, self.max_position))
        return self._aligned[0]

    @property
    def consumed(self) -> bool:
        """Whether a step has written into these tensors, so that they no longer hold this state."""
        return self._use["consumed"]

    def mark_consumed(self) -> None:
        if not torch.compiler.is_compiling():
            self._use["consumed"] = True

    def as_checked(self) -> "State":
        """This state, marked as validated: nested layers do not validate it again."""
        state = self.with_position(self.position, self.max_position)
        state.checked = True
        return state

    def advance(self, steps: int, lengths: Int[Tensor, " batch"] | None) -> tuple[Tensor | None, int]:
        """Position and max_position after `steps` more steps, of which `lengths` are valid in each row."""
        if self.position is None:
            return None, self.max_position + steps
        if lengths is None:
            return self.position + steps, self.max_position + steps
        position = self.position + lengths
        return position, _max_position(position, self.max_position + steps)

    def step_positions(self, x: Tensor) -> Int[Tensor, "rows time"]:
        """The positions of the steps of x [batch, time, ...] that follow this state; one row if all start at 0."""
        steps = torch.arange(x.shape[1], device=x.device)
        if self.max_position == 0 or self.position is None:
            return steps.unsqueeze(0)
        return self.position.unsqueeze(1) + steps

    # Nesting ---------------------------------------------------------------------------------------------------

    @staticmethod
    def join(substates: Mapping[str, "State"]) -> "State":
        """The states of named layers as one state with dotted names, at the position of the first."""
        for key in substates:
            if "." in key:
                raise ArgumentError("State.join", "a name", repr(key), "without a dot", verb="is")
        first = next(iter(substates.values()), State())
        state = State(position=first.position, max_position=first.max_position, recorded=first.recorded)
        state._tensors, state._fixed, state._substates = None, None, dict(substates)
        return state

    def substate(self, name: str) -> "State":
        """The state that `join` received under this name, at the position of this state and consumed with it."""
        key, _, rest = name.partition(".")
        state = self._by_key().get(key, State()).with_position(self.position, self.max_position)
        state.checked, state._use, state._aligned = self.checked, self._use, self._aligned
        state.recorded = self.recorded
        return state.substate(rest) if rest else state

    def _by_name(self) -> Mapping[str, Tensor]:
        if self._tensors is None:
            nested = ((key, *item) for key, state in self._by_key().items() for item in state.items())
            self._tensors = {f"{key}.{name}": tensor for key, name, tensor in nested}
        return self._tensors

    def _by_key(self) -> Mapping[str, "State"]:
        if self._substates is None:
            nested: dict[str, dict[str, Tensor]] = {}
            for name, tensor in self.items():
                key, dot, rest = name.partition(".")
                if dot:
                    nested.setdefault(key, {})[rest] = tensor
            self._substates = {
                key: State(
                    tensors, fixed=[name.removeprefix(f"{key}.") for name in self.fixed if name.startswith(f"{key}.")]
                )
                for key, tensors in nested.items()
            }
        return self._substates

    # Rows ------------------------------------------------------------------------------------------------------

    def select(self, rows: Int[Tensor, " indices"]) -> "State":
        """A copy of these rows, in this order; repeats are allowed (beams)."""
        if not isinstance(rows, Tensor) or rows.dtype not in (torch.int32, torch.int64):
            actual = f"type {rows.dtype}" if isinstance(rows, Tensor) else f"type {type(rows).__name__}"
            raise ArgumentError("State.select", "rows", actual, "a tensor of whole numbers, the indices of rows")
        position = None if self.position is None else self.position.index_select(0, rows)
        max_position = _max_position(position, self.max_position)
        recorded = None if self.recorded is None else tuple(self.recorded[row] for row in rows.tolist())
        return self._map(lambda tensor: tensor.index_select(0, rows), position, max_position, recorded)

    def reorder(self, rows: Sequence[int]) -> "State":
        """`select` of the same number of rows, each from a row with the same fixed tensors (a beam of the same source).

        Fixed tensors are not copied. In the others only changed rows are written: in place, which consumes this state,
        or to a copy if gradients are enabled.
        """
        changed = [index for index, row in enumerate(rows) if row != index]
        first = next((tensor for tensor in (self.position, *self.values()) if tensor is not None), None)
        if not changed or first is None:
            return self
        device = first.device
        target = torch.tensor(changed, device=device)
        source = torch.tensor([rows[index] for index in changed], device=device)
        # tensors that share storage move once
        views = {_storage_key(tensor): tensor for name, tensor in self.items() if name not in self.fixed}
        after = {key: _move_rows(tensor, target, source) for key, tensor in views.items()}
        tensors = {name: tensor if name in self.fixed else after[_storage_key(tensor)] for name, tensor in self.items()}
        position = None if self.position is None else self.position.index_copy(0, target, self.position[source])
        recorded = None if self.recorded is None else tuple(self.recorded[row] for row in rows)
        self.mark_consumed()
        return State(tensors, position=position, max_position=self.max_position, fixed=self.fixed, recorded=recorded)

    def remove(self, rows: Int[Tensor, " removed"]) -> "State":
        """All rows but these (sequences that have ended)."""
        keep = torch.ones(self.rows, dtype=torch.bool, device=rows.device)
        keep[rows] = False
        state = self.select(keep.nonzero().squeeze(1))  # `nonzero` waits, so reading below costs no more
        if state.position is not None and not torch.compiler.is_compiling():
            state.max_position = int(state.position.max()) if state.rows else 0
        return state

    @staticmethod
    def cat(states: Sequence["State"]) -> "State":
        """The rows of all states in one state; shorter caches and memories are padded with zeros."""
        if not states:
            raise ArgumentError("State.cat", "states", "nothing", "at least one state")
        names = list(states[0])
        for other in states[1:]:
            if list(other) != names:
                raise ArgumentError("State.cat", "a state", f"tensors {list(other)}", f"{names}, as the first one has")
        positions = [state.position for state in states if state.position is not None]
        tensors = {}
        for name in names:
            rows = [state[name] for state in states]
            if not _same_but_rows_and_time(rows):
                shapes = f"shapes {[list(tensor.shape) for tensor in rows]}"
                raise ArgumentError("State.cat", f"state[{name!r}]", shapes, "equal sizes, except of rows and time")
            tensors[name] = cat_padded(rows, dim=0)
        recorded = [row for state in states for row in state.recorded or [None] * state.rows]
        return State(
            tensors,
            position=torch.cat(positions) if len(positions) == len(states) else None,
            max_position=max(state.max_position for state in states),
            fixed=states[0].fixed,
            recorded=tuple(recorded) if any(recorded) else None,
        )

    def where(self, rows: Bool[Tensor, " batch"], other: "State") -> "State":
        """This state in the rows marked True, `other` in the rest; the position of this state."""
        tensors = {
            name: torch.where(rows.reshape(-1, *[1] * (tensor.dim() - 1)), tensor, other[name])
            for name, tensor in self.items()
        }
        return State(
            tensors, position=self.position, max_position=self.max_position, fixed=self.fixed, recorded=self.recorded
        )

    # All tensors -----------------------------------------------------------------------------------------------

    def detach(self) -> "State":
        """The same values without the autograd graph, for truncated BPTT. A step that consumes one consumes both."""
        detached = self._map(Tensor.detach, self.position, self.max_position, self.recorded)
        detached._use = self._use  # the storage is the same
        return detached

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> "State":
        """On another device, or with floating-point tensors in another precision."""

        def move(tensor: Tensor) -> Tensor:
            return tensor.to(device=device, dtype=dtype if tensor.is_floating_point() else None)

        position = None if self.position is None else move(self.position)
        state = self._map(move, position, self.max_position, self.recorded)
        if any(state[name] is tensor for name, tensor in self.items()):  # nothing to convert: the storage is the same
            state._use = self._use
        return state

    def _map(
        self,
        function: Callable[[Tensor], Tensor],
        position: Tensor | None,
        max_position: int,
        recorded: StepRows | None,
    ) -> "State":
        tensors = {name: function(tensor) for name, tensor in self.items()}
        return State(tensors, position=position, max_position=max_position, fixed=self.fixed, recorded=recorded)


def cat_padded(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """`torch.cat` along `dim`; other dimensions are padded with zeros at their end to the largest."""
    sizes = [max(tensor.shape[d] for tensor in tensors) for d in range(tensors[0].dim())]
    return torch.cat([pad_to(tensor, [*sizes[:dim], tensor.shape[dim], *sizes[dim + 1 :]]) for tensor in tensors], dim)


def pad_to(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """The tensor with zeros at the end of each dimension, up to this shape."""
    missing = [target - size for target, size in zip(shape, tensor.shape, strict=True)]
    if not any(missing):
        return tensor
    return torch.nn.functional.pad(tensor, [padding for end in reversed(missing) for padding in (0, end)])


def _storage_key(tensor: Tensor) -> tuple[object, ...]:
    """Equal for tensors that are the same view of the same memory."""
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def _move_rows(tensor: Tensor, target: Int[Tensor, " changed"], source: Int[Tensor, " changed"]) -> Tensor:
    """tensor[target] = tensor[source], in place unless a gradient may need the old values."""
    rows = tensor.index_select(0, source)
    if torch.is_grad_enabled() or tensor.requires_grad:
        return tensor.index_copy(0, target, rows)
    return tensor.index_copy_(0, target, rows)


def _max_position(position: Tensor | None, bound: int) -> int:
    """The largest position if it can be read without waiting for a device, otherwise `bound`."""
    if position is None or not readable_without_sync(position):
        return bound
    return int(position.max()) if position.numel() else 0


def _same_but_rows_and_time(tensors: Sequence[Tensor]) -> bool:
    """Whether the shapes are equal except for rows, and for time in [rows, time, dim] and [rows, heads, time, dim]."""
    sizes = list(zip(*(tensor.shape[1:] for tensor in tensors), strict=True))
    time = {2: 0, 3: 1}.get(len(sizes))
    return all(len(set(size)) == 1 for axis, size in enumerate(sizes) if axis != time)
