"""Registered parts that are removed after a test."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module


@contextmanager
def temporary_parts() -> Iterator[None]:
    """Remove the parts of any kind that the block registers."""
    registry = import_module("seqloom.core.registry")  # after conftest.py has installed the shape checks
    before = registry.user_defined_parts()
    try:
        yield
    finally:
        for names, name in registry.user_defined_parts() - before:
            names.remove(name)
