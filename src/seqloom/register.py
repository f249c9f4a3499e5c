"""User-defined parts, under names that work like the built-in ones: in Python, in a config file, in the help, in a run.

    @seqloom.register.cell("mine")            # as a decorator
    class Mine(Cell): ...

    seqloom.register.cell("mine", Mine)       # or as a plain call

A name that is taken, or a part that does not fit its kind, is refused with the reason (`PartError`).
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqloom.data.tokenizers.registry import register_tokenizer as tokenizer
    from seqloom.models.register_model_parts import register_activation as activation
    from seqloom.models.register_model_parts import register_cell as cell
    from seqloom.models.register_model_parts import register_family as family
    from seqloom.models.register_model_parts import register_head as head
    from seqloom.models.register_model_parts import register_layer as layer
    from seqloom.models.register_model_parts import register_norm as norm
    from seqloom.models.register_model_parts import register_score as score
    from seqloom.tasks.metrics.registry import register_metric as metric
    from seqloom.tasks.register_task import register_corpus as corpus
    from seqloom.tasks.register_task import register_reader as reader
    from seqloom.tasks.register_task import register_task as task
    from seqloom.training.optimization import register_optimizer as optimizer
    from seqloom.training.schedules import register_schedule as schedule

__all__ = [
    "activation", "cell", "corpus", "family", "head", "layer", "metric", "norm", "optimizer", "reader", "schedule",
    "score", "task", "tokenizer",
]  # fmt: skip
MODULES = {
    "metric": "tasks.metrics.registry", "optimizer": "training.optimization", "schedule": "training.schedules",
    "tokenizer": "data.tokenizers.registry", **dict.fromkeys(("reader", "corpus", "task"), "tasks.register_task"),
}  # fmt: skip


def __getattr__(kind: str) -> object:
    """The function that registers parts of a kind, from its module; the modules of models, and torch, are slow."""
    if kind not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {kind!r}")
    module = MODULES.get(kind, "models.register_model_parts")
    return getattr(import_module(f"seqloom.{module}"), f"register_{kind}")


def __dir__() -> list[str]:
    return __all__
