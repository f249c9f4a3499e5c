"""What a layer carries from one call to the next."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from seqloom.core.problem import ArgumentError
from seqloom.kernels.masks import all_reach, readable


class State(Mapping[str, Tensor]):
    """Named tensors, batch first, and a position for each row.

    An RNN's h, an LSTM's (h, c), a Transformer's key-value cache and the memory that a decoder looks at are all
    this one type, so decoding, truncated BPTT, beam search and serving are each written once.

    `position` counts the real steps that each row has seen. `horizon` is a bound on it that is known without asking
    the device, so that a cache can be sized without waiting for it. The states of nested layers are told apart by
    dotted names. What is `fixed` is made once and never changed by a step: the memory that a decoder looks at.

    >>> state = State(hidden=torch.zeros(2, 4), position=torch.tensor([3, 5]), horizon=5)
    >>> state.select(torch.tensor([1, 1, 0])).position
    tensor([5, 5, 3])
    >>> State.join({"encoder": state})["encoder.hidden"].shape
    torch.Size([2, 4])
    """

    __slots__ = ("_fixed", "_level", "_parts", "_tensors", "_use", "checked", "horizon", "position")

    def __init__(
        self,
        tensors: Mapping[str, Tensor] | None = None,
        /,
        *,
        position: Tensor | None = None,
        horizon: int = 0,
        fixed: Collection[str] = (),
        **named: Tensor,
    ) -> None:
        # Tensors by their dotted names, or parts by the first of these: the one is made of the other when it is wanted.
        self._tensors: dict[str, Tensor] | None = {**(tensors or {}), **named}
        self._fixed: frozenset[str] | None = frozenset(fixed)
        self._parts: dict[str, State] | None = None
        self.position = position
        self.horizon = horizon
        self._level: list[bool] = []  # once somebody has looked; shared by parts, and position and horizon stay
        self._use = {"up": False}  # shared by all that hold these same tensors: parts, other positions
        self.checked = False  # whether a layer has looked at this state and its lengths: its parts need not look again

    # A mapping of names to tensors -----------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Tensor:
        return self._by_name()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name())

    def __len__(self) -> int:
        return len(self._by_name())

    def _by_name(self) -> Mapping[str, Tensor]:
        if self._tensors is None:
            inner = ((part, *each) for part, state in self._by_part().items() for each in state.items())
            self._tensors = {f"{part}.{name}": tensor for part, name, tensor in inner}
        return self._tensors

    @property
    def fixed(self) -> frozenset[str]:
        """The names of what a step never changes."""
        if self._fixed is None:
            inner = ((part, name) for part, state in self._by_part().items() for name in state.fixed)
            self._fixed = frozenset(f"{part}.{name}" for part, name in inner)
        return self._fixed

    def __bool__(self) -> bool:
        return True  # a layer without tensors of its own still has a position

    def __repr__(self) -> str:
        inside = ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in self.items())
        return f"State({inside or 'no tensors'}; horizon {self.horizon})"

    @property
    def rows(self) -> int:
        """The number of rows (sequences)."""
        first = self.position if self.position is not None else next(iter(self.values()))
        return first.shape[0]

    def at(self, position: Tensor | None, horizon: int) -> "State":
        """These tensors at another place in time; who knows a tighter horizon than this state does may say so here."""
        state = State(position=position, horizon=horizon)
        state._tensors, state._fixed, state._parts, state._use = self._tensors, self._fixed, self._parts, self._use
        return state

    @property
    def level(self) -> bool:
        """Whether all rows stand at the horizon; looked at once a step, and where that is free, on the CPU."""
        if not self._level:
            self._level.append(self.position is not None and all_reach(self.horizon, self.position))
        return self._level[0]

    @property
    def used_up(self) -> bool:
        """Whether a step has written into these tensors, so that they are not what they were."""
        return self._use["up"]

    def use_up(self) -> None:
        """Say so."""
        if not torch.compiler.is_compiling():
            self._use["up"] = True

    def as_checked(self) -> "State":
        """This state, vouched for by the layer that is running."""
        state = self.at(self.position, self.horizon)
        state.checked = True
        return state

    def advance(self, steps: int, lengths: Int[Tensor, " batch"] | None) -> tuple[Tensor | None, int]:
        """Position and horizon after `steps` more steps, of which a row's own `lengths` are real."""
        if self.position is None:
            return None, self.horizon + steps
        if lengths is None:
            return self.position + steps, self.horizon + steps
        position = self.position + lengths
        return position, _bound(position, self.horizon + steps)

    def steps(self, x: Tensor) -> Int[Tensor, "rows time"]:
        """The positions of the steps of x [batch, time, ...] that follow this state: one row for all at the start."""
        following = torch.arange(x.shape[1], device=x.device)
        if self.horizon == 0 or self.position is None:
            return following.unsqueeze(0)
        return self.position.unsqueeze(1) + following

    # Nesting ---------------------------------------------------------------------------------------------------

    @staticmethod
    def join(parts: Mapping[str, "State"]) -> "State":
        """The states of named parts as one state, names dotted; the parts stand at one position."""
        for name in parts:
            if "." in name:
                raise ArgumentError("State.join", "a part", repr(name), "without a dot, which divides names", verb="is")
        first = next(iter(parts.values()), State())
        state = State(position=first.position, horizon=first.horizon)
        state._tensors, state._fixed, state._parts = None, None, dict(parts)
        return state

    def part(self, name: str) -> "State":
        """The tensors that `join` was given under this name, at the position of the whole, and used up with it."""
        first, _, rest = name.partition(".")
        state = self._by_part().get(first, State()).at(self.position, self.horizon)
        state.checked, state._use, state._level = self.checked, self._use, self._level
        return state.part(rest) if rest else state

    def _by_part(self) -> Mapping[str, "State"]:
        if self._parts is None:
            inner: dict[str, dict[str, Tensor]] = {}
            for name, tensor in self.items():
                part, dot, rest = name.partition(".")
                if dot:
                    inner.setdefault(part, {})[rest] = tensor
            fixed = [name.partition(".") for name in self.fixed]
            self._parts = {
                part: State(tensors, fixed=[rest for whose, _, rest in fixed if whose == part])
                for part, tensors in inner.items()
            }
        return self._parts

    # Rows ------------------------------------------------------------------------------------------------------

    def select(self, rows: Int[Tensor, " chosen"]) -> "State":
        """A copy of these rows, in this order, repeats allowed (beams)."""
        if not isinstance(rows, Tensor) or rows.dtype not in (torch.int32, torch.int64):
            came = f"type {rows.dtype}" if isinstance(rows, Tensor) else f"type {type(rows).__name__}"
            raise ArgumentError("State.select", "rows", came, "a tensor of whole numbers, the rows' places")
        tensors = {name: tensor.index_select(0, rows) for name, tensor in self.items()}
        position = None if self.position is None else self.position.index_select(0, rows)
        return State(tensors, position=position, horizon=_bound(position, self.horizon), fixed=self.fixed)

    def reorder(self, rows: Sequence[int]) -> "State":
        """`select` for as many rows, each of which takes the place of one with the same memory (beams of one source).

        So what is fixed stays where it is, and of the rest only rows that change are copied: into the same tensors,
        which uses up this state, unless a gradient may still want them.
        """
        changed = [to for to, row in enumerate(rows) if row != to]
        if not changed:
            return self
        held = [tensor for tensor in (self.position, *self.values()) if tensor is not None]
        if not held:
            return self
        to, out_of = (torch.tensor(some, device=held[0].device) for some in (changed, [rows[to] for to in changed]))
        moving = {view(tensor): tensor for name, tensor in self.items() if name not in self.fixed}  # once, if shared
        moved = {which: replaced(tensor, to, out_of) for which, tensor in moving.items()}
        tensors = {name: tensor if name in self.fixed else moved[view(tensor)] for name, tensor in self.items()}
        position = None if self.position is None else self.position.index_copy(0, to, self.position[out_of])
        self.use_up()
        return State(tensors, position=position, horizon=self.horizon, fixed=self.fixed)

    def remove(self, rows: Int[Tensor, " gone"]) -> "State":
        """All rows but these (sequences that have ended)."""
        keep = torch.ones(self.rows, dtype=torch.bool, device=rows.device)
        keep[rows] = False
        left = self.select(keep.nonzero().squeeze(1))  # this waits for a device, so the horizon may be read from it too
        if left.position is not None and not torch.compiler.is_compiling():
            left.horizon = int(left.position.max()) if left.rows else 0
        return left

    @staticmethod
    def cat(states: Sequence["State"]) -> "State":
        """The rows of all states in one; zeros are added where lengths in time differ (caches, memories)."""
        if not states:
            raise ArgumentError("State.cat", "states", "nothing", "at least one state")
        names = list(states[0])
        for other in states[1:]:
            if list(other) != names:
                raise ArgumentError("State.cat", "a state", f"tensors {list(other)}", f"{names}, as the first one has")
        positions = [state.position for state in states]
        if any(position is None for position in positions):
            position = None
        else:
            position = torch.cat([position for position in positions if position is not None])
        for name in names:
            if not _fit([state[name] for state in states]):
                came = f"shapes {[list(state[name].shape) for state in states]}"
                raise ArgumentError("State.cat", f"state[{name!r}]", came, "the same but for rows and time")
        tensors = {name: cat_padded([state[name] for state in states], dim=0) for name in names}
        horizon = max(state.horizon for state in states)
        return State(tensors, position=position, horizon=horizon, fixed=states[0].fixed)

    def where(self, rows: Bool[Tensor, " batch"], other: "State") -> "State":
        """This state for the rows marked, the other for the rest."""
        return State(
            {name: torch.where(_over(rows, tensor), tensor, other[name]) for name, tensor in self.items()},
            position=self.position,
            horizon=self.horizon,
            fixed=self.fixed,
        )

    # Tensors as a whole ----------------------------------------------------------------------------------------

    def detach(self) -> "State":
        """The same values, cut from the graph: where truncated BPTT stops."""
        tensors = {name: tensor.detach() for name, tensor in self.items()}
        return State(tensors, position=self.position, horizon=self.horizon, fixed=self.fixed)

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> "State":
        """On another device, or with real values in another precision; counts stay whole numbers."""
        tensors = {
            name: tensor.to(device=device, dtype=dtype if tensor.is_floating_point() else None)
            for name, tensor in self.items()
        }
        position = None if self.position is None else self.position.to(device=device)
        return State(tensors, position=position, horizon=self.horizon, fixed=self.fixed)


