"""What a recording holds: calls, each with its rows, their tokens and their tensors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from seqloom.core.names import RECORDS
from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.core.registry import unknown_name
from seqloom.kernels.masks import sequence_mask
from seqloom.nn.recorded_step import Step, StepRow, Token
from seqloom.nn.state import cat_padded

Tensors = dict[str, Tensor]
Layers = dict[str, Tensors]  # by the path of the layer
TOKENS, SOURCE_TOKENS = "tokens", "source_tokens"


@dataclass(frozen=True)
class Record:
    """The tensors that a layer offered within a step, by name.

    time: their time axis; None for a single step of time
    lengths: the number of valid steps of each row
    """

    path: str
    tensors: Tensors
    time: int | None
    lengths: Int[Tensor, " rows"] | None = None


class Joined(NamedTuple):
    """The tensors of a layer over all steps of a call; `lengths` are the valid steps of each row on the axis `time`."""

    tensors: Tensors
    time: int
    lengths: list[int]


@dataclass(eq=False)
class OpenCall:
    """A call that may continue.

    ends: the last step of each row
    kept: those of the rows that a search keeps, in its order; two that differ in their last token have the same step
    """

    ends: dict[StepRow, None] = field(default_factory=dict)
    kept: Sequence[StepRow] | None = None


class ByKind(Mapping[str, Layers]):
    """What layers offered, by the kinds that are recorded, whether or not a layer offered any."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.kinds = kinds

    def __contains__(self, kind: object) -> bool:
        return kind in self.kinds

    def __iter__(self) -> Iterator[str]:
        return iter(self.kinds)

    def __len__(self) -> int:
        return len(self.kinds)

    __eq__, __hash__ = object.__eq__, object.__hash__  # by identity, as comparing tensors has no one result

    def check(self, kind: str) -> None:
        if kind not in self.kinds and kind in RECORDS:
            raise UnknownName(f"{kind!r} was not recorded: this recorder was opened for {', '.join(self.kinds)}")
        if kind not in self.kinds:
            raise UnknownName(*unknown_name("record", kind, self.kinds))


class Recording(ByKind):
    """The tensors that layers offered within `record`, by kind.

    `recording["gates"]` maps the path of each layer ("" for a lone layer, otherwise dotted, such as "layers.0") to its
    named tensors. Calls of a layer are joined over time if each one continued from the state that the one before
    returned. If they did not, `recording["gates"]` is an error, and `calls` has them one by one.
    """

    def __init__(self, kinds: tuple[str, ...]) -> None:
        super().__init__(kinds)
        self._records: dict[Step, dict[str, list[Record]]] = {}
        self._calls: list[OpenCall] = []
        self._call_of: dict[StepRow, OpenCall] = {}  # by the rows of steps at which calls end

    @property
    def calls(self) -> "list[Call]":
        """The calls in which something was recorded, in the order in which they began."""
        numbers = {step: number for number, step in enumerate(self._records)}
        calls = []
        for call in self._calls:
            paths = [self._path_to(end) for end in call.kept or call.ends]
            if call.kept is None:  # in the order of the rows at the start, though some may have ended earlier
                paths.sort(key=lambda path: (numbers[path[0].step], path[0].row))
            calls.append(Call(self.kinds, paths, self._records))
        return [call for call in calls if call.is_recorded]

    def __getitem__(self, kind: str) -> Layers:
        self.check(kind)
        calls, layers = self.calls, dict[str, Tensors]()
        for call in calls:
            tensors = call[kind]
            if layers.keys() & tensors.keys():
                actual = f"{len(calls)} calls that do not continue each other"
                raise ArgumentError("record", "a recording", actual, "one; its `calls` has them one by one")
            layers |= tensors
        return layers

    def __repr__(self) -> str:
        return f"Recording({', '.join(self.kinds)}: {len(self.calls)} calls)"

    def begin(self, step: Step) -> None:
        """Add a step: to the call whose rows it continues, or as a new call."""
        self._records[step] = {}
        before = [row for row in dict.fromkeys(step.before) if row is not None and row.step in self._records]
        call = OpenCall()
        if before and all(row in self._call_of for row in before):  # nothing else has continued these rows
            call = self._call_of[before[0]]
            for row in before:
                del self._call_of.pop(row).ends[row]
        else:
            self._calls.append(call)
        call.ends |= dict.fromkeys(step.step_rows)
        self._call_of |= dict.fromkeys(step.step_rows, call)

    def add(self, step: Step, kind: str, item: Record) -> None:
        if step not in self._records:
            self.begin(step)
        self._records[step].setdefault(kind, []).append(item)

    def keep(self, rows: Sequence[StepRow], steps: set[Step]) -> None:
        """Let a call end with these rows, which are some of all the rows of a search; `steps` are all its steps."""
        first = None
        for call in self._calls:
            for end in [end for end in call.ends if end.step in steps]:
                first = first or call
                del call.ends[end], self._call_of[end]
        if first is not None:
            first.kept = rows

    def _path_to(self, end: StepRow) -> list[StepRow]:
        """A row in each of its steps, from the first to this one."""
        path = [end]
        while (before := path[-1].step.before[path[-1].row]) is not None and before.step in self._records:
            path.append(before)
        return path[::-1]


