"""Look inside without a flag on every signature: layers offer what they have, an open recorder keeps it."""

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

Values = dict[str, Tensor]


@dataclass(frozen=True)
class Piece:
    """What one call offered: named tensors, with the axis that is time (None: one step, which has none)."""

    where: str
    values: Values
    time: int | None


@dataclass(repr=False)
class Recording:
    """What was offered while the recorder was open.

    `seen["gates"]` maps each place ("" for a lone layer, else a dotted path such as "layers.0") to its named tensors,
    joined over time whatever way the calls were split. `seen.pieces["gates"]` holds them as they came.
    """

    kinds: tuple[str, ...]
    pieces: dict[str, list[Piece]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Recording({', '.join(f'{kind}: {len(self.pieces.get(kind, []))} pieces' for kind in self.kinds)})"

    def __getitem__(self, kind: str) -> dict[str, Values]:
        if kind in RECORDS and kind not in self.kinds:
            raise UnknownName(f"{kind!r} was not recorded: this recorder was opened for {', '.join(self.kinds)}")
        if kind not in self.kinds:
            raise UnknownName(*unknown_name("record", kind, self.kinds))
        places: dict[str, list[Piece]] = {}
        for piece in self.pieces.get(kind, []):
            places.setdefault(piece.where, []).append(piece)
        return {where: _join(pieces) for where, pieces in places.items()}


_recordings: ContextVar[tuple[Recording, ...]] = ContextVar("recordings", default=())
_NOTHING = nullcontext()  # it holds nothing, so one serves all
_path: ContextVar[tuple[str, ...]] = ContextVar("path", default=())


@contextmanager
def record(*kinds: str) -> Iterator[Recording]:
    """Keep what layers offer of these kinds: "attention", "gates", "states".

    >>> from seqloom.nn import GRU, Recurrent
    >>> with record("gates") as seen:
    ...     y, state = Recurrent(GRU(input_size=3, hidden_size=4))(torch.randn(2, 5, 3))
    >>> seen["gates"][""]["update"].shape
    torch.Size([2, 5, 4])
    """
    for kind in kinds:
        if kind not in RECORDS:
            raise UnknownName(*unknown_name("record", kind, RECORDS))
    recording = Recording(kinds)
    token = _recordings.set((*_recordings.get(), recording))
    try:
        with _uncompiled:
            yield recording
    finally:
        _recordings.reset(token)


class Uncompiled:
    """While any recorder is open, compiled models run as they were written: a compiled graph has nothing to offer.

    torch's switch is one for all threads, so it is set with the first recorder and put back with the last. Where
    nothing was ever compiled it is left alone, since to ask for it takes seconds.
    """

    def __init__(self) -> None:
        self._lock, self._open, self._switch = Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._open == 0 and "torch._dynamo" in sys.modules:
                self._switch.enter_context(torch.compiler.set_stance("force_eager"))
            self._open += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._open -= 1
            if self._open == 0:
                self._switch.close()


_uncompiled = Uncompiled()


def recording(kind: str) -> bool:
    """Whether anybody wants this kind; layers ask before they compute it. Never while compiling."""
    if torch.compiler.is_compiling():
        return False
    return any(kind in recording.kinds for recording in _recordings.get())


def offer(kind: str, *, time: int | None = None, **values: Tensor) -> None:
    """Give named tensors to whoever records this kind. `time` is their time axis; None says that they are one step."""
    if recording(kind):
        piece = Piece(".".join(_path.get()), values, time)
        for open_recording in _recordings.get():
            if kind in open_recording.kinds:
                open_recording.pieces.setdefault(kind, []).append(piece)


def attends_to_memory(place: str) -> bool:
    """Whether what was offered at this place is about another sequence, the memory that a decoder looks at.

    >>> attends_to_memory("decoder.0.cross.layer.memory"), attends_to_memory("decoder.0.attention.layer")
    (True, False)
    """
    return place.split(".")[-1] == "memory"


def scope(part: str) -> AbstractContextManager[None]:
    """What is offered within comes from this part of the layer."""
    if torch.compiler.is_compiling() or not _recordings.get():
        return _NOTHING
    return _scope(part)


@contextmanager
def _scope(part: str) -> Iterator[None]:
    token = _path.set((*_path.get(), part))
    try:
        yield
    finally:
        _path.reset(token)


@contextmanager
def capture(*kinds: str) -> Iterator[Recording]:
    """Keep what is offered within from the open recorders, to be put in order and offered again."""
    recording = Recording(kinds)
    recordings, path = _recordings.set((recording,)), _path.set(())
    try:
        yield recording
    finally:
        _recordings.reset(recordings)
        _path.reset(path)


def _join(pieces: list[Piece]) -> Values:
    axis, rows = pieces[0].time, {next(iter(piece.values.values())).shape[0] for piece in pieces}
    if len(rows) > 1:
        raise ArgumentError(
            "record",
            "a recording",
            f"calls of {sorted(rows)} rows",
            "calls that go on from each other; see its `pieces`",
        )
    if axis is None:
        return {name: torch.stack([piece.values[name] for piece in pieces], dim=1) for name in pieces[0].values}
    return {name: cat_padded([piece.values[name] for piece in pieces], dim=axis) for name in pieces[0].values}
