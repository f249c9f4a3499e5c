"""The heads that a config may name: those that choose one class at each step."""

from typing import Protocol

from seqloom.nn.heads.head import ClassHead
from seqloom.nn.heads.positions import PerPosition
from seqloom.spec import names
from seqloom.spec.registry import Registry


class BuildHead(Protocol):
    """What makes a head of vectors of a size, for so many classes."""

    def __call__(self, size: int, classes: int, *, smoothing: float = 0.0) -> ClassHead: ...


HEADS: Registry[BuildHead] = Registry(names.HEADS, {"softmax": PerPosition})
