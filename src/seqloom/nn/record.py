"""Recording of internals: layers offer tensors such as attention weights, and open recordings keep them.

Layers need no flag and no extra output for this.
"""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock

import torch
from torch import Tensor

from seqloom.core.names import RECORDS
from seqloom.core.problem import ArgumentError, UnknownName
from seqloom.core.registry import unknown_name
from seqloom.nn.state import cat_padded

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Record:
    """The tensors that one call of a layer offered, by name, and their time axis (None for a single step)."""

    path: str
    tensors: Tensors
    time: int | None


@dataclass(repr=False)
class Recording:
    """The tensors that layers offered within `record`.

    `recording["gates"]` maps the path of each layer ("" for a lone layer, otherwise dotted, such as "layers.0") to its
    named tensors, joined over time across calls. `recording.records["gates"]` lists them call by call.
    """

    kinds: tuple[str, ...]
    records: dict[str, list[Record]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Recording({', '.join(f'{kind}: {len(self.records.get(kind, []))} records' for kind in self.kinds)})"

    def __getitem__(self, kind: str) -> dict[str, Tensors]:
        if kind in RECORDS and kind not in self.kinds:
            raise UnknownName(f"{kind!r} was not recorded: this recorder was opened for {', '.join(self.kinds)}")
        if kind not in self.kinds:
            raise UnknownName(*unknown_name("record", kind, self.kinds))
        by_path: dict[str, list[Record]] = {}
        for item in self.records.get(kind, []):
            by_path.setdefault(item.path, []).append(item)
        return {path: _join(records) for path, records in by_path.items()}


_recordings: ContextVar[tuple[Recording, ...]] = ContextVar("recordings", default=())
_path: ContextVar[tuple[str, ...]] = ContextVar("path", default=())
_NO_SCOPE = nullcontext()


@contextmanager
def record(*kinds: str) -> Iterator[Recording]:
    """Record the tensors of these kinds that layers offer within the block: "attention", "gates", "states".

    >>> from seqloom.nn import GRU, Recurrent
    >>> with record("gates") as recording:
    ...     y, state = Recurrent(GRU(input_size=3, hidden_size=4))(torch.randn(2, 5, 3))
    >>> recording["gates"][""]["update"].shape
    torch.Size([2, 5, 4])
    """
    for kind in kinds:
        if kind not in RECORDS:
            raise UnknownName(*unknown_name("record", kind, RECORDS))
    opened = Recording(kinds)
    token = _recordings.set((*_recordings.get(), opened))
    try:
        with _eager_mode:
            yield opened
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
    return any(kind in opened.kinds for opened in _recordings.get())


def offer(kind: str, *, time: int | None = None, **tensors: Tensor) -> None:
    """Add named tensors to the open recordings of this kind. `time` is their time axis, None for a single step."""
    if recording(kind):
        item = Record(".".join(_path.get()), tensors, time)
        for opened in _recordings.get():
            if kind in opened.kinds:
                opened.records.setdefault(kind, []).append(item)


def attends_to_memory(path: str) -> bool:
    """Whether the attention recorded at this path is cross-attention.

    >>> attends_to_memory("decoder.0.cross.layer.memory"), attends_to_memory("decoder.0.attention.layer")
    (True, False)
    """
    return path.split(".")[-1] == "memory"


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
    captured = Recording(kinds)
    recordings, path = _recordings.set((captured,)), _path.set(())
    try:
        yield captured
    finally:
        _recordings.reset(recordings)
        _path.reset(path)


def _join(records: list[Record]) -> Tensors:
    axis, rows = records[0].time, {next(iter(item.tensors.values())).shape[0] for item in records}
    if len(rows) > 1:
        expected = "calls that continue each other; several unrelated batches are in its `records`, one by one"
        raise ArgumentError("record", "a recording", f"calls of {sorted(rows)} rows", expected)
    values = {name: [item.tensors[name] for item in records] for name in records[0].tensors}
    if axis is None:
        return {name: torch.stack(steps, dim=1) for name, steps in values.items()}
    return {name: cat_padded(calls, dim=axis) for name, calls in values.items()}
