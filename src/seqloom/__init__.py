"""Neural sequence models, from the RNN to the Transformer.

Rooms are nouns (`seqloom.nn`, `seqloom.kernels`), verbs stand at the top (`seqloom.record`). Nothing is imported
until it is asked for, so that `import seqloom` is quick and needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqloom import data, decoding, kernels, lens, nn, register, runs, spec, tasks, training, views
    from seqloom.nn.record import record
    from seqloom.verbs import check, load, resume, train

__version__ = "0.1.0"
__all__ = [
    "__version__",
    "check",
    "data",
    "decoding",
    "kernels",
    "lens",
    "load",
    "nn",
    "record",
    "register",
    "resume",
    "runs",
    "spec",
    "tasks",
    "train",
    "training",
    "views",
]

_verbs = {
    "record": "seqloom.nn.record",
    "train": "seqloom.verbs",
    "check": "seqloom.verbs",
    "resume": "seqloom.verbs",
    "load": "seqloom.verbs",
}
_rooms = ("kernels", "nn", "spec", "data", "decoding", "tasks", "runs", "training", "views", "lens", "register")


def __getattr__(name: str) -> Any:
    if name in _verbs:
        return getattr(import_module(_verbs[name]), name)
    if name in _rooms:
        return import_module(f"seqloom.{name}")
    raise AttributeError(f"module 'seqloom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
