"""Neural sequence models, from the RNN to the Transformer.

Packages are `seqloom.nn`, `seqloom.kernels`, ...; functions such as `seqloom.train` are at the top. Nothing is imported
until it is asked for, so that `import seqloom` is quick and needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqloom import core, data, decoding, kernels, lens, nn, register, runs, tasks, training, views
    from seqloom.api import check, load, resume, train
    from seqloom.nn.record import record

__version__ = "0.1.0"
__all__ = [
    "__version__",
    "check",
    "core",
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
    "tasks",
    "train",
    "training",
    "views",
]

_functions = {
    "record": "seqloom.nn.record",
    "train": "seqloom.api",
    "check": "seqloom.api",
    "resume": "seqloom.api",
    "load": "seqloom.api",
}
_packages = ("kernels", "nn", "core", "data", "decoding", "tasks", "runs", "training", "views", "lens", "register")


def __getattr__(name: str) -> Any:
    if name in _functions:
        return getattr(import_module(_functions[name]), name)
    if name in _packages:
        return import_module(f"seqloom.{name}")
    raise AttributeError(f"module 'seqloom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