class Call(ByKind):
    """A call, or several of which each continued from the one before: rows, their tokens, and what layers offered.

    `call["gates"]` is as in `Recording`: the tensors of all rows, padded. `rows` has them row by row, without padding;
    the rows of a search are its results.

    tokens: what each row read, in the order of the time axis: texts if a run predicted, otherwise the ids that the
        model read; None if unknown. Of an encoder-decoder these are the tokens that its decoder read.
    source_tokens: what the encoder read
    """

    def __init__(
        self,
        kinds: tuple[str, ...],
        paths: Sequence[Sequence[StepRow]],
        records: Mapping[Step, dict[str, list[Record]]],
    ) -> None:
        super().__init__(kinds)
        self._paths, self._records = paths, records
        self._joined: dict[str, dict[str, Joined]] = {}

    def __getitem__(self, kind: str) -> Layers:
        return {path: joined.tensors for path, joined in self.joined(kind).items()}

    def __repr__(self) -> str:
        return f"Call({', '.join(self.kinds)}: {len(self._paths)} rows)"

    @property
    def is_recorded(self) -> bool:
        return any(self._records[step] for step in {row.step for path in self._paths for row in path})

    @cached_property
    def rows(self) -> "tuple[Row, ...]":
        return tuple(Row(self, row) for row in range(len(self._paths)))

    @cached_property
    def tokens(self) -> list[list[Token]] | None:
        return self._tokens(TOKENS)

    @cached_property
    def source_tokens(self) -> list[list[Token]] | None:
        return self._tokens(SOURCE_TOKENS)

    def _tokens(self, side: str) -> list[list[Token]] | None:
        steps = [[(step.tokens[side], row) for step, row in path if side in step.tokens] for path in self._paths]
        return [[token for rows, row in read for token in rows[row]] for read in steps] if any(steps) else None

    def joined(self, kind: str) -> dict[str, Joined]:
        """What layers offered, by path, joined over time."""
        self.check(kind)
        if kind not in self._joined:
            chunks: dict[str, list[tuple[dict[int, int], list[Record]]]] = {}
            for depth in range(max(map(len, self._paths), default=0)):
                rows: dict[Step, dict[int, int]] = {}  # for each row of the call the row of the step
                for row, path in enumerate(self._paths):
                    if depth < len(path):
                        rows.setdefault(path[depth].step, {})[row] = path[depth].row
                for step, of_step in rows.items():
                    for name, records in by_path(self._records[step].get(kind, [])).items():
                        chunks.setdefault(name, []).append((of_step, records))
            count = len(self._paths)
            self._joined[kind] = {
                path: join_steps([select_rows(join_records(records), of, count) for of, records in steps])
                for path, steps in chunks.items()
            }
        return self._joined[kind]


class Row(ByKind):
    """A row of a call without padding: `row["gates"][path][name]` is [time, …], as if it had been alone in its batch.

    Attention weights are [heads, queries, keys]. Where the tokens are unknown, as those of a lone layer, keys that are
    padding stay, with the weight 0.
    """

    def __init__(self, call: Call, row: int) -> None:
        super().__init__(call.kinds)
        self._call, self._row = call, row

    @property
    def tokens(self) -> list[Token] | None:
        return None if self._call.tokens is None else self._call.tokens[self._row]

    @property
    def source_tokens(self) -> list[Token] | None:
        return None if self._call.source_tokens is None else self._call.source_tokens[self._row]

    def __getitem__(self, kind: str) -> Layers:
        layers = {
            path: {
                name: tensor[self._row].narrow(joined.time - 1, 0, joined.lengths[self._row])
                for name, tensor in joined.tensors.items()
            }
            for path, joined in self._call.joined(kind).items()
        }
        if kind != "attention":
            return layers
        return {
            path: {name: weights[..., : self._keys(path)] for name, weights in tensors.items()}
            for path, tensors in layers.items()
        }

    def _keys(self, path: str) -> int | None:
        """The number of tokens that an attention layer attends to; None if unknown."""
        tokens = self.source_tokens if reads_source(path) else self.tokens
        return None if tokens is None else len(tokens)

    def __repr__(self) -> str:
        return f"Row({', '.join(self.kinds)})"