def view(tensor: Tensor) -> tuple[object, ...]:
    """What tensors share that show the same memory in the same way, and so move together."""
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def replaced(tensor: Tensor, to: Int[Tensor, " changed"], out_of: Int[Tensor, " changed"]) -> Tensor:
    """The tensor with some rows in the place of others; the same one where no gradient may want it as it was."""
    new = tensor.index_select(0, out_of)
    if torch.is_grad_enabled() or tensor.requires_grad:
        return tensor.index_copy(0, to, new)
    return tensor.index_copy_(0, to, new)


def cat_padded(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """`torch.cat` along `dim`; other dimensions are padded with zeros at their end to the largest."""
    sizes = [max(tensor.shape[d] for tensor in tensors) for d in range(tensors[0].dim())]
    return torch.cat([pad_to(tensor, [*sizes[:dim], tensor.shape[dim], *sizes[dim + 1 :]]) for tensor in tensors], dim)


def pad_to(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """The tensor with zeros at the end of each dimension, up to this shape."""
    missing = [want - have for want, have in zip(shape, tensor.shape, strict=True)]
    if not any(missing):
        return tensor
    return torch.nn.functional.pad(tensor, [side for gap in reversed(missing) for side in (0, gap)])


def _bound(position: Tensor | None, otherwise: int) -> int:
    """The largest position where reading it is free (on the CPU), else a bound that holds."""
    if position is None or not readable(position):
        return otherwise
    return int(position.max()) if position.numel() else 0


def _fit(tensors: Sequence[Tensor]) -> bool:
    """Whether they differ in rows and time alone, where they have one: [rows, time, dim], [rows, heads, time, dim]."""
    sizes = list(zip(*(tensor.shape[1:] for tensor in tensors), strict=True))
    time = {2: 0, 3: 1}.get(len(sizes))
    return all(len(set(size)) == 1 for axis, size in enumerate(sizes) if axis != time)


def _over(rows: Tensor, tensor: Tensor) -> Tensor:
    return rows.reshape(-1, *[1] * (tensor.dim() - 1))
