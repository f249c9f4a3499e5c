# ruff: isort: skip_file
# fmt: off
from seqloom.data.tokenizers.registry import register_tokenizer as tokenizer
from seqloom.models.register_model_parts import (
    register_activation as activation, register_cell as cell, register_family as family, register_head as head,
    register_layer as layer, register_norm as norm, register_score as score,
)
from seqloom.tasks.metrics.registry import register_metric as metric
from seqloom.tasks.register_task import register_corpus as corpus, register_reader as reader, register_task as task
from seqloom.training.optimization import register_optimizer as optimizer
from seqloom.training.schedules import register_schedule as schedule

__all__ = [  # another name is only exported from a stub if it is listed
    "activation", "cell", "corpus", "family", "head", "layer", "metric", "norm", "optimizer", "reader", "schedule",
    "score", "task", "tokenizer",
]
