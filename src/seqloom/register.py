"""User-defined parts, under names that work like the built-in ones: in Python, in a config file, in the help, in a run.

    @seqloom.register.cell("mine")            # as a decorator
    class Mine(Cell): ...

    seqloom.register.cell("mine", Mine)       # or as a plain call

A name that is taken, or a part that does not fit its kind, is refused with the reason (`PartError`).
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

MODULES = {
    "seqloom.models.register_model_parts": ("cell", "layer", "family", "score", "activation", "norm", "head"),
    "seqloom.training.optimization": ("optimizer", "schedule"),
    "seqloom.tasks.metrics.registry": ("metric",),
    "seqloom.data.tokenizers.registry": ("tokenizer",),
    "seqloom.tasks.register_task": ("reader", "corpus", "task"),
}
KINDS = {kind: module for module, kinds in MODULES.items() for kind in kinds}
__all__ = list(KINDS)


def __getattr__(kind: str) -> object:
    if kind not in KINDS:
        raise AttributeError(f"module {__name__!r} has no attribute {kind!r}")
    return getattr(import_module(KINDS[kind]), f"register_{kind}")


def __dir__() -> list[str]:
    return list(KINDS)