def attends_to_memory(path: str) -> bool:
    """Whether the attention recorded at this path is cross-attention.

    >>> attends_to_memory("decoder.0.cross.layer.memory"), attends_to_memory("decoder.0.attention.layer")
    (True, False)
    """
    return path.split(".")[-1] == "memory"


def reads_source(path: str) -> bool:
    """Whether the keys of the attention at this path are of the source."""
    return attends_to_memory(path) or path.split(".")[0] == "encoder"


# Joining tensors -----------------------------------------------------------------------------------------------------


def by_path(records: Sequence[Record]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for item in records:
        groups.setdefault(item.path, []).append(item)
    return groups


def join_records(records: Sequence[Record]) -> Joined:
    """What one layer offered within one step, one after another."""
    first = records[0]
    values = {name: [item.tensors[name] for item in records] for name in first.tensors}
    axis = 1 if first.time is None else first.time
    if len(records) == 1 and first.time is not None:
        tensors = first.tensors
    elif first.time is None:
        tensors = {name: torch.stack(steps, dim=1) for name, steps in values.items()}
    else:
        tensors = {name: cat_padded(calls, dim=axis) for name, calls in values.items()}
    shape = next(iter(tensors.values())).shape
    lengths = [shape[axis]] * shape[0] if first.lengths is None else first.lengths.clamp(max=shape[axis]).tolist()
    return Joined(tensors, axis, lengths)


def select_rows(joined: Joined, rows: Mapping[int, int], count: int) -> Joined:
    """The rows of a call, some of which may lack this step: they are empty. `rows` maps a call's row to a step's."""
    if list(rows.items()) == [(row, row) for row in range(len(joined.lengths))] and len(rows) == count:
        return joined
    indices = [rows.get(row, 0) for row in range(count)]
    lengths = [joined.lengths[rows[row]] if row in rows else 0 for row in range(count)]
    tensors = {}
    for name, tensor in joined.tensors.items():
        values = tensor.index_select(0, torch.tensor(indices, device=tensor.device))
        missing = torch.tensor([row not in rows for row in range(count)], device=tensor.device)
        tensors[name] = (
            values.masked_fill(missing.view(-1, *[1] * (values.dim() - 1)), 0) if len(rows) < count else values
        )
    return Joined(tensors, joined.time, lengths)


def join_steps(steps: Sequence[Joined]) -> Joined:
    """All steps of a layer, each row's valid steps one after another."""
    if len(steps) == 1:
        return steps[0]
    axis = steps[0].time
    tensors = {name: cat_padded([step.tensors[name] for step in steps], axis) for name in steps[0].tensors}
    valid = torch.cat([valid_steps(step) for step in steps], dim=1)
    lengths = valid.sum(dim=1)
    if bool((valid != sequence_mask(lengths, valid.shape[1])).any()):  # padding between valid steps
        order = valid.int().argsort(dim=1, descending=True, stable=True)[:, : int(lengths.max())]
        beyond = ~sequence_mask(lengths, order.shape[1])
        for name, tensor in tensors.items():
            shape = [size if d in (0, axis) else 1 for d, size in enumerate((*tensor.shape[:axis], order.shape[1]))]
            shape += [1] * (tensor.dim() - len(shape))
            valid_first = tensor.take_along_dim(order.to(tensor.device).view(shape), dim=axis)
            tensors[name] = valid_first.masked_fill(beyond.to(tensor.device).view(shape), 0)
    return Joined(tensors, axis, lengths.tolist())


def valid_steps(joined: Joined) -> Tensor:
    time = next(iter(joined.tensors.values())).shape[joined.time]
    return sequence_mask(torch.tensor(joined.lengths), time)
