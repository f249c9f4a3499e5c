"""Registered parts that are removed after a test."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module


@contextmanager
def temporary_parts() -> Iterator[None]:
    """Remove the parts of any kind that the block registers."""
    registry = import_module("seqloom.core.registry")  # after conftest.py has installed the shape checks
    before = registry.user_defined_parts()
    kinds = [value for value in vars(import_module("seqloom.core.names")).values() if isinstance(value, set)]
    members = [set(kind) for kind in kinds]  # such as the heads whose loss is a likelihood
    try:
        yield
    finally:
        for names, name in registry.user_defined_parts() - before:
            names.remove(name)
        for kind, former in zip(kinds, members, strict=True):
            kind &= former
            kind |= former
