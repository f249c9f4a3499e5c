"""Which backend runs a recurrence: the fastest that fits, or the one asked for by name."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

from seqloom.kernels.recurrence import Backend, Carried, Recurrence
from seqloom.kernels.reference import Reference
from seqloom.kernels.vendor import Vendor
from seqloom.spec.errors import UnavailableBackend
from seqloom.spec.registry import Registry

REFERENCE = Reference()

# From the fastest to the slowest.
BACKENDS: Registry[Backend] = Registry("backend", {"vendor": Vendor(), "reference": REFERENCE})

_wanted: ContextVar[str | None] = ContextVar("backend", default=None)


@contextmanager
def use(name: str) -> Iterator[None]:
    """Run recurrences on this backend within the block; an error where it can't run one.

    >>> from seqloom.nn import LSTM, Recurrent
    >>> layer, x = Recurrent(LSTM(3, 4)), torch.randn(2, 5, 3)
    >>> with use("reference"):
    ...     y, state = layer(x)
    >>> torch.allclose(y, layer(x)[0], atol=1e-6)
    True
    """
    BACKENDS[name]  # an unknown name is an error here, not at the first use
    token = _wanted.set(name)
    try:
        yield
    finally:
        _wanted.reset(token)


def choose(recurrence: Recurrence[Carried]) -> Backend:
    """The backend for this recurrence. Context variables can't be traced, so a compiled graph takes the fastest."""
    wanted = None if torch.compiler.is_compiling() else _wanted.get()
    if wanted is not None:
        reason = BACKENDS[wanted].refuses(recurrence)
        if reason is not None:
            raise UnavailableBackend(f"backend {wanted!r} can't run this recurrence: {reason}")
        return BACKENDS[wanted]
    if recurrence.x.shape[1] == 1:
        return REFERENCE  # one step leaves nothing to fuse over time, and the loop copies no weights for it
    return next(backend for backend in BACKENDS.values() if backend.refuses(recurrence) is None)
