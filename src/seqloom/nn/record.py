"""Recording of internals: layers offer tensors such as attention weights, and open recordings keep them.

Layers need no flag and no extra output for this.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from threading import Lock
from typing import NamedTuple

import torch
from torch import Tensor

from seqloom.core.names import RECORDS
from seqloom.core.problem import UnknownName
from seqloom.core.registry import unknown_name
from seqloom.nn.recorded_step import Step, StepRow
from seqloom.nn.recording import SOURCE_TOKENS, TOKENS, Record, Recording
from seqloom.nn.state import State

Namer = Callable[[list[list[int]]], Sequence[Sequence[str]]]
"""Turns the ids of a batch, row by row, into the texts of tokens."""


class InStep(NamedTuple):
    """The step that is running, and the lengths of the layer within it."""

    step: Step
    lengths: Tensor | None


_recordings: ContextVar[tuple[Recording, ...]] = ContextVar("recordings", default=())
_path: ContextVar[tuple[str, ...]] = ContextVar("path", default=())
_in_step: ContextVar[InStep | None] = ContextVar("in_step", default=None)
_namers: ContextVar[Mapping[str, Namer]] = ContextVar("namers", default={})  # noqa: B039 (never changed in place)
_NO_SCOPE = nullcontext()


@contextmanager
def record(*kinds: str) -> Iterator[Recording]:
    """Record the tensors of these kinds that layers offer within the block: "attention", "gates", "states".

    >>> from seqloom.nn import GRU, Recurrent
    >>> with record("gates") as recording:
    ...     y, state = Recurrent(GRU(input_size=3, hidden_size=4))(torch.randn(2, 5, 3))
    >>> recording["gates"][""]["update"].shape
    torch.Size([2, 5, 4])

    Several calls, such as the batches of `run.predict`, are `recording.calls`. Each has the rows of its batch; a row
    has the tokens that it read, and its tensors without padding.

    >>> recording.calls[0].rows[1]["gates"][""]["update"].shape
    torch.Size([5, 4])
    """
    for kind in kinds:
        if kind not in RECORDS:
            raise UnknownName(*unknown_name("record", kind, RECORDS))
    recorder = Recording(kinds)
    token = _recordings.set((*_recordings.get(), recorder))
    try:
        with _eager_mode:
            yield recorder
    finally:
        _recordings.reset(token)


class EagerMode:
    """Runs compiled models eagerly while any recording is open, because a compiled graph offers nothing.

    torch's compiler stance is shared by all threads: the first recording sets it, the last one restores it. It stays as
    it is if nothing was compiled, because setting it imports torch._dynamo, which takes seconds.
    """

    def __init__(self) -> None:
        self._lock, self._open, self._stance = Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._open == 0 and "torch._dynamo" in sys.modules:
                self._stance.enter_context(torch.compiler.set_stance("force_eager"))
            self._open += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._open -= 1
            if self._open == 0:
                self._stance.close()


_eager_mode = EagerMode()


def recording(kind: str) -> bool:
    """Whether a recording of this kind is open; False while compiling. Layers ask before they compute its tensors."""
    if torch.compiler.is_compiling():
        return False
    return any(kind in recorder.kinds for recorder in _recordings.get())


def offer(kind: str, *, time: int | None = None, **tensors: Tensor) -> None:
    """Add named tensors to the open recordings of this kind. `time` is their time axis, None for a single step."""
    if not recording(kind):
        return
    rows = next(iter(tensors.values())).shape[0]
    step, lengths = _in_step.get() or (None, None)
    if step is None or step.rows != rows:  # a call by itself: of no layer, or with other rows than the layer's
        step, lengths = Step(rows, [None] * rows), None
    item = Record(".".join(_path.get()), tensors, time, lengths)
    for recorder in _recordings.get():
        if kind in recorder.kinds:
            recorder.add(step, kind, item)


def step(
    x: Tensor, state: State | None, lengths: Tensor | None = None, *, apart: bool = False
) -> AbstractContextManager[Step | None]:
    """What is offered within the block belongs to one step over the rows of x, which continues the given state.

    A step within a step is part of it, unless its rows are others (`apart`). The new state continues the step if its
    `recorded` is set to the step's `step_rows`.
    """
    if torch.compiler.is_compiling() or not _recordings.get():
        return _NO_SCOPE
    return _step(x, state, lengths, apart)


@contextmanager
def _step(x: Tensor, state: State | None, lengths: Tensor | None, apart: bool) -> Iterator[Step]:
    outer = _in_step.get()
    if outer is None or apart:
        rows, before = x.shape[0], state.recorded if isinstance(state, State) else None
        current = Step(rows, before if before is not None and len(before) == rows else [None] * rows)
        for recorder in _recordings.get():
            recorder.begin(current)
    else:
        current = outer.step
    token = _in_step.set(InStep(current, lengths))
    try:
        yield current
    finally:
        _in_step.reset(token)


def offer_tokens(tokens: Tensor, lengths: Tensor | None = None, kind: str = TOKENS) -> None:
    """Add what the rows of this step read: ids [batch, time], or [batch, time, …], of which the first is the token."""
    if torch.compiler.is_compiling() or not _recordings.get() or tokens.is_floating_point() or tokens.dim() < 2:
        return
    if (inside := _in_step.get()) is not None and kind not in inside.step.tokens:
        ids = tokens.flatten(2)[:, :, 0] if tokens.dim() > 2 else tokens
        ends = [ids.shape[1]] * ids.shape[0] if lengths is None else lengths.tolist()
        rows = [row[:end] for row, end in zip(ids.tolist(), ends, strict=True)]
        namer = _namers.get().get(kind)
        inside.step.tokens[kind] = rows if namer is None else namer(rows)


def name_tokens(tokens: Namer | None = None, source_tokens: Namer | None = None) -> AbstractContextManager[None]:
    """Record tokens that are read within the block by their texts, instead of their ids."""
    if not _recordings.get():
        return _NO_SCOPE
    namers = {TOKENS: tokens, SOURCE_TOKENS: source_tokens}
    return _name_tokens({kind: namer for kind, namer in namers.items() if namer is not None})


@contextmanager
def _name_tokens(namers: Mapping[str, Namer]) -> Iterator[None]:
    token = _namers.set(namers)
    try:
        yield
    finally:
        _namers.reset(token)


def keep_rows(rows: Sequence[StepRow | None], scored_rows: Iterable[StepRow | None]) -> None:
    """Let open recordings keep these rows of a search, in this order, and none of the others that it scored."""
    if _recordings.get():
        steps = {row.step for row in scored_rows if row is not None}
        for recorder in _recordings.get():
            recorder.keep([row for row in rows if row is not None], steps)


def scope(name: str) -> AbstractContextManager[None]:
    """Append a name to the path of tensors that are offered within the block."""
    if torch.compiler.is_compiling() or not _recordings.get():
        return _NO_SCOPE
    return _scope(name)


@contextmanager
def _scope(name: str) -> Iterator[None]:
    token = _path.set((*_path.get(), name))
    try:
        yield
    finally:
        _path.reset(token)


@contextmanager
def capture(*kinds: str) -> Iterator[Recording]:
    """Record the block's tensors here and not in the open recordings, so that they can be changed and offered again."""
    recorder = Recording(kinds)
    recordings, path = _recordings.set((recorder,)), _path.set(())
    try:
        yield recorder
    finally:
        _recordings.reset(recordings)
        _path.reset(path)
